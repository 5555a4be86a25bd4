from typing import Any, Callable, Dict, Optional, Tuple, Union

_Size = Union[int, Tuple[int, int]]

class BlockMask:
    mask_mod: Optional[Callable[..., Any]]
    shape: Any
    BLOCK_SIZE: Optional[Tuple[int, int]]
    kv_num_blocks: Any
    kv_indices: Any
    full_kv_num_blocks: Any
    full_kv_indices: Any
    def __init__(
        self,
        mask_mod: Optional[Callable[..., Any]],
        B: Optional[int],
        H: Optional[int],
        Q_LEN: Optional[int],
        KV_LEN: Optional[int],
        lists: Optional[Dict[str, Any]] = None,
        BLOCK_SIZE: Optional[_Size] = None,
    ) -> None: ...
    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None,
        BLOCK_SIZE: _Size = 128,
        mask_mod: Optional[Callable[..., Any]] = None,
        seq_lengths: Optional[Tuple[int, int]] = None,
    ) -> BlockMask: ...
    @classmethod
    def of(cls, given: Any) -> BlockMask: ...
    def check(self, sizes: Any) -> None: ...
    def block_sizes(self, sizes: Any) -> Optional[Tuple[int, int]]: ...
    def in_whole_tiles(self, sizes: Any) -> BlockMask: ...
    def tensors(self) -> Dict[str, Any]: ...
    def sparsity(self) -> float: ...

def create_block_mask(
    mask_mod: Callable[..., Any],
    B: Optional[int],
    H: Optional[int],
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: Optional[_Size] = None,
    _compile: bool = False,
) -> BlockMask: ...
