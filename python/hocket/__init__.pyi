from ._errors import Error as Error
from ._errors import ExecutionError as ExecutionError
from ._errors import HostError as HostError
from ._errors import InternalError as InternalError
from ._errors import InvalidInput as InvalidInput
from ._errors import NotFound as NotFound
from ._errors import Unsupported as Unsupported
from ._call import plan_of as plan_of
from .attention import flash_attn_backward as flash_attn_backward
from .attention import flash_attn_func as flash_attn_func
from .attention import flash_attn_varlen_func as flash_attn_varlen_func
from .attention import flash_attn_with_kvcache as flash_attn_with_kvcache
from .attention import flex_attention as flex_attention
from .attention import scaled_dot_product_attention as scaled_dot_product_attention
from .block_mask import BlockMask as BlockMask
from .block_mask import create_block_mask as create_block_mask
from .flex import and_masks as and_masks
from .flex import or_masks as or_masks
from .kernel import Kernel as Kernel
from .kernel import Schedule as Schedule
from .kernel import compile as compile
from .kernel import tune as tune
from .partial import merge as merge
from .quantization import quantize as quantize
from .sage import sageattn as sageattn

__all__: list[str]
__version__: str
