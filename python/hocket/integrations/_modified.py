"""Packed sequences, or keys in pages, with modifications beside flash-attn's arguments."""
from .. import _calls
from .._call import attend
from .._heads import whole_heads
from .._ready import remembered


@remembered
@whole_heads("softmax_scale")
def varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale=None, causal=False, window_size=(-1, -1),
           softcap=0.0, block_table=None, seqused_k=None, more=()):
    """O and LSE [heads, rows] of flash_attn_varlen_func with `more` modifications (_calls.packed)."""
    call, others = _calls.packed(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, 0.0, softmax_scale, causal,
                                 window_size, softcap, None, block_table, None, None, 0, None, seqused_k, False, "gfx950", more=more)
    return attend(call, q, k, v, out=None, lse=None, return_lse=True, others=others)
