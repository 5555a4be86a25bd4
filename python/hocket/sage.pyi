from typing import Any, Optional

def sageattn(
    q: Any,
    k: Any,
    v: Any,
    tensor_layout: str = "HND",
    is_causal: bool = False,
    sm_scale: Optional[float] = None,
    return_lse: bool = False,
    *,
    qk_quant_gran: str = "per_warp",
    smooth_k: bool = True,
    smooth_q: bool = False,
    hadamard: Optional[int] = None,
    dtype: Optional[str] = None,
    arch: str = "gfx950",
    stream: Any = None,
) -> Any: ...
