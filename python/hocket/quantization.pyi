from typing import Any, Optional, Tuple

def quantize(
    x: Any,
    dtype: str = "f8e4m3",
    per: str = "tensor",
    block: int = 128,
    *,
    layout: str = "bshd",
    kv_heads: Optional[int] = None,
    hadamard: Optional[int] = None,
    x_dtype: Optional[str] = None,
    arch: str = "gfx950",
    stream: Any = None,
) -> Tuple[Any, Any]: ...
