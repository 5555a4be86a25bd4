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
