"""A vLLM plug-in: attention of decoders over vLLM's paged cache by Hocket, `vllm serve MODEL --attention-backend CUSTOM`.

vLLM calls `register` through the entry point group `vllm.general_plugins`. One call of a kernel writes new keys and values to
the cache and attends to it, for prefill, chunks of it, decode and batches of all of them.
"""
from dataclasses import dataclass

import torch
from vllm.v1.attention.backend import AttentionBackend, AttentionCGSupport, AttentionImpl, AttentionMetadataBuilder, AttentionType

from .. import attention
from .._errors import Unsupported

#: The largest head, and what head sizes are multiples of: kernels load that many elements at a time.
_LARGEST_HEAD, _LOAD = 256, 8


def register():
    """Makes Hocket the backend CUSTOM. It may be called any number of times."""
    from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

    register_backend(AttentionBackendEnum.CUSTOM, f"{__name__}.HocketBackend")


class HocketBackend(AttentionBackend):
    """What vLLM asks about the backend before there is a model."""

    supported_dtypes = [torch.float16, torch.bfloat16]
    supported_kv_cache_dtypes = ["auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"]
    forward_includes_kv_cache_update = True

    @staticmethod
    def get_name():
        return "CUSTOM"

    @staticmethod
    def get_impl_cls():
        return HocketImpl

    @staticmethod
    def get_builder_cls():
        return HocketMetadataBuilder

    @staticmethod
    def get_kv_cache_shape(num_blocks, block_size, num_kv_heads, head_size, cache_dtype_str="auto"):
        """Keys, then values, each a pool of pages as kernels read them."""
        return 2, num_blocks, block_size, num_kv_heads, head_size

    @classmethod
    def get_supported_head_sizes(cls):
        return list(range(_LOAD, _LARGEST_HEAD + 1, _LOAD))

    @classmethod
    def supports_sink(cls):
        return True

    @classmethod
    def supports_non_causal(cls):
        return True

    @classmethod
    def supports_attn_type(cls, attn_type):
        return attn_type == AttentionType.DECODER


@dataclass
class HocketMetadata:
    """What all layers of a step share."""

    num_actual_tokens: int
    max_query_len: int
    starts: torch.Tensor  #: [requests + 1], where the queries of a request begin
    cached: torch.Tensor  #: [requests], keys that are in the cache before this step
    lengths: torch.Tensor  #: [requests], keys with those of this step
    block_table: torch.Tensor
    causal: bool
    is_decode: bool  #: whether each request has one query


class HocketMetadataBuilder(AttentionMetadataBuilder):
    """Lists of a step from what vLLM schedules; nothing waits for the GPU."""

    # Piecewise graphs: plans of decode have not been captured on a device.
    _cudagraph_support = AttentionCGSupport.NEVER

    def __init__(self, kv_cache_spec, layer_names, vllm_config, device):
        super().__init__(kv_cache_spec, layer_names, vllm_config, device)

    def build(self, common_prefix_len, common_attn_metadata, fast_build=False):
        common = common_attn_metadata
        if isinstance(common.causal, torch.Tensor):
            raise Unsupported("'causal' of CommonAttentionMetadata is a tensor, one for each request; hocket takes one for all")
        queries = common.query_start_loc[1:] - common.query_start_loc[:-1]
        return HocketMetadata(
            num_actual_tokens=common.num_actual_tokens, max_query_len=common.max_query_len, starts=common.query_start_loc,
            cached=common.seq_lens - queries, lengths=common.seq_lens, block_table=common.block_table_tensor,
            causal=common.causal, is_decode=common.max_query_len == 1 and common.num_actual_tokens == common.num_reqs)


class HocketImpl(AttentionImpl):
    """Attention of one layer."""

    def __init__(self, num_heads, head_size, scale, num_kv_heads=None, alibi_slopes=None, sliding_window=None,
                 kv_cache_dtype="auto", logits_soft_cap=None, attn_type=AttentionType.DECODER,
                 kv_sharing_target_layer_name=None, sinks=None):
        if attn_type != AttentionType.DECODER:
            raise Unsupported(f"argument 'attn_type' is {attn_type!r}, the backend is for decoders; choose another for this model")
        if kv_cache_dtype not in HocketBackend.supported_kv_cache_dtypes:
            raise Unsupported(f"argument 'kv_cache_dtype' is {kv_cache_dtype!r}, wanted one of "
                              f"{', '.join(HocketBackend.supported_kv_cache_dtypes)}")
        self.num_heads, self.head_size, self.scale = num_heads, head_size, float(scale)
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        self.kv_cache_dtype, self.attn_type = kv_cache_dtype, attn_type
        self.kv_sharing_target_layer_name = kv_sharing_target_layer_name
        self._slopes = None if alibi_slopes is None else torch.tensor(alibi_slopes, dtype=torch.float32)
        self._window = (-1, -1) if sliding_window is None else (sliding_window - 1, 0)
        self._cap, self._sinks = logits_soft_cap or 0.0, sinks
        self._holds_small = kv_cache_dtype.startswith("fp8")

    def forward(self, layer, query, key, value, kv_cache, attn_metadata, output, output_scale=None, output_block_scale=None):
        """Writes the first `num_actual_tokens` rows of `output`, [tokens, heads * head_size] or with heads apart."""
        if output_block_scale is not None:
            raise Unsupported("argument 'output_block_scale' is given, and kernels write no scales of blocks; turn that fusion off")
        if attn_metadata is None:  # vLLM finds out how much memory a step needs
            return output.fill_(0)
        tokens = attn_metadata.num_actual_tokens
        rows = [None if tensor is None else tensor[:tokens].view(tokens, -1, self.head_size) for tensor in (query, key, value)]
        out = output[:tokens].view(tokens, self.num_heads, -1)
        writes = self.kv_sharing_target_layer_name is None and key is not None
        given = {} if output_scale is None else {"output_scale": output_scale.to(query.device, torch.float32).reshape(1)}
        self._attend(*rows, *kv_cache.unbind(0), attn_metadata, out, writes, {**self._of_cache(layer, query), **given})
        return output

    def _of_cache(self, layer, like):
        """What caches hold and what their numbers count, where they hold 8 bits: a number a layer, or one a KV head."""
        if not self._holds_small:
            return {}
        scales = {f"{name}_descale": torch.as_tensor(getattr(layer, f"_{name}_scale", 1.0), dtype=torch.float32,
                                                     device=like.device).reshape(-1) for name in "kv"}
        return {"kv_cache_dtype": self.kv_cache_dtype, **scales}

    def _attend(self, q, k, v, k_cache, v_cache, step, out, writes, more):
        if step.is_decode:
            q, k, v, out = (None if tensor is None else tensor[:, None] for tensor in (q, k, v, out))
            packed = {}
        else:
            packed = {"cu_seqlens_q": step.starts, "max_seqlen_q": step.max_query_len}
        k, v, lengths = (k, v, step.cached) if writes else (None, None, step.lengths)
        attention.flash_attn_with_kvcache(
            q, k_cache, v_cache, k, v, cache_seqlens=lengths, block_table=step.block_table, softmax_scale=self.scale,
            causal=step.causal, window_size=self._window, softcap=self._cap, alibi_slopes=self._on(q, "_slopes"),
            sink=self._on(q, "_sinks"), out=out, **packed, **more)

    def _on(self, query, name):
        """A tensor of the layer as float32 beside the queries, moved once."""
        tensor = getattr(self, name)
        if tensor is not None and (tensor.device != query.device or tensor.dtype != torch.float32):
            tensor = tensor.detach().to(query.device, torch.float32)
            setattr(self, name, tensor)
        return tensor
