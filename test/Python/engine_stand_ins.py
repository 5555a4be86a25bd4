"""Small modules in place of vLLM, SGLang and Transformers: the classes and functions that plug-ins derive from and call, with the
names and arguments that these have in the files that comments name."""
import abc
import dataclasses
import enum
import sys
import types
from typing import Any

import torch


def _module(name, **contents):
    module = types.ModuleType(name)
    vars(module).update(contents)
    parent, _, own = name.rpartition(".")
    sys.modules[name] = module
    if parent:
        setattr(sys.modules.get(parent) or _module(parent), own, module)
    return module


def vllm():
    """vllm/v1/attention/backend.py and backends/registry.py. Returns what was registered."""

    class AttentionType(str, enum.Enum):
        DECODER, ENCODER_ONLY = "decoder", "encoder_only"

    class AttentionCGSupport(enum.Enum):
        NEVER, UNIFORM_SINGLE_TOKEN_DECODE = 0, 1

    class AttentionBackend(abc.ABC):
        @classmethod
        def get_supported_head_sizes(cls):
            return []

        @classmethod
        def supports_head_size(cls, head_size):
            return head_size in cls.get_supported_head_sizes()

        @staticmethod
        @abc.abstractmethod
        def get_kv_cache_shape(num_blocks, block_size, num_kv_heads, head_size, cache_dtype_str="auto"):
            ...

    class AttentionMetadataBuilder(abc.ABC):
        reorder_batch_threshold = None

        @abc.abstractmethod
        def __init__(self, kv_cache_spec, layer_names, vllm_config, device):
            self.kv_cache_spec, self.device = kv_cache_spec, device

        @abc.abstractmethod
        def build(self, common_prefix_len, common_attn_metadata, fast_build=False):
            ...

    class AttentionImpl(abc.ABC):
        @abc.abstractmethod
        def forward(self, layer, query, key, value, kv_cache, attn_metadata, output, output_scale=None, output_block_scale=None):
            ...

    class AttentionBackendEnum(enum.Enum):
        CUSTOM = "custom"

    registered = {}
    _module("vllm.v1.attention.backend", AttentionBackend=AttentionBackend, AttentionCGSupport=AttentionCGSupport,
            AttentionImpl=AttentionImpl, AttentionMetadataBuilder=AttentionMetadataBuilder, AttentionType=AttentionType)
    _module("vllm.v1.attention.backends.registry", AttentionBackendEnum=AttentionBackendEnum, register_backend=registered.__setitem__)
    return registered


def and_masks(*functions):
    mask_functions = functions

    def and_mask(batch, head, query, key):
        result = torch.ones((), dtype=torch.bool)
        for function in mask_functions:
            result = result & function(batch, head, query, key)
        return result

    return and_mask


def sliding_window_overlay(sliding_window):
    def inner_mask(batch, head, query, key):
        return key > query - sliding_window

    return inner_mask


def transformers():
    """transformers/masking_utils.py and what registers attention. Returns what was registered."""

    def causal_mask_function(batch, head, query, key):
        return key <= query

    def bidirectional_mask_function(batch, head, query, key):
        return query >= 0

    def sdpa_mask(batch_size, q_length, kv_length, q_offset=0, kv_offset=0, mask_function=causal_mask_function,
                  attention_mask=None, **unused):
        place = lambda count, first, *after: (torch.arange(count) + first).reshape(-1, *(1,) * len(after))  # noqa: E731
        places = place(batch_size, 0, 1, 1, 1), place(1, 0, 1, 1), place(q_length, q_offset, 1), place(kv_length, kv_offset)
        seen = mask_function(*places).expand(batch_size, 1, q_length, kv_length)
        return seen if attention_mask is None else seen & attention_mask[:, None, None, kv_offset: kv_offset + kv_length].bool()

    registered = {}
    interface = lambda kind: types.SimpleNamespace(  # noqa: E731
        register=lambda name, function: registered.__setitem__((kind, name), function))
    window = lambda size: and_masks(sliding_window_overlay(size), causal_mask_function)  # noqa: E731
    masking = _module("transformers.masking_utils", causal_mask_function=causal_mask_function, and_masks=and_masks,
                      bidirectional_mask_function=bidirectional_mask_function, sdpa_mask=sdpa_mask,
                      sliding_window_causal_mask_function=window)
    vars(sys.modules["transformers"]).update(masking_utils=masking, AttentionInterface=interface("attention"),
                                             AttentionMaskInterface=interface("mask"))
    return registered


@dataclasses.dataclass
class CommonAttentionMetadata:
    """vLLM's, as far as a backend reads it."""

    query_start_loc: torch.Tensor
    seq_lens: torch.Tensor
    num_reqs: int
    num_actual_tokens: int
    max_query_len: int
    max_seq_len: int
    block_table_tensor: torch.Tensor
    slot_mapping: torch.Tensor
    causal: Any = True


def sglang():
    """sglang/srt/layers/attention/{attention_registry,base_attn_backend}.py. Returns what was registered."""

    class AttentionBackend(abc.ABC):
        @abc.abstractmethod
        def init_forward_metadata(self, forward_batch):
            ...

        def forward(self, q, k, v, layer, forward_batch, save_kv_cache=True, **kwargs):
            decodes = forward_batch.forward_mode.is_decode()
            return (self.forward_decode if decodes else self.forward_extend)(q, k, v, layer, forward_batch,
                                                                             save_kv_cache=save_kv_cache, **kwargs)

    registered = {}
    _module("sglang.srt.layers.attention.attention_registry",
            register_attention_backend=lambda name: lambda function: registered.setdefault(name, function))
    _module("sglang.srt.layers.attention.base_attn_backend", AttentionBackend=AttentionBackend)
    return registered


class ForwardMode(enum.Enum):
    """SGLang's."""

    EXTEND, DECODE, TARGET_VERIFY = range(3)

    def is_decode(self):
        return self is ForwardMode.DECODE

    def is_extend(self):
        return self in (ForwardMode.EXTEND, ForwardMode.TARGET_VERIFY)


class TokenPool:
    """SGLang's pool of keys and values: a row for each token."""

    def __init__(self, size, heads, dim, dtype):
        self.k, self.v = (torch.full((size, heads, dim), float("nan"), dtype=dtype) for _ in range(2))

    def set_kv_buffer(self, layer, places, k, v):
        self.k[places], self.v[places] = k.view(-1, *self.k.shape[1:]), v.view(-1, *self.v.shape[1:])

    def get_kv_buffer(self, layer_id):
        return self.k, self.v
