"""An SGLang attention backend by Hocket: call `register()` before the server starts, then `--attention-backend hocket`.

SGLang writes new keys and values to its pool, whose rows are tokens; Hocket reads that pool as pages of `page_size` rows.
"""
from dataclasses import dataclass

import torch
from sglang.srt.layers.attention.attention_registry import register_attention_backend
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend

from .. import attention
from .._errors import Unsupported


def register(name="hocket"):
    """Makes `name` an attention backend of SGLang."""
    register_attention_backend(name)(HocketBackend)


@dataclass
class Step:
    """What all layers of a step share."""

    lengths: torch.Tensor  #: [requests], keys of a request, int32
    table: torch.Tensor  #: [requests, entries], pages of a request, int32
    starts: torch.Tensor  #: [requests + 1], where queries begin, int32; None: one for each request
    longest: int  #: queries of a request at most


class HocketBackend(AttentionBackend):
    """Decode and extend over SGLang's pools, for models with keys and values of heads."""

    def __init__(self, runner):
        super().__init__()
        if getattr(runner, "use_mla_backend", False):
            raise Unsupported("the model has latent attention (MLA), and this backend is for keys and values of heads; choose "
                              "another --attention-backend")
        self._tokens = runner.req_to_token_pool.req_to_token
        self._page = getattr(runner, "page_size", None) or getattr(runner.server_args, "page_size", None) or 1
        self._longest = runner.model_config.context_len
        self._step = self._lengths = self._table = None

    def init_forward_metadata(self, forward_batch):
        """Lists of a step. Keys beyond the longest request are not in the table."""
        mode = forward_batch.forward_mode
        lengths = forward_batch.seq_lens
        known = getattr(forward_batch, "seq_lens_cpu", None)
        longest = int((lengths if known is None else known).max())
        table = self._pages(forward_batch.req_pool_indices, longest)
        if mode.is_decode():
            self._step = Step(lengths.int(), table, None, 1)
            return
        if not mode.is_extend() or getattr(forward_batch, "spec_info", None) is not None:
            raise Unsupported(f"'forward_mode' is {mode}, hocket knows decode and extend; turn speculative decoding off")
        queries = forward_batch.extend_seq_lens
        starts = torch.nn.functional.pad(queries.cumsum(0), (1, 0)).int()
        counts = getattr(forward_batch, "extend_seq_lens_cpu", None)
        self._step = Step(lengths.int(), table, starts, int(max(counts)) if counts is not None else int(queries.max()))

    def _pages(self, requests, longest):
        """The pages of requests, from the first token of each."""
        rows = self._tokens[requests, : -(-longest // self._page) * self._page: self._page]
        return (rows // self._page).int().contiguous()

    def init_cuda_graph_state(self, max_bs, max_num_tokens):
        """Lists that captured graphs read: they stay where they are, and are filled before each replay."""
        entries = -(-self._longest // self._page)
        self._lengths = torch.zeros(max_bs, dtype=torch.int32, device=self._tokens.device)
        self._table = torch.zeros(max_bs, entries, dtype=torch.int32, device=self._tokens.device)

    def init_forward_metadata_capture_cuda_graph(self, bs, num_tokens, req_pool_indices, seq_lens, encoder_lens, forward_mode,
                                                 spec_info):
        if not forward_mode.is_decode() or spec_info is not None or encoder_lens is not None:
            raise Unsupported(f"'forward_mode' is {forward_mode}, and graphs are captured of decode alone; run with "
                              f"--disable-cuda-graph")
        self._fill(bs, req_pool_indices, seq_lens)
        self._step = Step(self._lengths[:bs], self._table[:bs], None, 1)

    def init_forward_metadata_replay_cuda_graph(self, bs, req_pool_indices, seq_lens, seq_lens_sum, encoder_lens, forward_mode,
                                                spec_info, seq_lens_cpu):
        self._fill(bs, req_pool_indices[:bs], seq_lens[:bs])

    def _fill(self, bs, requests, lengths):
        self._lengths[:bs].copy_(lengths[:bs])
        pages = self._pages(requests[:bs], min(self._longest, self._tokens.shape[1]))
        self._table[:bs, : pages.shape[1]].copy_(pages)

    def get_cuda_graph_seq_len_fill_value(self):
        return 1

    def forward_decode(self, q, k, v, layer, forward_batch, save_kv_cache=True, sinks=None, **more):
        return self._forward(q, k, v, layer, forward_batch, save_kv_cache, sinks, more)

    def forward_extend(self, q, k, v, layer, forward_batch, save_kv_cache=True, sinks=None, **more):
        return self._forward(q, k, v, layer, forward_batch, save_kv_cache, sinks, more)

    def _forward(self, q, k, v, layer, forward_batch, save_kv_cache, sinks, more):
        given = [name for name, value in more.items() if value is not None]
        if given or getattr(layer, "is_cross_attention", False):
            what = f"argument '{given[0]}' is given" if given else "the layer is of cross-attention"
            raise Unsupported(f"{what}, which hocket has no kernel for; choose another --attention-backend")
        pool = forward_batch.token_to_kv_pool
        if save_kv_cache and k is not None:
            pool.set_kv_buffer(layer, forward_batch.out_cache_loc, k, v)
        pages = [self._paged(buffer) for buffer in pool.get_kv_buffer(layer.layer_id)]
        step = self._step
        q = q.reshape(-1, layer.tp_q_head_num, layer.qk_head_dim)
        packed = {} if step.starts is None else {"cu_seqlens_q": step.starts, "max_seqlen_q": step.longest}
        window = getattr(layer, "sliding_window_size", None)
        made = attention.flash_attn_with_kvcache(
            q if packed else q[:, None], *pages, cache_seqlens=step.lengths, block_table=step.table, softmax_scale=layer.scaling,
            causal=_is_causal(layer), window_size=(-1, -1) if window is None or window < 0 else (window, 0),
            softcap=getattr(layer, "logit_cap", 0.0) or 0.0, sink=None if sinks is None else sinks.float(), **packed)
        return made.reshape(-1, layer.tp_q_head_num * layer.v_head_dim)

    def _paged(self, buffer):
        """[tokens, heads, head_dim] as [pages, rows of a page, heads, head_dim]; a last page that is cut is nobody's."""
        pages = buffer.shape[0] // self._page
        return buffer[: pages * self._page].view(pages, self._page, *buffer.shape[1:])


def _is_causal(layer):
    kind = getattr(layer, "attn_type", "decoder")
    return getattr(kind, "value", kind) != "encoder_only"
