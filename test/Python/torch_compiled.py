"""Public functions under torch's transformations: torch.compile, export, opcheck, vmap, checkpointing, autocast; with the same
bits as eager. For versions of torch that have operators with autograd, and compile; others are reported."""
import sys
import unittest

import torch

import hocket
from hocket import (create_block_mask, flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache, flex, flex_attention,
                    scaled_dot_product_attention)

BACKENDS = ("eager", "aot_eager", "inductor")


def random(*shape, seed=0, grad=False, dtype=torch.bfloat16):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator).to(dtype).requires_grad_(grad)


STARTS = torch.tensor([0, 20, 50]).int()
LENGTHS = torch.tensor([11, 30]).int()


def dense(q, k, v, slopes, sink, bias):
    return flash_attn_func(q, k, v, causal=True, window_size=(20, -1), softcap=3.0, alibi_slopes=slopes, sink=sink)


def with_lse(q, k, v, slopes, sink, bias):
    return flash_attn_func(q, k, v, softmax_scale=0.2, return_lse=True)


def of_odd_heads(q, k, v, slopes, sink, bias):
    return flash_attn_func(q[..., :30], k[..., :30], v[..., :21])


def packed(q, k, v, slopes, sink, bias):
    return flash_attn_varlen_func(q.reshape(-1, 4, 64)[:50], k.reshape(-1, 2, 64)[:50], v.reshape(-1, 2, 64)[:50], STARTS, STARTS, 30,
                                  30, causal=True, sink=sink)


def cached(q, k, v, slopes, sink, bias):
    return flash_attn_with_kvcache(q[:, :3], k, v, cache_seqlens=LENGTHS, causal=True)


def as_torch(q, k, v, slopes, sink, bias):
    return scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), attn_mask=bias, enable_gqa=True)


FUNCTIONS = (dense, with_lse, of_odd_heads, packed, cached, as_torch)


def arguments(seq=30, grad=True):
    return (random(2, seq, 4, 64, grad=grad), random(2, seq, 2, 64, grad=grad), random(2, seq, 2, 64, grad=grad),
            (torch.arange(4) * 0.1).requires_grad_(grad), torch.linspace(-1, 1, 4).requires_grad_(grad),
            random(4, seq, seq, dtype=torch.float32, grad=grad))


def used(function):
    """Which of the arguments have gradients."""
    return {dense: (0, 1, 2, 3, 4), packed: (0, 1, 2, 4), as_torch: (0, 1, 2, 5)}.get(function, (0, 1, 2))


def results_and_gradients(function, given, places):
    results = function(*given)
    results = results if isinstance(results, tuple) else (results,)
    loss = sum((result.float() * random(*result.shape, seed=number, dtype=torch.float32)).sum()
               for number, result in enumerate(results))
    return [*results, *torch.autograd.grad(loss, [given[i] for i in places])]


@unittest.skipUnless(hasattr(torch.library, "register_autograd"), "torch has no operators with autograd")
class Transformed(unittest.TestCase):
    def assert_same(self, found, wanted, what=""):
        for a, b in zip(found, wanted):
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype), what)
            # Sums of a gradient that is used twice may be added in another order.
            error = (a.double() - b.double()).norm() / b.double().norm().clamp(min=1e-30)
            self.assertLess(error.item(), 4e-3, what)

    def test_compiled_with_gradients(self):
        for function in FUNCTIONS:
            wanted = results_and_gradients(function, arguments(), used(function))
            for backend in BACKENDS:
                with self.subTest(function=function.__name__, backend=backend):
                    torch._dynamo.reset()
                    compiled = torch.compile(lambda *given: function(*given), backend=backend, fullgraph=True)  # noqa: B023
                    self.assert_same(results_and_gradients(compiled, arguments(), used(function)), wanted)

    def test_compiled_without_gradients(self):
        for function in FUNCTIONS:
            with self.subTest(function=function.__name__):
                torch._dynamo.reset()
                compiled = torch.compile(function, fullgraph=True)
                found, wanted = (f(*arguments(grad=False)) for f in (compiled, function))
                as_tuple = lambda r: r if isinstance(r, tuple) else (r,)  # noqa: E731
                self.assert_same(as_tuple(found), as_tuple(wanted))

    def test_dynamic_shapes(self):
        for function in (dense, as_torch, cached):
            with self.subTest(function=function.__name__):
                torch._dynamo.reset()
                compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=True)
                for seq in (31, 34, 47):
                    self.assert_same([compiled(*arguments(seq, False))], [function(*arguments(seq, False))])

    def test_dropout_is_drawn_anew(self):
        torch._dynamo.reset()
        compiled = torch.compile(lambda q: flash_attn_func(q, q, q, dropout_p=0.4), backend="aot_eager", fullgraph=True)
        q = random(1, 30, 2, 64)
        self.assertFalse(torch.equal(compiled(q), compiled(q)))
        state = torch.tensor([7, 3])
        fixed = torch.compile(lambda q: flash_attn_func(q, q, q, dropout_p=0.4, rng_state=state), backend="aot_eager", fullgraph=True)
        self.assertTrue(torch.equal(fixed(q), flash_attn_func(q, q, q, dropout_p=0.4, rng_state=(7, 3))))

    def test_written_results(self):
        torch._dynamo.reset()
        q, out = random(1, 30, 2, 64), torch.zeros(1, 30, 2, 64).bfloat16()

        def function(q, out):
            flash_attn_func(q * 1.0, q, q, out=out)
            return out + 1

        found = torch.compile(function, backend="aot_eager", fullgraph=True)(q, out)
        self.assertTrue(torch.equal(out, flash_attn_func(q, q, q)) and torch.equal(found, out + 1))

    def test_appending_to_caches(self):
        torch._dynamo.reset()
        q, fresh = random(2, 1, 4, 64), random(2, 1, 2, 64)
        caches = [[random(2, 40, 2, 64), random(2, 40, 2, 64, seed=1)] for _ in range(2)]

        def step(q, k, v, fresh):
            return flash_attn_with_kvcache(q, k, v, fresh, fresh, cache_seqlens=LENGTHS, causal=True)

        wanted = step(q, *caches[0], fresh)
        found = torch.compile(step, backend="aot_eager", fullgraph=True)(q, *caches[1], fresh)
        self.assertTrue(torch.equal(found, wanted))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(*caches)))

    def test_exported(self):
        for function in FUNCTIONS:
            with self.subTest(function=function.__name__):
                class Module(torch.nn.Module):
                    def forward(self, q, k, v, slopes, sink, bias):
                        return function(q, k, v, slopes, sink, bias)  # noqa: B023

                given = arguments(grad=False)
                found = torch.export.export(Module(), given).module()(*given)
                wanted = function(*given)
                as_tuple = lambda r: r if isinstance(r, tuple) else (r,)  # noqa: E731
                self.assert_same(as_tuple(found), as_tuple(wanted))

    def test_flex_attention(self):
        bias = random(4, 30, 30, dtype=torch.float32, grad=True)
        mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 30, 30, BLOCK_SIZE=128)
        q, k, v = (random(2, 4, 30, 64, seed=n, grad=True) for n in range(3))

        def function(q, k, v):
            return flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[h, i, j], mask)

        class Module(torch.nn.Module):
            def forward(self, q, k, v):
                return function(q, k, v)

        with torch.no_grad():
            found = torch.export.export(Module(), (q, k, v), strict=False).module()(q, k, v)
            self.assert_same([found], [function(q, k, v)])
        # Its operator, with gradients of what is captured.
        given = [t.detach().requires_grad_() for t in (q, k, v)]
        found = torch.func.vmap(lambda *t: function(*t))(*(t[None] for t in given))[0]
        wanted = function(*given)
        weights = random(*wanted.shape)
        gradients = [torch.autograd.grad(out, (*given, bias), weights) for out in (found, wanted)]
        self.assert_same([found, *gradients[0]], [wanted, *gradients[1]])

    def test_compiled_flex_attention(self):
        torch._dynamo.reset()
        q, k, v = (random(2, 4, 30, 64, seed=n) for n in range(3))
        slopes = torch.tensor([0.5, 0.25, 0.1, 0.0])
        mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 30, 30)

        def function(q, k, v):
            return flex_attention(q * 1.0, k, v, lambda s, b, h, i, j: s + slopes[h] * (j - i), mask) * 2

        self.assertTrue(torch.equal(torch.compile(function, backend="aot_eager")(q, k, v), function(q, k, v)))

    def test_traced_flex_attention_is_one_graph(self):
        """Functions that are traced before, with gradients of what they capture."""
        q, k, v = (random(2, 4, 30, 64, seed=n, grad=True) for n in range(3))
        slopes = torch.tensor([0.5, 0.25, 0.1, 0.0], requires_grad=True)
        score = flex.traced(lambda s, b, h, i, j: s + slopes[h] * (j - i), "score_mod", 2, 4, 30, 30)
        mask = create_block_mask(flex.traced(lambda b, h, i, j: i >= j, "mask_mod", 2, 4, 30, 30), None, None, 30, 30)

        def function(q, k, v):
            return flex_attention(q * 1.0, k, v, score, mask) * 2

        wanted = function(q, k, v)
        plain = flex_attention(q, k, v, lambda s, b, h, i, j: s + slopes[h] * (j - i),
                               create_block_mask(lambda b, h, i, j: i >= j, None, None, 30, 30)) * 2
        self.assertTrue(torch.equal(wanted, plain))
        weights = random(*wanted.shape)
        gradients = torch.autograd.grad(wanted, (q, k, v, slopes), weights)
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                torch._dynamo.reset()
                found = torch.compile(function, backend=backend, fullgraph=True)(q, k, v)
                self.assert_same([found, *torch.autograd.grad(found, (q, k, v, slopes), weights)], [wanted, *gradients])

    def test_opcheck(self):
        q, k, v, slopes, sink, bias = arguments(20)
        ops = torch.ops.hocket
        flat = [t.detach().reshape(-1, *t.shape[2:]).requires_grad_() for t in (q, k, v)]
        starts = torch.tensor([0, 15, 40]).int()
        heads_first = [t.detach().transpose(1, 2).requires_grad_() for t in (q, k, v)]
        for operator, given in (
            (ops.flash_attn_func, (q, k, v, 0.0, None, True, [-1, -1], 0.0, slopes, None, sink, 0, "gfx950")),
            (ops.flash_attn_varlen_func, (*flat, starts, starts, 25, 25, 0.0, None, True, [-1, -1], 0.0, None, None, None, sink, 0,
                                          None, None, False, "gfx950")),
            (ops.scaled_dot_product_attention, (*heads_first, bias, 0.0, False, 0.3, None, 0, "gfx950")),
            (ops.flash_attn_with_kvcache, (q, k, v, torch.tensor([7, 20]).int(), None, None, None, True, [-1, -1], 0.0, None, 0,
                                           None, None, None, "gfx950")),
        ):
            with self.subTest(operator=str(operator)):
                torch.library.opcheck(operator.default, given)

    def test_vmap(self):
        q, k, v = (torch.stack([random(1, 20, 2, 64, seed=n + i) for i in range(3)]) for n in (0, 10, 20))
        wanted = torch.stack([flash_attn_func(*parts, causal=True) for parts in zip(q, k, v)])
        self.assertTrue(torch.equal(torch.func.vmap(lambda *t: flash_attn_func(*t, causal=True))(q, k, v), wanted))
        found = torch.func.vmap(lambda a, b: flash_attn_func(a, b, b), in_dims=(0, None))(q, k[0])
        self.assertTrue(torch.equal(found, torch.stack([flash_attn_func(part, k[0], k[0]) for part in q])))

    def test_checkpointed_and_autocast(self):
        given, own = arguments(), arguments()
        checkpointed = torch.utils.checkpoint.checkpoint(dense, *given, use_reentrant=False)
        wanted = dense(*own)
        self.assertTrue(torch.equal(checkpointed, wanted))
        checkpointed.float().sum().backward()
        wanted.float().sum().backward()
        for a, b in zip(given[:5], own[:5]):
            self.assertTrue(torch.equal(a.grad, b.grad))

    def test_shapes_alone(self):
        q = torch.empty(2, 30, 4, 64, dtype=torch.bfloat16, device="meta")
        out, lse = flash_attn_func(q, q, q, return_lse=True)
        self.assertEqual((tuple(out.shape), tuple(lse.shape), out.device.type), ((2, 30, 4, 64), (2, 4, 30), "meta"))


@unittest.skipUnless(hasattr(getattr(torch.nn, "attention", None), "activate_flash_attention_impl"), "torch has no names of SDPA")
class Named(unittest.TestCase):
    """torch's own function, by name."""

    def test_activated(self):
        from torch.nn.attention import activate_flash_attention_impl, restore_flash_attention_impl
        from torch.nn.functional import scaled_dot_product_attention as of_torch

        q, k, v = (random(1, 2, 30, 64, seed=n, grad=True) for n in range(3))
        float32 = [t.detach().float().requires_grad_() for t in (q, k, v)]
        results = []
        for name in (None, "hocket"):
            if name:
                activate_flash_attention_impl(name)
            try:
                for given in ((q, k, v), float32):
                    out = of_torch(*given, is_causal=True)
                    results.append([out.detach(), *torch.autograd.grad(out.float().sum(), given)])
            finally:
                if name:
                    restore_flash_attention_impl()
        own, own_float32, found, found_float32 = results
        for a, b in zip(own_float32, found_float32):
            self.assertTrue(torch.equal(a, b))
        mask = random(30, 1, dtype=torch.float32)  # which is the same for all keys
        activate_flash_attention_impl("hocket")
        try:
            masked = of_torch(q, k, v, mask)
        finally:
            restore_flash_attention_impl()
        self.assertTrue(torch.equal(masked, scaled_dot_product_attention(q, k, v, mask)))
        with torch.no_grad():
            self.assertTrue(torch.equal(found[0], scaled_dot_product_attention(q, k, v, is_causal=True)))
            self.assertTrue(torch.equal(of_torch(q, k, v, is_causal=True), own[0]))
        for a, b, wanted in zip(found, own, found_float32):
            self.assertLess(float((a.float() - wanted).norm() / wanted.norm()), 6e-3)


class Autocast(unittest.TestCase):
    def test_types(self):
        q = random(1, 20, 2, 64, dtype=torch.float32, grad=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = flash_attn_func(q, q, q, causal=True)
        self.assertTrue(torch.equal(out, flash_attn_func(*3 * [q.bfloat16()], causal=True)))
        out.float().sum().backward()
        self.assertEqual(q.grad.dtype, torch.float32)
        self.assertEqual(flash_attn_func(*3 * [q.detach()]).dtype, torch.float32)


if __name__ == "__main__":
    print("torch", torch.__version__)
    sys.exit(unittest.main())
