"""flash-attn 2's rotary embedding, by torch's operations."""
import torch


def _positions(x, seqlen_offsets, cu_seqlens):
    """The position of each row: [batch or 1, seq] of dense rows, [rows] of packed ones."""
    if cu_seqlens is None:
        rows = torch.arange(x.shape[1], device=x.device)[None]
        return rows + (seqlen_offsets[:, None] if isinstance(seqlen_offsets, torch.Tensor) else seqlen_offsets)
    rows = torch.arange(x.shape[0], device=x.device)
    sequence = torch.searchsorted(cu_seqlens[1:].long().contiguous(), rows, right=True).clamp(max=cu_seqlens.shape[0] - 2)
    offsets = seqlen_offsets[sequence] if isinstance(seqlen_offsets, torch.Tensor) else seqlen_offsets
    return rows - cu_seqlens[sequence] + offsets


def apply_rotary_emb(x, cos, sin, interleaved=False, inplace=False, seqlen_offsets=0, cu_seqlens=None, max_seqlen=None):
    """`x`, [batch, seq, heads, head_dim] or packed, with the first elements of its heads turned by the angles whose cosines and
    sines are [positions, half of the turned elements]: neighbours if `interleaved`, else of two halves."""
    half = cos.shape[-1]
    places = _positions(x, seqlen_offsets, cu_seqlens)
    c, s = (table[places].unsqueeze(-2).to(torch.float32) for table in (cos, sin))
    turned, rest = x[..., : 2 * half], x[..., 2 * half:]
    a, b = (turned[..., ::2], turned[..., 1::2]) if interleaved else (turned[..., :half], turned[..., half:])
    a, b = a.to(torch.float32), b.to(torch.float32)
    pair = a * c - b * s, a * s + b * c
    made = torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)
    made = torch.cat([made.to(x.dtype), rest], -1)
    return x.copy_(made) if inplace else made


apply_rotary_emb_func = apply_rotary_emb
