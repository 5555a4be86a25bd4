from typing import Any, Optional, Sequence, Tuple

def merge(
    outs: Sequence[Any],
    lses: Sequence[Any],
    *,
    dtype: Optional[str] = None,
    out: Any = None,
    lse: Any = None,
) -> Tuple[Any, Any]: ...
