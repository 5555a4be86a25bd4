"""torch's tensors where they are unusual: rows of no sequence, empty ones, masks and batches that broadcast, heads of any size,
places in memory, and gradients of everything, against torch's own in float64."""
import itertools
import types
import unittest

import torch

import hocket
from hocket import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache, flex_attention
from hocket import scaled_dot_product_attention

TOLERANCE = {torch.float16: 1e-3, torch.bfloat16: 6e-3}


def random(*shape, dtype=torch.bfloat16, grad=False, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator).to(dtype).requires_grad_(grad)


def own(q, k, v, change=lambda s: s, scale=None):
    """O and LSE of [..., heads, seq, head_dim] in float64, with scores changed."""
    k, v = (t.repeat_interleave(q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = change(q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale))
    seen = (scores > -torch.inf).any(-1, keepdim=True)
    weights = torch.softmax(torch.where(seen, scores, torch.zeros_like(scores)), -1) * seen
    return weights @ v, torch.logsumexp(scores, -1)


def spoilt(tensor):
    """Memory that was in use: what torch.empty gives next is likely to hold it."""
    for _ in range(3):
        torch.full(tensor.shape, float("nan"), dtype=tensor.dtype)


class Case(unittest.TestCase):
    def assert_close(self, found, wanted, tolerance=None, what=""):
        self.assertEqual(tuple(found.shape), tuple(wanted.shape), what)
        self.assertFalse(found.isnan().any(), f"{what}: NaN")
        error = (found.double() - wanted.double()).norm() / wanted.double().norm().clamp(min=1e-30)
        self.assertLess(error.item(), tolerance or TOLERANCE.get(found.dtype, 6e-3), what)

    def check(self, function, leaves, reference, weigh_lse=False):
        """Results and gradients of `function`, which gives out or out and lse, against `reference`, both of all leaves."""
        wide = [leaf.detach().double().requires_grad_(leaf.requires_grad) for leaf in leaves]
        found, wanted = function(*leaves), reference(*wide)
        found, wanted = (t if isinstance(t, tuple) else (t,) for t in (found, wanted))
        loss, wide_loss = 0, 0
        for number, (a, b) in enumerate(zip(found, wanted)):
            self.assert_close(a, b, 6e-3, f"result {number}")
            weights = random(*a.shape, seed=number + 5, dtype=torch.float32).to(a.dtype)
            loss, wide_loss = loss + (a * weights).sum(), wide_loss + (b * weights.double()).sum()
        loss.backward()
        wide_loss.backward()
        for number, (a, b) in enumerate(zip(leaves, wide)):
            if a.requires_grad:
                self.assertEqual((a.grad.dtype, a.grad.shape), (a.dtype, a.shape))
                self.assert_close(a.grad, b.grad, 1.2e-2, f"gradient {number}")


class UnusedRows(Case):
    """Rows that no sequence uses: gradients and results are 0, LSE is -inf, whatever memory held."""

    def check_unused(self, function, unused_q, unused_k, packed):
        for attempt in range(2):
            leaves = [random(50, 4, 64, grad=True), random(60, 2, 64, grad=True), random(60, 2, 64, grad=True)]
            leaves = leaves if packed else [leaf.detach()[None].requires_grad_() for leaf in leaves]
            for leaf in leaves:
                spoilt(leaf)
            out, lse = function(*leaves)
            rows = (lambda t: t) if packed else (lambda t: t[0])
            self.assertTrue((rows(out)[unused_q] == 0).all())
            self.assertTrue((rows(lse)[:, unused_q] == -torch.inf).all())
            self.assertFalse(out.isnan().any())
            spoilt(out)
            out.sum().backward()
            for leaf, unused in zip(leaves, (unused_q, unused_k, unused_k)):
                self.assertTrue((rows(leaf.grad)[unused] == 0).all())
                self.assertFalse(leaf.grad.isnan().any())
                self.assertGreater(float(leaf.grad.abs().max()), 0) if unused is not unused_q else None

    def test_after_the_last_sequence(self):
        cu_q, cu_k = torch.tensor([0, 20, 37]).int(), torch.tensor([0, 30, 41]).int()
        self.check_unused(lambda q, k, v: flash_attn_varlen_func(q, k, v, cu_q, cu_k, 20, 30, return_lse=True),
                          slice(37, None), slice(41, None), True)

    def test_cut_sequences(self):
        cu_q, cu_k = torch.tensor([0, 20, 50]).int(), torch.tensor([0, 30, 60]).int()
        used_q, used_k = torch.tensor([20, 11]).int(), torch.tensor([30, 7]).int()
        self.check_unused(lambda q, k, v: flash_attn_varlen_func(q, k, v, cu_q, cu_k, 30, 30, seqused_q=used_q,
                                                                seqused_k=used_k, return_lse=True),
                          slice(31, None), slice(37, None), True)

    def test_behind_the_longest(self):
        cu_q, cu_k = torch.tensor([0, 50]).int(), torch.tensor([0, 60]).int()
        out, lse = flash_attn_varlen_func(random(50, 4, 64), random(60, 2, 64), random(60, 2, 64), cu_q, cu_k, 50, 60,
                                          min_seqlen_q=60, return_lse=True)
        self.assertTrue((out == 0).all() and (lse == -torch.inf).all())

    def test_caches(self):
        lengths = torch.tensor([23]).int()
        leaves = [random(1, 50, 4, 64, grad=True), random(1, 60, 2, 64, grad=True), random(1, 60, 2, 64, grad=True)]
        for leaf in leaves:
            spoilt(leaf)
        flash_attn_with_kvcache(*leaves, cache_seqlens=lengths).sum().backward()
        for cache in leaves[1:]:
            self.assertTrue((cache.grad[0, 23:] == 0).all())
            self.assertFalse(cache.grad.isnan().any())


class Everywhere(Case):
    """Each gradient is computed, or refused by name."""

    def test_lse(self):
        for dtype in TOLERANCE:
            q, k, v = random(2, 40, 4, 64, dtype=dtype), random(2, 70, 2, 64, dtype=dtype), random(2, 70, 2, 64, dtype=dtype)
            flip = lambda *tensors: [t.transpose(1, 2) for t in tensors]  # noqa: E731

            def reference(q, k, v):
                out, lse = own(*flip(q, k, v))
                return out.transpose(1, 2), lse

            leaves = [t.clone().requires_grad_() for t in (q, k, v)]
            self.check(lambda *given: flash_attn_func(*given, return_lse=True), leaves, reference)
            # LSE alone, and in torch's layout.
            leaves = [t.transpose(1, 2).clone().requires_grad_() for t in (q, k)]
            values = v.transpose(1, 2)
            self.check(lambda q, k: flex_attention(q, k, values, enable_gqa=True, return_lse=True)[1], leaves,
                       lambda q, k: own(q, k, values.double())[1])
        cu = torch.tensor([0, 40]).int()
        leaves = [random(40, 4, 64, grad=True), random(40, 2, 64, grad=True), random(40, 2, 64)]
        self.check(lambda *given: flash_attn_varlen_func(*given, cu, cu, 40, 40, return_lse=True)[1], leaves,
                   lambda q, k, v: own(*(t.transpose(0, 1) for t in (q, k, v)))[1])

    def test_lse_with_a_sink(self):
        leaves = [*(random(1, 40, 2, 64, dtype=torch.float16, grad=True) for _ in range(3)), torch.tensor([0.5, -1.0], requires_grad=True)]

        def reference(q, k, v, sink):
            scores = torch.einsum("bihd,bjhd->bhij", q, k) / 8
            whole = torch.cat([scores, sink[None, :, None, None].expand(1, 2, 40, 1)], -1)
            weights = torch.softmax(whole, -1)[..., :-1]
            return torch.einsum("bhij,bjhd->bihd", weights, v), torch.logsumexp(whole, -1)

        self.check(lambda q, k, v, sink: flash_attn_func(q, k, v, sink=sink, return_lse=True), leaves, reference)

    def test_lse_of_the_largest_heads(self):
        leaves = [random(1, 40, 2, 256, grad=number < 2) for number in range(3)]
        self.check(lambda *given: flash_attn_func(*given, return_lse=True)[1], leaves,
                   lambda q, k, v: own(*(t.transpose(1, 2) for t in (q, k, v)))[1])

    def test_numbers(self):
        q = random(1, 20, 1, 64)
        number = torch.tensor(0.5, requires_grad=True)
        for function, name in ((flash_attn_func, "softmax_scale"), (flash_attn_func, "softcap"),
                               (scaled_dot_product_attention, "scale"), (flex_attention, "scale")):
            with self.assertRaisesRegex(hocket.Unsupported, f"argument '{name}' requires a gradient"):
                function(q, q, q, **{name: number})
            function(q, q, q, **{name: number.detach()})

    def test_numbers_that_functions_capture(self):
        leaves = [random(1, 2, 40, 64, dtype=torch.float16, grad=True) for _ in range(3)] + [torch.tensor(1.3, requires_grad=True),
                                                                        torch.tensor(0.2, requires_grad=True)]
        self.check(lambda q, k, v, a, c: flex_attention(q, k, v, lambda s, b, h, i, j: s * a + torch.sin(c) * (i - j).abs()),
                   leaves, lambda q, k, v, a, c: own(q, k, v, lambda s: s * a + torch.sin(c) * (
                       torch.arange(40)[:, None] - torch.arange(40)).abs())[0])

    def test_reads_in_any_order(self):
        i, j = torch.arange(30)[:, None], torch.arange(40)
        h = torch.arange(2)[:, None, None]
        for shape, score, wanted in (
            ((40, 30), lambda t: lambda s, b, h, q, k: s + t[k, q], lambda t: t.t()),
            ((40, 30, 2), lambda t: lambda s, b, h, q, k: s + t[k, q, h], lambda t: t.permute(2, 1, 0)),
            ((30, 40), lambda t: lambda s, b, h, q, k: s + t[q, abs(k - q) % 40], lambda t: t[i, (j - i).abs() % 40]),
            ((2, 4, 5), lambda t: lambda s, b, h, q, k: s + t[h, q % 4, k % 5], lambda t: t[h, i % 4, j % 5]),
            ((3, 2), lambda t: lambda s, b, h, q, k: s + torch.exp(t)[k % 3][h], lambda t: torch.exp(t)[j % 3, h]),
            ((5,), lambda t: lambda s, b, h, q, k: s + t[-1 - k % 5] * t[q % 5], lambda t: t[-1 - j % 5] * t[i % 5]),
        ):
            with self.subTest(shape=shape):
                leaves = [*(random(1, 2, n, 64, dtype=torch.float16) for n in (30, 40, 40)),
                          random(*shape, dtype=torch.float32, grad=True)]
                self.check(lambda q, k, v, t: flex_attention(q, k, v, score(t)), leaves,  # noqa: B023
                           lambda q, k, v, t: own(q, k, v, lambda s: s + wanted(t))[0])  # noqa: B023

    def test_a_tensor_that_is_read_in_two_orders(self):
        leaves = [*(random(1, 2, 40, 64, dtype=torch.float16) for _ in range(3)), random(40, 40, dtype=torch.float32, grad=True)]
        self.check(lambda q, k, v, t: flex_attention(q, k, v, lambda s, b, h, i, j: s + t[i, j] - 0.5 * t[j, i]), leaves,
                   lambda q, k, v, t: own(q, k, v, lambda s: s + t - 0.5 * t.t())[0])

    def test_sinks_and_slopes_of_other_types(self):
        q, k, v = (random(1, 40, 2, 64, dtype=torch.float16, grad=True) for _ in range(3))
        numbers = torch.tensor([0.5, -1.25])
        for name in ("sink", "alibi_slopes"):
            wanted = numbers.clone().requires_grad_()
            out = flash_attn_func(q, k, v, **{name: wanted})
            out.backward(random(*out.shape, dtype=out.dtype))
            for dtype in (torch.float16, torch.bfloat16, torch.float64):
                given = numbers.to(dtype).requires_grad_()
                found = flash_attn_func(q, k, v, **{name: given})
                self.assertTrue(torch.equal(found, out))
                found.backward(random(*out.shape, dtype=out.dtype))
                self.assertTrue(torch.equal(given.grad, wanted.grad.to(dtype)))

    def test_what_is_differentiated_by_hand(self):
        q = random(1, 20, 1, 64, grad=True)
        out, lse = flash_attn_func(q.detach(), q.detach(), q.detach(), return_lse=True)
        for preallocated in ((), [torch.empty_like(q) for _ in range(3)]):
            found = hocket.flash_attn_backward(out, q, q, q, out, lse, *preallocated)
            self.assertTrue(all(a is b for a, b in zip(found, preallocated)))
            with torch.no_grad():
                wanted = hocket.flash_attn_backward(out, q, q, q, out, lse)
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(found, wanted)))
            with self.assertRaisesRegex(hocket.Unsupported, "the gradient of a gradient is asked for"):
                found[0].sum().backward()


class FarRows(Case):
    """Rows whose scores are all about -1e9, or 1e9, which float32 does not hold apart: the mean of what they hide."""

    def test_by_a_bias(self):
        for dtype in TOLERANCE:
            for far in (-1e9, 1e9, -1e5, -6e4):
                bias = torch.zeros(40, 40)
                bias[3], bias[5, 10:], bias[7], bias[7, 4] = far, far, far, 2 * far
                bias[9, 1:] = -torch.inf
                leaves = [random(1, 2, 40, 64, dtype=dtype, grad=True, seed=n) for n in range(3)]
                with self.subTest(dtype=dtype, far=far):
                    self.check(lambda *t: scaled_dot_product_attention(*t, bias), leaves,  # noqa: B023
                               lambda *t: own(*t, lambda s: s + bias)[0])  # noqa: B023
                lse = scaled_dot_product_attention(*(t.detach() for t in leaves), bias, return_lse=True)[1]
                wanted = own(*(t.detach().double() for t in leaves), lambda s: s + bias)[1]  # noqa: B023
                self.assertLess(float(((lse - wanted) / wanted.abs().clamp(min=1)).abs().max()), 1e-6)

    def test_by_functions(self):
        table = torch.zeros(30)
        table[4:] = -1e9
        for score, wanted in (
            (lambda s, b, h, q, k: torch.where(q < 7, s, -1e9), lambda s: torch.where(
                torch.arange(30)[:, None] < 7, s, torch.full_like(s, -1e9))),
            (lambda s, b, h, q, k: s + table[q], lambda s: s + table[:, None]),
            (lambda s, b, h, q, k: table[q] + s * 0.5, lambda s: s * 0.5 + table[:, None]),
        ):
            leaves = [random(1, 2, 30, 64, grad=True, seed=n) for n in range(3)]
            self.check(lambda *t: flex_attention(*t, score), leaves, lambda *t: own(*t, wanted)[0])  # noqa: B023


class Shapes(Case):
    def test_empty(self):
        for q, k in (((0, 4, 40, 64), (0, 2, 40, 64)), ((2, 4, 0, 64), (2, 2, 40, 64)), ((2, 4, 40, 64), (2, 2, 0, 64))):
            leaves = [random(*q, grad=True), random(*k, grad=True), random(*k, grad=True)]
            for out, lse in (scaled_dot_product_attention(*leaves, enable_gqa=True, return_lse=True),
                             flex_attention(*leaves, enable_gqa=True, return_lse=True)):
                self.assertEqual((tuple(out.shape), tuple(lse.shape)), (q, q[:3]))
                self.assertTrue((out == 0).all() and (lse == -torch.inf).all())
                out.sum().backward()
                self.assertTrue(all((leaf.grad == 0).all() for leaf in leaves))
        q = random(2, 5, 2, 64)
        out, lse = flash_attn_func(q, q[:, :0], q[:, :0], sink=torch.tensor([0.5, 2.0]), return_lse=True)
        self.assertTrue((out == 0).all() and (lse == torch.tensor([0.5, 2.0])[:, None]).all())
        nothing, cu = random(0, 2, 64), torch.tensor([0, 0]).int()
        out = flash_attn_varlen_func(nothing, nothing, nothing, cu, cu, 0, 0)
        self.assertEqual(tuple(out.shape), (0, 2, 64))
        out = flash_attn_varlen_func(q[0], nothing, nothing, torch.tensor([0, 5]).int(), cu, 5, 0)
        self.assertTrue((out == 0).all())
        self.assertEqual(tuple(flash_attn_varlen_func(nothing, nothing, nothing, cu[:1], cu[:1], 0, 0).shape), (0, 2, 64))

    def test_heads_of_any_size(self):
        for dim, dim_v in ((1, 1), (30, 30), (64, 33), (61, 64)):
            leaves = [random(1, 20, 4, dim, grad=True), random(1, 30, 2, dim, grad=True), random(1, 30, 2, dim_v, grad=True)]
            wanted = lambda q, k, v: own(*(t.transpose(1, 2) for t in (q, k, v)))[0].transpose(1, 2)  # noqa: E731
            self.check(flash_attn_func, leaves, wanted)
            with torch.no_grad():
                out = torch.zeros(1, 20, 4, dim_v).bfloat16()
                self.assertIs(flash_attn_func(*leaves, out=out), out)
                self.assertTrue(torch.equal(out, flash_attn_func(q=leaves[0], k=leaves[1], v=leaves[2])))
                lse = flash_attn_func(*leaves, return_lse=True)[1]
                gradients = hocket.flash_attn_backward(torch.ones_like(out), *leaves, out, lse)
            for leaf in leaves:
                leaf.grad = None
            flash_attn_func(*leaves).sum().backward()
            for leaf, gradient in zip(leaves, gradients):
                self.assertTrue(torch.equal(leaf.grad, gradient))

    def test_batches_and_masks_that_broadcast(self):
        q, k, v = random(2, 3, 2, 20, 64, grad=True), random(1, 3, 2, 30, 64, grad=True), random(2, 1, 2, 30, 64, grad=True)
        wide = lambda *tensors: [t.expand(2, 3, *t.shape[2:]) for t in tensors]  # noqa: E731
        for shape in ((), (1,), (30,), (20, 1), (20, 30), (2, 1, 1, 20, 30), (1, 3, 2, 1, 1)):
            mask = torch.randn(shape, generator=torch.Generator().manual_seed(3))
            for bias in (mask, mask.double()):
                leaves = [t.detach().clone().requires_grad_() for t in (q, k, v)] + [
                    bias.clone().requires_grad_(shape[-1:] == (30,))]  # what is the same for a row has a gradient of 0
                self.check(scaled_dot_product_attention, leaves, lambda q, k, v, m: own(*wide(q, k, v), lambda s: s + m)[0])
        one = random(1, 2, 30, 64, grad=True)
        self.check(flex_attention, [random(3, 2, 20, 64, grad=True), one, one.detach().clone().requires_grad_()],
                   lambda q, k, v: own(q, k.expand(3, 2, 30, 64), v.expand(3, 2, 30, 64))[0])
        q, k, v = random(2, 3, 20, 64, grad=True), random(2, 1, 30, 64, grad=True), random(1, 3, 30, 64, grad=True)
        self.check(scaled_dot_product_attention, [q, k, v], lambda q, k, v: own(*(t.expand(2, 3, *t.shape[2:]) for t in (q, k, v)))[0])
        q, v = random(2, 3, 2, 20, 64), random(2, 1, 2, 30, 64)
        with self.assertRaisesRegex(hocket.InvalidInput, r"the batches do not broadcast: 'query' \(2, 3, 2, 20, 64\)"):
            scaled_dot_product_attention(q, q[:, :2], v)

    def test_order_in_memory(self):
        """What torch's functions give has the order of the queries' dimensions."""
        q, k, v = random(2, 3, 20, 64), random(2, 3, 30, 64), random(2, 3, 30, 40)
        wanted = scaled_dot_product_attention(q, k, v)
        for order in itertools.permutations(range(3)):
            back = [order.index(dim) for dim in range(3)] + [3]
            own = q.permute(*order, 3).contiguous().permute(back)
            for function in (scaled_dot_product_attention, flex_attention):
                for _ in range(3):
                    found = function(own, k, v)
                    self.assertTrue(torch.equal(found, wanted))
                    self.assertTrue(found.permute(*order, 3).is_contiguous(), order)
            array = own.half().numpy()
            found = scaled_dot_product_attention(array, k.half().numpy(), v.half().numpy())
            self.assertTrue(found.transpose(*order, 3).flags.c_contiguous)

    def test_masks_of_torch(self):
        q, k = random(1, 2, 40, 64), random(1, 2, 40, 64)
        lists = {"kv_num_blocks": torch.ones(1, 1, 1, dtype=torch.int32), "kv_indices": torch.zeros(1, 1, 1, 1, dtype=torch.int32),
                 "full_kv_num_blocks": None, "full_kv_indices": None}

        def noop_mask(batch, head, query, key):
            return True

        empty = types.SimpleNamespace(**lists, BLOCK_SIZE=(1 << 30, 1 << 30), mask_mod=noop_mask, seq_lengths=(1, 1))
        self.assertTrue(torch.equal(flex_attention(q, k, k, block_mask=empty), flex_attention(q, k, k)))
        empty.BLOCK_SIZE = 128, 128
        with self.assertRaisesRegex(hocket.InvalidInput, "'block_mask' is for seq_q 1, the tensors have 40"):
            flex_attention(q, k, k, block_mask=empty)
        with self.assertRaisesRegex(hocket.Unsupported, "'attn_mask' is a 'Other', which may mean something else"):
            scaled_dot_product_attention(q, k, k, torch.zeros(40, 40).as_subclass(type("Other", (torch.Tensor,), {})))

    @unittest.skipUnless(hasattr(getattr(torch.nn, "attention", None), "bias"), "torch has no CausalBias")
    def test_causal_bias(self):
        from torch.nn.attention.bias import causal_lower_right, causal_upper_left

        q = random(1, 2, 20, 64, grad=True)
        for keys in (20, 30):
            k, v = random(1, 2, keys, 64, grad=True), random(1, 2, keys, 64, grad=True)
            for make, diagonal in ((causal_upper_left, 0), (causal_lower_right, keys - 20)):
                hidden = torch.ones(20, keys).tril(diagonal) == 0
                self.check(lambda q, k, v: scaled_dot_product_attention(q, k, v, make(20, k.shape[2])), [q, k, v],  # noqa: B023
                           lambda q, k, v: own(q, k, v, lambda s: s.masked_fill(hidden, -math.inf))[0])  # noqa: B023
            with self.assertRaisesRegex(hocket.InvalidInput, "CausalBias of 20 queries and 25 keys, the tensors have 20 and"):
                scaled_dot_product_attention(q, k, v, causal_upper_left(20, 25))

    def test_places_in_memory(self):
        q, k, v = random(2, 20, 2, 64), random(2, 30, 2, 64), random(2, 30, 2, 64)
        wanted = flash_attn_func(q, k, v, return_lse=True)

        def moved(tensor, by):
            room = torch.empty(tensor.numel() + by, dtype=tensor.dtype)[by:].view(tensor.shape)
            return room.copy_(tensor)

        def spread(tensor):
            return torch.zeros(*tensor.shape[:-1], 2 * tensor.shape[-1], dtype=tensor.dtype)[..., ::2].copy_(tensor)

        def narrow(tensor):
            return torch.zeros(*tensor.shape[:-1], tensor.shape[-1] + 3, dtype=tensor.dtype)[..., : tensor.shape[-1]].copy_(tensor)

        for place in (lambda t: moved(t, 3), spread, narrow):
            found = flash_attn_func(place(q), place(k), place(v), return_lse=True)
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(found, wanted)))
            leaves = [t.clone().requires_grad_() for t in (q, k, v)]
            gradients = []
            for dout in (random(2, 20, 2, 64), place(random(2, 20, 2, 64))):
                gradients.append(torch.autograd.grad(flash_attn_func(*leaves), leaves, dout))
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(*gradients)))
            arrays = [place(t.half()).numpy() for t in (q, k, v)]
            self.assertTrue((hocket.flash_attn_func(*arrays) == hocket.flash_attn_func(*(a.copy() for a in arrays))).all())
        flipped = [t.half().numpy()[:, ::-1] for t in (q, k, v)]
        self.assertTrue((hocket.flash_attn_func(*flipped) == hocket.flash_attn_func(*(a.copy() for a in flipped))).all())


class Packed(Case):
    def test_dropout_and_sink(self):
        dense = [random(2, 40, 4, 64, grad=True), random(2, 40, 2, 64, grad=True), random(2, 40, 2, 64, grad=True)]
        packed = [t.detach().flatten(0, 1).requires_grad_() for t in dense]
        cu = torch.tensor([0, 40, 80]).int()
        sinks = [torch.linspace(-1, 1, 4).requires_grad_() for _ in range(2)]
        options = {"dropout_p": 0.3, "rng_state": torch.tensor([77, 5]), "causal": True}
        out = flash_attn_func(*dense, sink=sinks[0], **options)
        found = flash_attn_varlen_func(*packed, cu, cu, 40, 40, sink=sinks[1], **options)
        self.assertTrue(torch.equal(found, out.flatten(0, 1)))
        self.assertFalse(torch.equal(found, flash_attn_varlen_func(*packed, cu, cu, 40, 40, sink=sinks[1], causal=True)))
        weights = random(2, 40, 4, 64)
        out.backward(weights)
        found.backward(weights.flatten(0, 1))
        for a, b in zip((*dense, sinks[0]), (*packed, sinks[1])):
            self.assertTrue(torch.equal(a.grad.flatten(), b.grad.flatten()))
        torch.manual_seed(1)
        drawn = [flash_attn_varlen_func(*packed, cu, cu, 40, 40, dropout_p=0.3) for _ in range(2)]
        self.assertFalse(torch.equal(*drawn))


if __name__ == "__main__":
    unittest.main()
