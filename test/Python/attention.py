"""The functions of attention: every argument, every refusal, and where results are written."""
import mmap
import random
import unittest

import numpy
from reference import TOLERANCE, attention, check_lse, gradients, largest_error, random_tensor, swap, widen

import hocket
from hocket import InvalidInput, Unsupported, flash_attn_backward, flash_attn_func, scaled_dot_product_attention


def tensors(seq_q=40, seq_kv=70, heads=4, kv_heads=2, dim=64, dim_v=None, dtype="f16", seed=0, batch=2):
    generator = numpy.random.default_rng(seed)
    shapes = ((batch, seq_q, heads, dim), (batch, seq_kv, kv_heads, dim), (batch, seq_kv, kv_heads, dim_v or dim))
    return [random_tensor(generator, shape, dtype) for shape in shapes]


def wanted(q, k, v, **options):
    o, lse = attention(swap(q), swap(k), swap(v), **options)
    return swap(o), lse


class Case(unittest.TestCase):
    def assert_right(self, found, expected, dtype="f16"):
        self.assertLess(largest_error(found, expected), TOLERANCE[dtype])


class FlashAttention(Case):
    def test_plain(self):
        q, k, v = tensors()
        out = flash_attn_func(q, k, v)
        self.assertEqual((type(out), out.dtype, out.shape), (numpy.ndarray, numpy.float16, q.shape))
        self.assert_right(out, wanted(q, k, v)[0])

    def test_causal_ends_at_the_bottom_right(self):
        for lengths in ((40, 70), (70, 40)):
            q, k, v = tensors(*lengths)
            out, lse = flash_attn_func(q, k, v, causal=True, return_lse=True)
            expected, expected_lse = wanted(q, k, v, causal=True)
            self.assert_right(out, expected)
            self.assertEqual((lse.dtype, lse.shape), (numpy.float32, (2, 4, lengths[0])))
            check_lse(lse, expected_lse)

    def test_results_have_memory_of_their_own(self):
        q, k, v = (numpy.ones((1, 40, 2, 64), numpy.float16) for _ in range(3))
        with self.assertRaisesRegex(InvalidInput, "argument 'out' shares memory with 'k', and is written while"):
            flash_attn_func(q, k, v, out=k)
        both = numpy.zeros((1, 80, 2, 64), numpy.float16)
        with self.assertRaisesRegex(InvalidInput, "argument 'out' shares memory with 'q'"):
            flash_attn_func(both[:, :40], k, v, out=both[:, 20:60])
        together = numpy.ones((1, 40, 4, 2, 64), numpy.float16)
        parts = [together[:, :, i] for i in range(4)]
        self.assertIs(flash_attn_func(*parts[:3], out=parts[3]), parts[3])
        expected = flash_attn_func(q, k, v)
        self.assertTrue((flash_attn_func(q, k, v, out=q) == expected).all())
        out, lse = flash_attn_func(q, k, v, return_lse=True)
        with self.assertRaisesRegex(InvalidInput, "argument 'dk' shares memory with 'q'"):
            flash_attn_backward(out, q, k, v, out, lse, dk=q)

    def test_windows_wider_than_integers_are_no_limit(self):
        q, k, v = tensors()
        self.assertTrue((flash_attn_func(q, k, v, window_size=(2**70, 0)) == flash_attn_func(q, k, v, causal=True)).all())

    def test_positional_arguments_of_flash_attn(self):
        q, k, v = tensors()
        self.assert_right(flash_attn_func(q, k, v, 0.0, 0.3, True), wanted(q, k, v, causal=True, scale=0.3)[0])

    def test_bf16_as_bits(self):
        q, k, v = tensors(dtype="bf16")
        out = flash_attn_func(q, k, v, dtype="bf16")
        self.assertEqual(out.dtype, numpy.uint16)
        self.assert_right(out, wanted(q, k, v)[0], "bf16")

    def test_head_dim_of_v(self):
        q, k, v = tensors(dim=96, dim_v=64)
        out = flash_attn_func(q, k, v)
        self.assertEqual(out.shape, (2, 40, 4, 64))
        self.assert_right(out, wanted(q, k, v)[0])

    def test_scale_splits_and_chips(self):
        q, k, v = tensors(seq_kv=300, dim=128)
        for options in ({"softmax_scale": 0.5}, {"softmax_scale": 0.0}, {"softmax_scale": -0.1}):
            self.assert_right(flash_attn_func(q, k, v, **options), wanted(q, k, v, scale=options["softmax_scale"])[0])
        for options in ({"num_splits": 3}, {"num_splits": 1}, {"arch": "gfx942"},
                        {"deterministic": True}):
            with self.subTest(**options):
                self.assert_right(flash_attn_func(q, k, v, **options), wanted(q, k, v)[0])

    def test_out_and_lse_are_written_in_place(self):
        q, k, v = tensors()
        out, lse = numpy.zeros_like(q), numpy.zeros((2, 4, 40), numpy.float32)
        given = flash_attn_func(q, k, v, out=out, lse=lse)
        self.assertIs(given, out)
        expected, expected_lse = wanted(q, k, v)
        self.assert_right(out, expected)
        check_lse(lse, expected_lse)
        both = flash_attn_func(q, k, v, out=out, lse=lse, return_lse=True)
        self.assertTrue(both[0] is out and both[1] is lse)


class Backward(Case):
    """Gradients for whoever has no autograd."""

    def setUp(self):
        self.q, self.k, self.v = tensors(dtype="bf16")
        self.out, self.lse = flash_attn_func(self.q, self.k, self.v, causal=True, dtype="bf16", return_lse=True)
        self.dout = random_tensor(numpy.random.default_rng(7), self.out.shape, "bf16")

    def test_gradients(self):
        """Forward and backward together, of our own O and LSE, against the exact gradient."""
        found = flash_attn_backward(self.dout, self.q, self.k, self.v, self.out, self.lse, causal=True, dtype="bf16")
        expected = gradients(*(swap(t) for t in (self.dout, self.q, self.k, self.v)), causal=True)
        for gradient, tensor, wanted in zip(found, (self.q, self.k, self.v), expected):
            self.assertEqual((gradient.dtype, gradient.shape), (tensor.dtype, tensor.shape))
            error = widen(gradient) - swap(wanted)
            self.assertLess(numpy.sqrt((error**2).sum() / (wanted**2).sum()), 4e-3)
        into = [numpy.zeros((*t.shape[:3], 72), numpy.uint16)[..., :64] for t in (self.q, self.k, self.v)]
        made = flash_attn_backward(self.dout, self.q, self.k, self.v, self.out, self.lse, *into, causal=True, dtype="bf16")
        for tensor, given, wanted in zip(made, into, found):
            self.assertIs(tensor, given)
            self.assertTrue((given == wanted).all())

    def test_gradients_in_one_loop(self):
        expected = gradients(*(swap(t) for t in (self.dout, self.q, self.k, self.v)), causal=True)
        two_loops = flash_attn_backward(self.dout, self.q, self.k, self.v, self.out, self.lse, causal=True, dtype="bf16")
        for accumulate in ("f32", "packed"):
            found = flash_attn_backward(self.dout, self.q, self.k, self.v, self.out, self.lse, causal=True, dtype="bf16",
                                        accumulate=accumulate)
            for gradient, wanted in zip(found, expected):
                error = widen(gradient) - swap(wanted)
                self.assertLess(numpy.sqrt((error**2).sum() / (wanted**2).sum()), 6e-3)
            for gradient, same in zip(found[1:], two_loops[1:]):
                self.assertTrue((gradient == same).all())

    def test_gradient_of_the_sink(self):
        sink = numpy.linspace(-2, 3, 4).astype(numpy.float32)
        out, lse = flash_attn_func(self.q, self.k, self.v, causal=True, dtype="bf16", return_lse=True, sink=sink)
        into = numpy.zeros(4, numpy.float32)
        found = flash_attn_backward(self.dout, self.q, self.k, self.v, out, lse, causal=True, dtype="bf16", sink=sink,
                                    dsink=into)
        self.assertEqual(len(found), 3)
        weights = numpy.exp(sink[:, None] - lse.astype(numpy.float64))
        delta = (widen(out) * widen(self.dout)).sum(3).swapaxes(1, 2)
        wanted = -(weights * delta).sum((0, 2))
        self.assertLess(numpy.abs(into - wanted).max(), 1e-4 * numpy.abs(weights * delta).sum((0, 2)).max())

    def test_refusals(self):
        def call(dout=self.dout, out=self.out, lse=self.lse, **options):
            return flash_attn_backward(dout, self.q, self.k, self.v, out, lse, dtype="bf16", **options)

        with self.assertRaisesRegex(InvalidInput, r"argument 'dout' has the shape \(1, 40, 4, 64\), wanted \(2, 40"):
            call(dout=self.dout[:1])
        with self.assertRaisesRegex(InvalidInput, r"argument 'softmax_lse' has the shape \(2, 4, 39\)"):
            call(lse=self.lse[:, :, 1:])
        with self.assertRaisesRegex(InvalidInput, "argument 'softmax_lse' is a 'NoneType', wanted a tensor"):
            call(lse=None)
        with self.assertRaisesRegex(InvalidInput, "argument 'out' is a 'NoneType', wanted a tensor"):
            call(out=None)
        with self.assertRaisesRegex(InvalidInput, "argument 'softmax_lse' has elements of f16, wanted f32"):
            call(lse=self.lse.astype(numpy.float16))
        with self.assertRaisesRegex(InvalidInput, "argument 'dk' has the shape"):
            call(dk=numpy.empty_like(self.q))
        with self.assertRaisesRegex(InvalidInput, "argument 'rng_state' is missing"):
            call(dropout_p=0.1)
        with self.assertRaisesRegex(InvalidInput, "'deterministic' is asked for, and 'accumulate' f32"):
            call(accumulate="f32", deterministic=True)
        with self.assertRaisesRegex(InvalidInput, "argument 'accumulate' is 'f64', wanted None, 'none', 'f32' or 'packed'"):
            call(accumulate="f64")
        with self.assertRaisesRegex(InvalidInput, "argument 'accumulate' is a 'int', wanted a name such as 'f32'"):
            call(accumulate=1)
        with self.assertRaisesRegex(InvalidInput, "argument 'dsink' is given, but no sink"):
            call(dsink=numpy.zeros(4, numpy.float32))
        with self.assertRaisesRegex(InvalidInput, r"argument 'dsink' has the shape \(3,\), wanted \(4,\)"):
            call(sink=numpy.zeros(4, numpy.float32), dsink=numpy.zeros(3, numpy.float32))
        read_only = numpy.zeros_like(self.q)
        read_only.flags.writeable = False
        with self.assertRaisesRegex(InvalidInput, "argument 'dq' is read-only"):
            call(dq=read_only)


class Strides(Case):
    """Tensors are read and written where they are, whatever their strides."""

    def test_packed_projections(self):
        generator = numpy.random.default_rng(1)
        packed = random_tensor(generator, (2, 50, 3, 4, 64), "f16")  # q, k, v lie between each other's rows
        q, k, v = packed[:, :, 0], packed[:, :, 1], packed[:, :, 2]
        self.assert_right(flash_attn_func(q, k, v, causal=True), wanted(q, k, v, causal=True)[0])

    def test_the_same_tensor_three_times(self):
        q, _, _ = tensors()
        self.assert_right(flash_attn_func(q, q, q), wanted(q, q, q)[0])

    def test_broadcast_keys(self):
        q, k, v = tensors(batch=3)
        k = numpy.broadcast_to(k[:1], k.shape)  # stride 0, read-only
        self.assert_right(flash_attn_func(q, k, v), wanted(q, k, v)[0])

    def test_output_in_another_order(self):
        q, k, v = tensors()
        around = numpy.full((2, 4, 44, 64), 7, numpy.float16)
        out = swap(around[:, :, 2:42])
        flash_attn_func(q, k, v, out=out)
        self.assert_right(out, wanted(q, k, v)[0])
        self.assertTrue((around[:, :, :2] == 7).all() and (around[:, :, 42:] == 7).all(), "written beyond out")

    def test_no_copies(self):
        # A copy of the whole would take 64 GiB: batches far apart in memory that nobody has touched.
        noreserve = 0x4000
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | noreserve
        far = numpy.frombuffer(mmap.mmap(-1, 1 << 36, flags), numpy.float16)
        q = numpy.lib.stride_tricks.as_strided(far, (2, 4, 1, 64), ((1 << 36) - 1024, 128, 0, 2))
        q[:] = 1
        _, k, v = tensors(heads=1, kv_heads=1)
        self.assert_right(flash_attn_func(q, k, v), wanted(q, k, v)[0])


class ScaledDotProduct(Case):
    def test_dimensions(self):
        generator = numpy.random.default_rng(2)
        for leading in ((2, 3), (3,), ()):
            q = random_tensor(generator, (*leading, 30, 64), "f16")
            k, v = (random_tensor(generator, (*leading, 30, 64), "f16") for _ in range(2))
            full = [t.reshape((1,) * (4 - t.ndim) + t.shape) for t in (q, k, v)]
            for causal in (False, True):
                out, lse = scaled_dot_product_attention(q, k, v, is_causal=causal, return_lse=True)
                expected, expected_lse = attention(*full, causal=causal)
                self.assertEqual((out.shape, lse.shape), (q.shape, q.shape[:-1]))
                self.assert_right(out, expected.reshape(out.shape))
                check_lse(lse, expected_lse.reshape(lse.shape))
            into, lse = numpy.empty_like(q), numpy.empty(q.shape[:-1], numpy.float32)
            both = scaled_dot_product_attention(q, k, v, out=into, lse=lse, return_lse=True)
            self.assertTrue(both[0] is into and both[1] is lse)
            self.assert_right(into, attention(*full)[0].reshape(out.shape))

    def test_options(self):
        q, k, v = (swap(t) for t in tensors(dim=128))
        expected = attention(q, k, v, scale=0.25)[0]
        for options in ({}, {"num_splits": 2}, {"arch": "gfx942"}):
            out = scaled_dot_product_attention(q, k, v, None, 0.0, False, 0.25, True, **options)
            self.assert_right(out, expected)
        q, k, v = (swap(t) for t in tensors(dtype="bf16", heads=2))
        self.assert_right(scaled_dot_product_attention(q, k, v, dtype="bf16"), attention(q, k, v)[0], "bf16")


def philox(counter, key):
    """Philox 4x32, 7 rounds, on arrays."""
    low = numpy.uint64(0xFFFFFFFF)
    counter, key = [numpy.uint64(word) for word in counter], [numpy.uint64(word) for word in key]
    for _ in range(7):
        a, b = counter[0] * numpy.uint64(0xD2511F53), counter[2] * numpy.uint64(0xCD9E8D57)
        shift = numpy.uint64(32)
        counter = [(b >> shift) ^ counter[1] ^ key[0], b & low, (a >> shift) ^ counter[3] ^ key[1], a & low]
        key = [(key[0] + numpy.uint64(0x9E3779B9)) & low, (key[1] + numpy.uint64(0xBB67AE85)) & low]
    return numpy.stack(numpy.broadcast_arrays(*counter))


def dropout_bytes(shape, seed, offset):
    """[batch, heads, seq_q, seq_kv], as docs/Modifications.md defines them."""
    b, h, i, j = numpy.ogrid[tuple(slice(extent) for extent in shape)]
    place = (offset + 64 * (b * shape[1] + h) + 32 * (i // 8 % 2) + j % 32).astype(numpy.uint64)
    low = numpy.uint64(0xFFFFFFFF)
    words = philox((place & low, place >> numpy.uint64(32), i // 32 + 0 * j, j // 32 + 0 * i), (seed & int(low), seed >> 32))
    byte = 8 * (i // 16 % 2) + i % 8
    word = numpy.take_along_axis(words, (byte // 4 + 0 * place.astype(int))[None], 0)[0]
    return (word >> (8 * (byte % 4)).astype(numpy.uint64)) & numpy.uint64(255)


class Dropout(Case):
    def test_is_what_the_definition_says(self):
        q, k, v = tensors()
        seed, offset, p = 0x123456789AB, 77, 0.3
        out, lse = flash_attn_func(q, k, v, p, rng_state=(seed, offset), return_lse=True)
        plain, plain_lse = flash_attn_func(q, k, v, return_lse=True)
        numpy.testing.assert_array_equal(lse, plain_lse)
        heads = [t.astype(numpy.float64).swapaxes(1, 2) for t in (q, k, v)]
        group = heads[0].shape[1] // heads[1].shape[1]
        key, value = (t.repeat(group, 1) for t in heads[1:])
        scores = heads[0] @ key.swapaxes(2, 3) / q.shape[3] ** 0.5
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        kept = dropout_bytes(weights.shape, seed, offset) <= int((1 - p) * 255)
        self.assert_right(out, (weights * kept / (1 - p) @ value).swapaxes(1, 2))
        again = scaled_dot_product_attention(*(swap(t) for t in (q, k, v)), None, p, enable_gqa=True,
                                             rng_state=(seed, offset))
        numpy.testing.assert_array_equal(swap(again), out)

    def test_seeds_come_from_the_generator(self):
        q, k, v = tensors()
        random.seed(5)
        first, second = (flash_attn_func(q, k, v, 0.5) for _ in range(2))
        self.assertTrue((first != second).any())
        random.seed(5)
        numpy.testing.assert_array_equal(flash_attn_func(q, k, v, 0.5), first)


class Sink(Case):
    def test_is_in_the_denominator(self):
        q, k, v = tensors()
        plain, lse = flash_attn_func(q, k, v, return_lse=True)
        sink = numpy.linspace(-2, 3, q.shape[2]).astype(numpy.float32)
        out, with_sink = flash_attn_func(q, k, v, sink=sink, return_lse=True)
        expected = numpy.logaddexp(lse, sink[None, :, None])
        numpy.testing.assert_allclose(with_sink, expected, atol=1e-4)
        share = numpy.exp(lse - expected).swapaxes(1, 2)[..., None]
        self.assert_right(out, plain.astype(numpy.float64) * share)


class Refusals(Case):
    """Each is an exception that names the argument, and the way out where there is one."""

    def refused(self, kind, message, call, *arguments, **options):
        with self.assertRaises(kind) as caught:
            call(*arguments, **options)
        self.assertIn(message, str(caught.exception))
        self.assertIsInstance(caught.exception, hocket.Error)

    def test_what_no_kernel_does(self):
        q, k, v = tensors()
        self.refused(Unsupported, "argument 'return_attn_probs'", flash_attn_func, q, k, v, return_attn_probs=True)
        for wrong in (1.0, -0.1, float("nan")):
            self.refused(InvalidInput, "argument 'dropout_p'", flash_attn_func, q, k, v, dropout_p=wrong)
        for wrong in (5, (1,), (1, 2, 3), "ab", (2**63, 0)):
            self.refused(InvalidInput, "argument 'rng_state'", flash_attn_func, q, k, v, 0.1, rng_state=wrong)
        self.refused(InvalidInput, "argument 'sink' has the shape (3,), wanted (4,)", flash_attn_func, q, k, v,
                     sink=numpy.zeros(3, numpy.float32))
        self.refused(InvalidInput, "argument 'sink' has elements of int64", flash_attn_func, q, k, v,
                     sink=numpy.zeros(4, int))
        self.refused(InvalidInput, "say enable_gqa=True", scaled_dot_product_attention, swap(q), swap(k), swap(v))
        self.refused(Unsupported, "head-dim is 1024", flash_attn_func, *tensors(dim=1020))

    def test_what_is_no_tensor(self):
        q, k, v = tensors()
        self.refused(InvalidInput, "argument 'k' is a 'list', wanted a tensor", flash_attn_func, q, [1], v)
        self.refused(InvalidInput, "argument 'q' is a 'NoneType'", flash_attn_func, None, k, v)
        self.refused(InvalidInput, "argument 'query' is a 'list'", scaled_dot_product_attention, [1], k, v)
        self.refused(InvalidInput, "argument 'v' has elements of format 'Zd'", flash_attn_func, q, k, v.astype(complex))

    def test_shapes(self):
        q, k, v = tensors()
        for name, message, change in (
            ("q", "has 3 dimensions, wanted 4: [batch, seq, heads, head_dim]", lambda t: t[0]),
            ("q", "has the shape (2, 40, 0, 64), wanted a head, and an element of it, at least", lambda t: t[:, :, :0]),
            ("k", "has a batch of 1, 'q' of 2", lambda t: t[:1]),
            ("v", "has 60 keys, 'k' has 70", lambda t: t[:, :60]),
            ("v", "has 1 heads, 'k' has 2", lambda t: t[:, :, :1]),
            ("k", "has heads of 32 elements, 'q' of 64", lambda t: t[..., :32]),
        ):
            given = {"q": q, "k": k, "v": v}
            given[name] = change(given[name])
            self.refused(InvalidInput, f"argument '{name}' {message}", flash_attn_func, **given)
        self.refused(InvalidInput, "argument 'k' has 2 heads, wanted a divisor of the 3 of 'q'", flash_attn_func,
                     q[:, :, :3], k, v)
        out = numpy.zeros((2, 40, 4, 128), q.dtype)
        for message, wrong in (("has a stride of 2 between elements of its last dimension", out[..., ::2]),
                               ("has a stride of -512 elements in dimension 1", out[:, ::-1, :, :64]),
                               ("begins 2 bytes behind a multiple of 16", out[..., 1:65])):
            self.refused(InvalidInput, f"argument 'out' {message}", flash_attn_func, q, k, v, out=wrong)
        self.refused(InvalidInput, "argument 'query' has 1 dimensions, wanted 2 at least", scaled_dot_product_attention,
                     q[0, 0, 0], k, v)

    def test_types(self):
        q, k, v = tensors()
        self.refused(InvalidInput, "argument 'q' has elements of f64, wanted bf16, f16, f32, i8 or a float of 8 bits", flash_attn_func,
                     *(t.astype(numpy.float64) for t in (q, k, v)))
        bits = [t.view(numpy.uint16) for t in (q, k, v)]
        self.refused(InvalidInput, "for the bits of bf16 say dtype='bf16'", flash_attn_func, *bits)
        self.refused(InvalidInput, "argument 'k' has elements of u16, 'q' of f16", flash_attn_func, q, bits[1], v)
        self.refused(InvalidInput, "argument 'q' has elements of f16, 'dtype' says bf16", flash_attn_func, q, k, v,
                     dtype="bf16")
        self.refused(InvalidInput, "argument 'dtype' is 'half', known are bf16, f16", flash_attn_func, q, k, v,
                     dtype="half")
        self.refused(InvalidInput, "argument 'q' has elements of format '>e'", flash_attn_func,
                     q.astype(">f2"), k, v)

    def test_outputs(self):
        q, k, v = tensors()
        self.refused(InvalidInput, "argument 'out' has the shape (2, 40, 4, 32), wanted (2, 40, 4, 64)",
                     flash_attn_func, q, k, v, out=numpy.empty((2, 40, 4, 32), numpy.float16))
        self.refused(InvalidInput, "argument 'out' has elements of f32, 'q' of f16", flash_attn_func, q, k, v,
                     out=numpy.empty(q.shape, numpy.float32))
        fixed = numpy.empty_like(q)
        fixed.flags.writeable = False
        self.refused(InvalidInput, "argument 'out' is read-only", flash_attn_func, q, k, v, out=fixed)
        self.refused(InvalidInput, "argument 'lse' has the shape (2, 40, 4), wanted (2, 4, 40)", flash_attn_func,
                     q, k, v, lse=numpy.empty((2, 40, 4), numpy.float32))
        self.refused(InvalidInput, "argument 'lse' is not contiguous", flash_attn_func, q, k, v,
                     lse=numpy.empty((4, 2, 40), numpy.float32).swapaxes(0, 1))
        self.refused(InvalidInput, "argument 'lse' has elements of f64", flash_attn_func, q, k, v,
                     lse=numpy.empty((2, 4, 40)))
        overlapping = numpy.broadcast_to(fixed[:1], fixed.shape)
        self.refused(InvalidInput, "argument 'out' is read-only", flash_attn_func, q, k, v, out=overlapping)
        twice = numpy.lib.stride_tricks.as_strided(numpy.empty_like(q), q.shape, (0, 512, 128, 2))
        self.refused(InvalidInput, "overlap", flash_attn_func, q, k, v, out=twice)

    def test_numbers(self):
        q, k, v = tensors()
        self.refused(InvalidInput, "argument 'softmax_scale' is nan", flash_attn_func, q, k, v,
                     softmax_scale=float("nan"))
        self.refused(InvalidInput, "argument 'scale' is inf", scaled_dot_product_attention, q, q, q,
                     scale=float("inf"))
        for name, value, message in (
            ("num_splits", -1, "is -1, wanted an integer from 0 to 1024"), ("num_splits", 1.5, "is 1.5, wanted an integer"),
            ("arch", "gfx90a", "is 'gfx90a', known are gfx950, gfx942"), ("arch", 3, "is a 'int', wanted the name of a chip"),
            ("dtype", 3, "is a 'int', wanted a name such as 'bf16'"), ("stream", "x", "is 'x', wanted an integer"),
            ("softcap", "x", "is 'x', wanted a number"), ("softmax_scale", "1", "is '1', wanted a number"),
            ("dropout_p", None, "is None, wanted a number"), ("window_size", (1.5, 0), "is (1.5, 0), wanted two integers"),
        ):
            self.refused(InvalidInput, f"argument '{name}' {message}", flash_attn_func, q, k, v, **{name: value})


class Exceptions(unittest.TestCase):
    def test_kinds_are_what_python_has_for_them(self):
        for kind, builtin in ((InvalidInput, ValueError), (Unsupported, NotImplementedError),
                              (hocket.NotFound, LookupError), (hocket.HostError, OSError)):
            self.assertTrue(issubclass(kind, builtin) and issubclass(kind, hocket.Error))


if __name__ == "__main__":
    unittest.main()
