"""Random calls of the public functions with gradients of all that is differentiable, against the definition in float64; in eager
form, and under torch.compile where this torch can.

random_gradients.py [COUNT [SEED]]; HOCKET_RANDOM_CALLS and HOCKET_TEST_SEED come first.
"""
import os
import random
import sys

import torch
from torch_edges import own

import hocket

TOLERANCE = {torch.float16: (1.5e-3, 5e-3), torch.bfloat16: (8e-3, 2.5e-2)}
CAN_COMPILE = hasattr(torch.library, "register_autograd")


class Draw:
    """What a call is of: one number says it all."""

    def __init__(self, seed):
        self.pick = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.dtype = self.of(torch.float16, torch.bfloat16)
        self.batch, self.kv_heads = self.of(1, 1, 2), self.of(1, 2)
        self.heads = self.kv_heads * self.of(1, 1, 2, 3)
        self.seq_q, self.seq_kv = self.of(1, 17, 40, 90), self.of(1, 23, 70, 150)
        self.dim = self.of(64, 64, 64, 128, 40, 30)
        self.causal = self.of(False, True)

    def of(self, *values):
        return self.pick.choice(values)

    def tensor(self, *shape, dtype=None, grad=True):
        return torch.randn(shape, generator=self.generator).to(dtype or self.dtype).requires_grad_(grad)

    def qkv(self, heads_first):
        rows = lambda heads, seq: (heads, seq) if heads_first else (seq, heads)  # noqa: E731
        return [self.tensor(self.batch, *rows(heads, seq), self.dim)
                for heads, seq in ((self.heads, self.seq_q), (self.kv_heads, self.seq_kv), (self.kv_heads, self.seq_kv))]


def seen_by(queries, keys, left, right):
    """Which keys a window from the last key's diagonal on leaves."""
    distance = torch.arange(keys) - torch.arange(queries)[:, None] - (keys - queries)
    return ((distance >= -left) if left >= 0 else True) & ((distance <= right) if right >= 0 else torch.ones_like(distance).bool())


def with_sink(scores, sink):
    return torch.cat([scores, sink[:, None, None].expand(*scores.shape[:-1], 1)], -1)


def flash_reference(draw, cap, window, slopes, sink):
    """Of [..., heads, seq, head_dim]: O and LSE."""
    left, right = window[0], 0 if draw.causal else window[1]

    def reference(q, k, v, slopes, sink):
        queries, keys = q.shape[-2], k.shape[-2]

        def change(scores):
            scores = torch.tanh(scores / cap) * cap if cap else scores
            if slopes is not None:
                far = (torch.arange(queries)[:, None] + keys - queries - torch.arange(keys)).abs()
                scores = scores - slopes[:, None, None] * far
            scores = scores.masked_fill(~seen_by(queries, keys, left, right), -torch.inf)
            return scores if sink is None else with_sink(scores, sink)

        if sink is not None:
            v = torch.cat([v, torch.zeros_like(v[..., :1, :])], -2)
            k = torch.cat([k, torch.zeros_like(k[..., :1, :])], -2)
            inner = change
            return own(q, k, v, lambda scores: inner(scores[..., :-1]))
        return own(q, k, v, change)

    return reference


def flash_options(draw):
    window = draw.of((-1, -1), (-1, -1), (20, -1), (7, 5))
    options = {"causal": draw.causal, "window_size": window, "softcap": draw.of(0.0, 0.0, 3.0)}
    slopes = draw.tensor(draw.heads, dtype=torch.float32) if draw.of(0, 0, 1) else None
    sink = draw.tensor(draw.heads, dtype=draw.of(torch.float32, torch.bfloat16)) if draw.of(0, 0, 1) else None
    reference = flash_reference(draw, options["softcap"], window, slopes, sink)
    return options, slopes, sink, reference


def dense(draw):
    options, slopes, sink, reference = flash_options(draw)
    leaves = [*draw.qkv(False), slopes, sink]

    def wanted(q, k, v, slopes, sink):
        out, lse = reference(*(t.transpose(1, 2) for t in (q, k, v)), slopes, sink)
        return out.transpose(1, 2), lse

    return lambda q, k, v, slopes, sink: hocket.flash_attn_func(
        q, k, v, alibi_slopes=slopes, sink=sink, return_lse=True, **options), wanted, leaves


def packed(draw):
    options, slopes, sink, reference = flash_options(draw)
    lengths = [(draw.of(1, 9, 33), draw.of(1, 20, 64)) for _ in range(draw.batch + 1)]
    starts = [torch.tensor([0, *(pair[side] for pair in lengths)]).cumsum(0).int() for side in (0, 1)]
    rows = [int(list_[-1]) for list_ in starts]
    most = [max(pair[side] for pair in lengths) for side in (0, 1)]
    leaves = [draw.tensor(rows[0], draw.heads, draw.dim), *(draw.tensor(rows[1], draw.kv_heads, draw.dim) for _ in range(2)),
              slopes, sink]

    def wanted(q, k, v, slopes, sink):
        parts = []
        for i in range(len(lengths)):
            at, of = (slice(list_[i], list_[i + 1]) for list_ in starts)
            parts.append(reference(*(t.transpose(0, 1) for t in (q[at], k[of], v[of])), slopes, sink))
        return torch.cat([out.transpose(0, 1) for out, _ in parts]), torch.cat([lse for _, lse in parts], -1)

    return lambda q, k, v, slopes, sink: hocket.flash_attn_varlen_func(
        q, k, v, *starts, *most, alibi_slopes=slopes, sink=sink, return_lse=True, **options), wanted, leaves


def of_torch(draw):
    shape = draw.of((draw.seq_q, draw.seq_kv), (draw.batch, 1, draw.seq_q, draw.seq_kv), (draw.heads, 1, draw.seq_kv))
    kind = draw.of("none", "bias", "seen")
    mask = draw.tensor(*shape, dtype=torch.float32, grad=kind == "bias")
    mask = {"none": None, "bias": mask, "seen": mask > -0.7}[kind]
    causal = draw.causal and mask is None

    def wanted(q, k, v, mask):
        def change(scores):
            if causal:
                return scores.masked_fill(~torch.ones(scores.shape[-2:]).tril().bool(), -torch.inf)
            if mask is None:
                return scores
            return scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        return own(q, k, v, change)

    return lambda q, k, v, mask: hocket.scaled_dot_product_attention(
        q, k, v, mask, is_causal=causal, enable_gqa=True, return_lse=True), wanted, [*draw.qkv(True), mask]


def flex(draw):
    """A modification of two captured tensors, read in an order of its own."""
    a, b = draw.tensor(draw.heads, draw.seq_q, dtype=torch.float32), draw.tensor(draw.seq_kv, draw.seq_q, dtype=torch.float32)
    score, of_scores = draw.of(
        ((lambda a, b: lambda s, n, h, i, j: s * (1 + a[h, i] * 0.2) + b[j, i]), lambda s, a, b: s * (1 + a[:, :, None] * 0.2) + b.t()),
        ((lambda a, b: lambda s, n, h, i, j: torch.tanh(s + b[j, i]) - a[h, 0] * (i - j).abs() * 0.1),
         lambda s, a, b: torch.tanh(s + b.t()) - a[:, :1, None] * (
             torch.arange(s.shape[-2])[:, None] - torch.arange(s.shape[-1])).abs() * 0.1),
        ((lambda a, b: lambda s, n, h, i, j: torch.where(i > j, s + b[j, i], s * 0.5)), lambda s, a, b: torch.where(
            torch.arange(s.shape[-2])[:, None] > torch.arange(s.shape[-1]), s + b.t(), s * 0.5)))
    limit = draw.of(0, 13)
    seen = (lambda n, h, i, j: j <= i + limit) if draw.causal else None
    mask = None if seen is None else hocket.create_block_mask(seen, None, None, draw.seq_q, draw.seq_kv, BLOCK_SIZE=draw.of(None, 64, 48))

    def wanted(q, k, v, a, b):
        def change(s):
            s = of_scores(s, a, b)
            visible = torch.arange(s.shape[-1]) <= torch.arange(s.shape[-2])[:, None] + limit
            return s if seen is None else s.masked_fill(~visible, -torch.inf)
        return own(q, k, v, change)

    return lambda q, k, v, a, b: hocket.flex_attention(q, k, v, score(a, b), mask, enable_gqa=True, return_lse=True), wanted, [
        *draw.qkv(True), a, b]


def error(found, wanted, least):
    """How far `found` is off, of the size that `wanted` has, at least `least` an element."""
    found, wanted = found.detach().double(), wanted.detach().double()
    hidden = wanted == -torch.inf
    assert bool((found[hidden] == -torch.inf).all()) and not bool(found.isnan().any())
    found, wanted = found[~hidden], wanted[~hidden]
    return float((found - wanted).norm()) / max(float(wanted.norm()), least * wanted.numel() ** 0.5, 1e-30)


def results(function, leaves, weights, rounded=None):
    """O, LSE and the gradients of a weighted sum. A backward takes rowsum(dO O) of the O that it is given: with one of 16 bits,
    `rounded`, gradients are those of the sum less what rounding adds to that, times LSE."""
    out, lse = function(*leaves)
    finite = torch.where(lse == -torch.inf, torch.zeros_like(lse), lse)
    loss = (out * weights.to(out.dtype)).sum() + finite.mean()
    if rounded is not None:
        added = ((rounded.double() - out.detach()) * weights).sum(-1)
        loss = loss - ((added if function.heads_first else added.transpose(-1, -2)) * finite).sum()
    needed = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
    return out, lse, torch.autograd.grad(loss, needed, allow_unused=True)


def check(seed):
    draw = Draw(seed)
    kind = draw.of(dense, packed, of_torch, flex)
    function, reference, leaves = kind(draw)
    reference.heads_first = kind in (of_torch, flex)
    wide = [None if t is None else t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t for t in leaves]
    weights = draw.tensor(*reference(*wide)[0].shape, grad=False)
    out, lse, gradients = results(function, leaves, weights)
    wanted, wanted_lse, wanted_gradients = results(reference, wide, weights.double(), out.detach())
    of_results, of_gradients = TOLERANCE[draw.dtype]
    errors = [error(out, wanted, 1e-3), error(lse, wanted_lse, 1e-2)]
    of = [error(a, b, 1e-2) for a, b in zip(gradients, wanted_gradients) if b is not None]
    assert max(errors) < of_results and max(of) < of_gradients, f"errors {errors}, of gradients {of}, of {function.__qualname__}"
    if CAN_COMPILE and "flex" not in function.__qualname__:
        torch._dynamo.reset()
        compiled = results(torch.compile(function, backend="aot_eager", fullgraph=True), leaves, weights)
        for a, b in zip((out, lse, *gradients), (*compiled[:2], *compiled[2])):
            assert torch.equal(a, b), f"compiled differs, of {function.__qualname__}"


def main():
    count = int(os.environ.get("HOCKET_RANDOM_CALLS", sys.argv[1] if len(sys.argv) > 1 else 500))
    seed = int(os.environ.get("HOCKET_TEST_SEED", sys.argv[2] if len(sys.argv) > 2 else 1))
    for number in range(seed, seed + count):
        try:
            check(number)
        except Exception as problem:
            print(f"seed {number}: {type(problem).__name__}: {problem}")
            if os.environ.get("HOCKET_GO_ON") is None:
                raise
    print(f"{count} random calls with gradients" + (", compiled too" if CAN_COMPILE else ""))


if __name__ == "__main__":
    main()
