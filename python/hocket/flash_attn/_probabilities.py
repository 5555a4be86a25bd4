"""The weights of keys that flash-attn's functions return with dropout, whose signs say which of them are dropped.

No kernel stores them: each call here attends to values that are columns of the identity, so O has the weights of those
keys. That takes two launches for each `v.shape[-1]` keys, and memory for all weights: it is for tests, as flash-attn's is.
"""
import torch


def weights(function, q, k, v, starts, longest, dropout_p, rng_state, options):
    """[batch, heads, queries, keys] of q's type: the softmax, negated where a weight is dropped, 0 at places that have no
    query or key. `function(q, k, v, **more)` attends; `starts` is where packed sequences begin, cu_seqlens_q and
    cu_seqlens_k, or None; `longest` has the most queries and keys of a sequence."""
    with torch.no_grad():
        q, k, v = q.detach(), k.detach(), v.detach()
        own = _columns(lambda values: function(q, k, values, **options), q, v, starts, longest)
        # Equal scores: a weight is 0 only where it is dropped.
        kept = _columns(lambda values: function(torch.zeros_like(q), k, values, dropout_p=dropout_p, rng_state=rng_state), q, v, starts,
                        longest)
        return torch.where(kept > 0, own, -own)


def _columns(attend, q, v, starts, longest):
    """What `attend` gives of values that are columns of the identity, side by side."""
    queries, keys = longest
    width = v.shape[-1]
    parts = []
    for first in range(0, max(keys, 1), width):
        parts.append(_padded(attend(_identity(v, starts, first)), starts, queries))
    batch, _, heads, _ = parts[0].shape
    whole = torch.cat(parts, -1)[..., :keys]
    return whole.permute(0, 2, 1, 3).contiguous()


def _identity(v, starts, first):
    """Values like `v`: of each sequence's key `first` + i the i-th unit vector, of others 0."""
    rows = torch.arange(v.shape[0 if starts else 1], device=v.device)
    if starts:
        rows = rows - _sequence_starts(starts[1], rows)
    unit = rows[:, None] == torch.arange(first, first + v.shape[-1], device=v.device)
    unit = unit[:, None, :] if starts else unit[None, :, None, :]
    return unit.to(v.dtype).expand(v.shape).contiguous()


def _sequence_starts(starts, rows):
    """Where the sequence of each packed row begins."""
    begins = starts.long()
    return begins[(torch.searchsorted(begins, rows, right=True) - 1).clamp(0, max(len(begins) - 2, 0))]


def _padded(out, starts, queries):
    """[batch, queries, heads, head_dim] of packed rows."""
    if not starts:
        return out
    begins = starts[0].long()
    rows = begins[:-1, None] + torch.arange(queries, device=out.device)
    present = rows < begins[1:, None]
    return out[rows.clamp(max=max(out.shape[0] - 1, 0))] * present[..., None, None]
