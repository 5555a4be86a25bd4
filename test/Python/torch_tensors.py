"""torch's tensors, against torch's own attention on the CPU: fp16 and bf16, strides, gradients, the operator."""
import unittest

import torch

import hocket
import hocket.torch_ops  # noqa: F401
from hocket import flash_attn_func, scaled_dot_product_attention

TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2}


def reference(q, k, v, causal=False, scale=None):
    """[batch, heads, seq, head_dim], in float64; torch's own function where this torch has it."""
    q, k, v = (t.detach().double() for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    own = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
    if own is not None:
        return own(q, k, v, attn_mask=mask if causal else None, scale=scale)
    scores = q @ k.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if causal:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, 3) @ v


def tensors(dtype=torch.float16, seq_q=40, seq_kv=70, heads=4, kv_heads=2, **options):
    torch.manual_seed(0)
    shapes = ((2, seq_q, heads, 64), (2, seq_kv, kv_heads, 64), (2, seq_kv, kv_heads, 64))
    return [torch.randn(shape).to(dtype).requires_grad_(options.get("grad", False)) for shape in shapes]


class Torch(unittest.TestCase):
    def assert_right(self, found, q, k, v, **options):
        wanted = reference(*(t.transpose(1, 2) for t in (q, k, v)), **options).transpose(1, 2)
        self.assertEqual(found.dtype, q.dtype)
        self.assertLess((found.double() - wanted).abs().max().item(), TOLERANCE[q.dtype])

    def test_types(self):
        for dtype in TOLERANCE:
            q, k, v = tensors(dtype)
            for options in ({}, {"causal": True}):
                out, lse = flash_attn_func(q, k, v, return_lse=True, **options)
                self.assertIsInstance(out, torch.Tensor)
                self.assertEqual((lse.dtype, tuple(lse.shape)), (torch.float32, (2, 4, 40)))
                self.assert_right(out, q, k, v, **options)

    def test_as_torch(self):
        q, k, v = (t.transpose(1, 2) for t in tensors(torch.bfloat16, seq_q=70))
        out = scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3, enable_gqa=True)
        wanted = reference(q, k, v, causal=True, scale=0.3)
        self.assertLess((out.double() - wanted).abs().max().item(), TOLERANCE[torch.bfloat16])
        self.assertEqual(out.shape, q.shape)
        flat = scaled_dot_product_attention(q[0], k[0].repeat_interleave(2, 0), v[0].repeat_interleave(2, 0))
        self.assertEqual(flat.shape, q[0].shape)

    def test_strides_and_out(self):
        torch.manual_seed(1)
        packed = torch.randn(2, 50, 3, 4, 64).bfloat16()
        q, k, v = packed.unbind(2)
        out = torch.zeros(2, 4, 50, 64).bfloat16().transpose(1, 2)
        self.assertIs(flash_attn_func(q, k, v, out=out), out)
        self.assert_right(out, q, k, v)
        k = k[:1].expand(2, -1, -1, -1)
        self.assert_right(flash_attn_func(q, k, v), q, k, v)

    def test_merge(self):
        q, k, v = tensors(torch.bfloat16)
        parts = [flash_attn_func(q, k[:, a:b], v[:, a:b], return_lse=True) for a, b in ((0, 30), (30, 70))]
        out, lse = hocket.merge(*zip(*parts))
        self.assert_right(out, q, k, v)
        into = torch.empty(q.shape)
        hocket.merge(*zip(*parts), out=into)
        self.assert_right(into.bfloat16(), q, k, v)

    def test_kernel(self):
        kernel = hocket.compile("""
tile.kernel @copy(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>) target("gfx950") waves(4) {
  %row, %column = tile.block_tile %y rows(64) columns(256) : <?x?xbf16>
  %wave_row = tile.wave_row %row rows(16)
  %block = tile.load %x[%wave_row, %column] : <?x?xbf16> -> !tile.frag<16x256xbf16, lines>
  tile.store %block, %y[%wave_row, %column] : !tile.frag<16x256xbf16, lines>, <?x?xbf16>
}""")
        x = torch.randn(30, 40).bfloat16()
        y = torch.zeros_like(x)
        kernel(x=x, y=y)
        self.assertTrue((x == y).all())
        with self.assertRaisesRegex(hocket.Unsupported, "argument 'x' requires a gradient"):
            kernel(x=x.requires_grad_(), y=y)

    def test_types_that_no_kernel_has(self):
        q, k, v = (t.double() for t in tensors())
        with self.assertRaisesRegex(hocket.InvalidInput, "argument 'q' has elements of f64, wanted bf16, f16, f32, i8 or a float of 8 bits"):
            flash_attn_func(q, k, v)

    def test_floats_of_32_bits(self):
        q, k, v = (t.float() for t in tensors())
        out = flash_attn_func(q, k, v, causal=True)
        wanted = reference(*(t.transpose(1, 2) for t in (q, k, v)), causal=True).transpose(1, 2)
        self.assertEqual(out.dtype, torch.float32)
        self.assertLess((out - wanted).norm() / wanted.norm(), 2e-6)
        with self.assertRaisesRegex(hocket.Unsupported, "dtype is f32, whose gradients no kernel computes; use bf16 or fp16"):
            flash_attn_func(q.requires_grad_(), k, v).sum().backward()


class Modifications(unittest.TestCase):
    """Functions that use torch's own functions and tensors; torch's masks."""

    def check(self, score=None, seen=None):
        q, k, v = (t.transpose(1, 2) for t in tensors(torch.bfloat16))
        mask = hocket.create_block_mask(seen, None, None, 40, 70, device="cpu") if seen else None
        out = hocket.flex_attention(q, k, v, score, mask, enable_gqa=True)
        whole = [t.double() for t in (q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))]
        scores = whole[0] @ whole[1].transpose(2, 3) / 8
        places = torch.meshgrid(*(torch.arange(n) for n in scores.shape), indexing="ij")
        if score:
            scores = score(scores, *places)
        if seen:
            scores = scores.masked_fill(~seen(*places), float("-inf"))
        wanted = torch.softmax(scores, 3) @ whole[2]
        self.assertLess((out.double() - wanted).abs().max().item(), TOLERANCE[torch.bfloat16])

    def test_flex_attention(self):
        torch.manual_seed(2)
        bias = torch.randn(4, 40, 70)
        half = torch.randn(4).bfloat16()
        documents = torch.randint(0, 2, (2, 70))
        hidden = torch.rand(70) < 0.2
        documents[:, 0], hidden[0] = 0, False
        self.check(lambda s, b, h, q, k: torch.tanh(s / 3) * 3 + bias[h, q, k])
        self.check(lambda s, b, h, q, k: torch.where(q >= k, s, s - 0.5) * half[h])
        self.check(lambda s, b, h, q, k: torch.maximum(s, -s) + torch.exp(-abs(s)))
        self.check(seen=lambda b, h, q, k: (documents[b, k] == 0) | (k == 0))
        self.check(seen=lambda b, h, q, k: torch.logical_or(~hidden[k], k < q))

    def test_masks(self):
        q, k, v = (t.transpose(1, 2) for t in tensors(torch.bfloat16))
        boolean = torch.rand(40, 70) < 0.7
        for mask in (boolean, torch.zeros(40, 70).masked_fill(~boolean, float("-inf")),
                     torch.zeros(40, 70).masked_fill(~boolean, float("-inf")).bfloat16()):
            out = scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
            scores = (q.double() @ k.double().repeat_interleave(2, 1).transpose(2, 3) / 8).masked_fill(
                ~boolean, float("-inf"))
            wanted = torch.softmax(scores, 3) @ v.double().repeat_interleave(2, 1)
            self.assertLess((out.double() - wanted).abs().max().item(), TOLERANCE[torch.bfloat16])

    def test_alibi(self):
        q, k, v = tensors(torch.bfloat16)
        slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])
        out = flash_attn_func(q, k, v, alibi_slopes=slopes)
        self.assertTrue(torch.isfinite(out.float()).all())


class Operator(unittest.TestCase):
    def test_computes(self):
        q, k, v = tensors(torch.bfloat16)
        out, lse = torch.ops.hocket.attention_forward(q, k, v, None, True)
        wanted, wanted_lse = flash_attn_func(q, k, v, causal=True, return_lse=True)
        self.assertTrue((out == wanted).all() and (lse == wanted_lse).all())

    def test_knows_shapes(self):
        q, k, v = (t.to("meta") for t in tensors(torch.bfloat16))
        out, lse = torch.ops.hocket.attention_forward(q, k, v)
        self.assertEqual((tuple(out.shape), out.dtype), ((2, 40, 4, 64), torch.bfloat16))
        self.assertEqual((tuple(lse.shape), lse.dtype), ((2, 4, 40), torch.float32))

    def test_gradients(self):
        torch.manual_seed(5)
        given, own = ([t.requires_grad_() for t in tensors(torch.bfloat16)] for _ in range(2))
        out, lse = torch.ops.hocket.attention_forward(*given, None, True)
        wanted = flash_attn_func(*own, causal=True)
        dout = torch.randn(out.shape).bfloat16()
        out.backward(dout)
        wanted.backward(dout)
        for a, b in zip(given, own):
            self.assertTrue((a.grad == b.grad).all())
        with self.assertRaisesRegex(RuntimeError, "argument 'q' requires a gradient"):
            torch.ops.hocket.attention_backward(dout, *given, out.detach(), lse)
        given, own = ([t.requires_grad_() for t in tensors(torch.bfloat16)] for _ in range(2))
        torch.ops.hocket.attention_forward(*given)[1].sum().backward()
        flash_attn_func(*own, return_lse=True)[1].sum().backward()
        for a, b in zip(given, own):
            self.assertTrue((a.grad == b.grad).all())
        self.assertGreater(float(given[0].grad.abs().max()), 0)
        shapes = torch.ops.hocket.attention_backward(*(t.detach().to("meta") for t in (dout, *given, out, lse)))
        self.assertEqual([tuple(t.shape) for t in shapes], [tuple(t.shape) for t in given])


#: L2 of an error over that of the gradient (docs/Accuracy.md), and what rounding O and dO's sums adds.
GRADIENT_TOLERANCE = {torch.float16: 1e-3, torch.bfloat16: 6e-3}


class Gradients(unittest.TestCase):
    """Against torch's own gradients of the definition in float64."""

    def own(self, q, k, v, dout, mask, scale, score):
        """Of [batch, heads, seq, head_dim]."""
        leaves = [t.detach().double().requires_grad_() for t in (q, k, v)]
        wide = leaves[0], *(t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in leaves[1:])
        scores = score(wide[0] @ wide[1].transpose(2, 3) * scale)
        scores = scores.masked_fill(~mask, float("-inf"))
        seen = mask.any(-1, keepdim=True)
        weights = torch.softmax(torch.where(seen, scores, torch.zeros_like(scores)), 3) * seen
        (weights @ wide[2]).backward(dout.double())
        return [t.grad for t in leaves]

    def check(self, function, dtype=torch.bfloat16, mask=None, scale=0.125, transposed=False, score=lambda s: s,
              **shape):
        """`function` of tensors as flash-attn has them, or, `transposed`, torch."""
        given = tensors(dtype, grad=True, **shape)
        flip = (lambda t: t.transpose(1, 2)) if transposed else (lambda t: t)
        out = function(*(flip(t) for t in given))
        dout = torch.randn(given[0].shape).to(dtype)
        out.backward(flip(dout))
        seq = given[0].shape[1], given[1].shape[1]
        mask = torch.ones(seq, dtype=torch.bool) if mask is None else mask
        wanted = self.own(*(t.transpose(1, 2) for t in given), dout.transpose(1, 2), mask, scale, score)
        for name, leaf, gradient in zip("qkv", given, wanted):
            self.assertEqual((leaf.grad.dtype, leaf.grad.shape), (dtype, leaf.shape))
            error = (leaf.grad.transpose(1, 2).double() - gradient).norm() / gradient.norm()
            self.assertLess(error.item(), GRADIENT_TOLERANCE[dtype], name)

    def test_flash_attn(self):
        bottom_right = torch.ones(40, 70, dtype=torch.bool).tril(30)
        for dtype in GRADIENT_TOLERANCE:
            self.check(flash_attn_func, dtype)
            self.check(lambda q, k, v: flash_attn_func(q, k, v, causal=True), dtype, bottom_right)
        window = bottom_right & ~torch.ones(40, 70, dtype=torch.bool).tril(30 - 12)
        self.check(lambda q, k, v: flash_attn_func(q, k, v, softmax_scale=0.3, window_size=(11, 0)), mask=window,
                   scale=0.3)
        self.check(lambda q, k, v: flash_attn_func(q, k, v, causal=True, arch="gfx942"), mask=bottom_right)

    def test_scaled_dot_product(self):
        top_left = torch.ones(40, 70, dtype=torch.bool).tril()
        self.check(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
                   mask=top_left, transposed=True)
        torch.manual_seed(3)
        seen = torch.rand(40, 70) < 0.5
        self.check(lambda q, k, v: scaled_dot_product_attention(q, k, v, seen, enable_gqa=True), mask=seen,
                   transposed=True)
        one = tensors(heads=1, kv_heads=1, grad=True)
        flat = scaled_dot_product_attention(*(t[0, :, 0] for t in one))
        flat.sum().backward()  # whose gradient is expanded from one number
        self.assertEqual(float(one[0].grad[1].abs().max()), 0)
        self.assertGreater(float(one[2].grad[0].abs().max()), 0)

    def test_modified_scores(self):
        def capped(scores):
            return 2 * torch.tanh(scores / 2)

        self.check(lambda q, k, v: flash_attn_func(q, k, v, softcap=2.0), score=capped)
        bias = torch.randn(2, 1, 40, 70)
        self.check(lambda q, k, v: scaled_dot_product_attention(q, k, v, bias, enable_gqa=True), transposed=True,
                   score=lambda s: s + bias.double())
        places = torch.arange(40)[:, None] - torch.arange(70)
        slopes = torch.rand(4)

        def bent(score, batch, head, query, key):
            return torch.where(score > 0, score * slopes[head], torch.exp(score)) - 0.1 * abs(query - key)

        self.check(lambda q, k, v: hocket.flex_attention(q, k, v, bent, enable_gqa=True), transposed=True,
                   score=lambda s: torch.where(s > 0, s * slopes.double()[:, None, None], torch.exp(s))
                   - 0.1 * places.abs())

    def test_block_lists(self):
        documents = torch.sort(torch.randint(0, 3, (2, 70)), 1)[0]
        documents[:, 0] = 0

        def seen(batch, head, query, key):
            return (documents[batch, query] == documents[batch, key]) | (key == 0)

        mask = hocket.create_block_mask(seen, 2, None, 40, 70, BLOCK_SIZE=(128, 32))
        whole = (documents[:, :40, None] == documents[:, None, :]) | (torch.arange(70) == 0)
        self.check(lambda q, k, v: hocket.flex_attention(q, k, v, None, mask, enable_gqa=True), transposed=True,
                   mask=whole[:, None])

    def test_what_functions_capture(self):
        q, k, v = (t.transpose(1, 2) for t in tensors(torch.bfloat16, kv_heads=4))
        torch.manual_seed(12)
        dout = torch.randn(q.shape).bfloat16()
        places = torch.meshgrid(*(torch.arange(n) for n in (2, 4, 40, 70)), indexing="ij")

        def score(of):
            slopes, table = of
            return lambda s, b, h, q, k: s * slopes[h] + table[h, q - k + 69]

        leaves = [torch.rand(4).requires_grad_(), torch.randn(4, 109).bfloat16().requires_grad_()]
        hocket.flex_attention(q, k, v, score(leaves)).backward(dout)
        own = [leaf.detach().double().requires_grad_() for leaf in leaves]
        scores = score(own)(q.double() @ k.double().transpose(2, 3) / 8, *places)
        (torch.softmax(scores, 3) @ v.double()).backward(dout.double())
        for leaf, wanted in zip(leaves, own):
            self.assertEqual((leaf.grad.dtype, leaf.grad.shape), (leaf.dtype, leaf.shape))
            self.assertLess(float((leaf.grad.double() - wanted.grad).norm() / wanted.grad.norm()), 1e-2)

    def test_sink(self):
        q, k, v = tensors(torch.bfloat16, kv_heads=4)
        sink, dout = torch.linspace(-2, 3, 4).requires_grad_(), torch.randn(q.shape).bfloat16()
        out = flash_attn_func(q, k, v, sink=sink, causal=True)
        out.backward(dout)
        own = sink.detach().double().requires_grad_()
        scores = torch.einsum("bihd,bjhd->bhij", q.double(), k.double()) / 8
        scores = scores.masked_fill(~torch.ones(40, 70, dtype=torch.bool).tril(30), float("-inf"))
        with_sink = torch.cat([scores, own[:, None, None].expand(2, 4, 40, 1)], 3)
        weights = torch.softmax(with_sink, 3)[..., :70]
        torch.einsum("bhij,bjhd->bihd", weights, v.double()).backward(dout.double())
        self.assertEqual((sink.grad.dtype, sink.grad.shape), (torch.float32, sink.shape))
        self.assertLess(float((sink.grad - own.grad).abs().max()), 0.02 * float(own.grad.abs().max()))
        self.assertIsNone(q.grad)

    def test_biases_and_slopes(self):
        q, k, v = (t.transpose(1, 2) for t in tensors(torch.bfloat16, kv_heads=4))
        torch.manual_seed(11)
        dout = torch.randn(q.shape).bfloat16()
        places = (torch.arange(40)[:, None] + 30 - torch.arange(70)).abs()

        def own(leaf, bias):
            """What torch says of `leaf`, of which `bias` makes what is added to scores."""
            scores = q.double() @ k.double().transpose(2, 3) / 8 + bias(leaf)
            (torch.softmax(scores, 3) @ v.double()).backward(dout.double())
            return leaf.grad

        for shape, dtype in (((2, 4, 40, 70), torch.bfloat16), ((40, 70), torch.float32), ((4, 1, 70), torch.float16),
                             ((2, 1, 1, 70), torch.bfloat16)):
            bias = torch.randn(shape).to(dtype).requires_grad_()
            scaled_dot_product_attention(q, k, v, bias).backward(dout)
            wanted = own(bias.detach().double().requires_grad_(), lambda leaf: leaf)
            self.assertEqual((bias.grad.dtype, bias.grad.shape), (dtype, bias.shape))
            self.assertLess(float((bias.grad.double() - wanted).norm() / wanted.norm()), 6e-3)
        slopes = torch.rand(4).requires_grad_()
        flash_attn_func(*(t.transpose(1, 2) for t in (q, k, v)), alibi_slopes=slopes).backward(dout.transpose(1, 2))
        wanted = own(slopes.detach().double().requires_grad_(), lambda leaf: -leaf[:, None, None] * places)
        self.assertLess(float((slopes.grad - wanted).abs().max()), 0.05 * float(wanted.abs().max()))

    def test_packed_sequences_get_what_each_gets_alone(self):
        torch.manual_seed(9)
        queries, keys = (70, 0, 5, 33), (70, 20, 100, 40)
        q, k, v = (torch.randn(sum(rows), heads, 64).bfloat16().requires_grad_()
                   for rows, heads in ((queries, 4), (keys, 2), (keys, 2)))
        cu_q, cu_k = (torch.cumsum(torch.tensor((0, *rows)), 0).int() for rows in (queries, keys))
        out = hocket.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 70, 100, causal=True)
        dout = torch.randn(out.shape).bfloat16()
        out.backward(dout)
        for i, rows in enumerate(queries):
            at, of = slice(cu_q[i], cu_q[i + 1]), slice(cu_k[i], cu_k[i + 1])
            if rows == 0:
                self.assertEqual(float(k.grad[of].abs().max() + v.grad[of].abs().max()), 0)
                continue
            alone = [t.detach()[None, part].requires_grad_() for t, part in ((q, at), (k, of), (v, of))]
            flash_attn_func(*alone, causal=True).backward(dout[None, at])
            for packed, own in zip((q.grad[at], k.grad[of], v.grad[of]), alone):
                self.assertTrue((packed == own.grad[0]).all())
        out = hocket.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 70, 100)
        cu_k[1] = 1
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            out.sum().backward()

    def test_dropout(self):
        q, k, v = tensors(torch.bfloat16, grad=True)
        state = {"dropout_p": 0.25, "rng_state": (5, 6)}
        out = flash_attn_func(q, k, v, **state)
        out.backward(torch.ones_like(out))
        self.assertFalse((out == flash_attn_func(q, k, v)).all())
        # O is linear in V, with the weights that both drop.
        other = torch.randn(v.shape).bfloat16()
        moved = flash_attn_func(q.detach(), k.detach(), other, **state)
        found = (v.grad.double() * (other.double() - v.double())).sum()
        wanted = (moved.double() - out.double()).sum()
        self.assertLess(abs(float(found - wanted)), 0.02 * float(moved.double().norm() + out.double().norm()))

    def test_mask_mod(self):
        mask = hocket.create_block_mask(lambda b, h, q, k: k <= q, None, None, 40, 70)
        self.check(lambda q, k, v: hocket.flex_attention(q, k, v, None, mask, enable_gqa=True), transposed=True,
                   mask=torch.ones(40, 70, dtype=torch.bool).tril())

    def test_one_of_them_and_sums(self):
        q, k, v = tensors(torch.bfloat16)
        k.requires_grad_()
        for _ in range(2):
            flash_attn_func(q, k, v).backward(torch.ones_like(q))
        once = torch.autograd.grad(flash_attn_func(q, k, v), k, torch.ones_like(q))[0]
        self.assertTrue((k.grad == once + once).all())
        self.assertIsNone(q.grad)
        with torch.no_grad():
            self.assertFalse(flash_attn_func(q, k, v).requires_grad)

    def test_what_is_changed_meanwhile(self):
        q, k, v = tensors(grad=True)
        seen = torch.ones(40, 70, dtype=torch.bool)
        for changed in (seen, v):
            out = scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), seen, enable_gqa=True)
            with torch.no_grad():
                changed[0] = 0
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                out.sum().backward()

    def test_refusals(self):
        q, k, v = tensors(grad=True)
        with self.assertRaisesRegex(hocket.Unsupported, "argument 'out' is given, and argument 'q' requires a gradient"):
            flash_attn_func(q, k, v, out=torch.empty(q.shape).half())
        with self.assertRaisesRegex(hocket.Unsupported, "requires a gradient, which there is none of yet"):
            limits = torch.ones(40, requires_grad=True)
            seen = hocket.create_block_mask(lambda b, h, q, k: limits[q] > 0, None, None, 40, 70)
            hocket.flex_attention(*(t.transpose(1, 2) for t in (q, k, v)), None, seen, enable_gqa=True)
        with self.assertRaisesRegex(hocket.Unsupported, "argument 'lse' requires a gradient"):
            flash_attn_func(q, k, v, lse=torch.empty(2, 4, 40, requires_grad=True))
        with self.assertRaisesRegex(hocket.Unsupported, "argument 'out' is given, and argument 'sink' requires a gradient"):
            flash_attn_func(*tensors(), sink=torch.zeros(4, requires_grad=True), out=torch.empty(q.shape).half())
        pages = torch.zeros(2, 1, dtype=torch.int32)
        with self.assertRaisesRegex(hocket.Unsupported, "keys in pages have no backward"):
            hocket.flash_attn_with_kvcache(q, k, v, block_table=pages)
        gradient = torch.autograd.grad((flash_attn_func(q, k, v) ** 2).sum(), q, create_graph=True)[0]
        with self.assertRaisesRegex(RuntimeError, "once_differentiable"):
            gradient.sum().backward()


if __name__ == "__main__":
    unittest.main()
