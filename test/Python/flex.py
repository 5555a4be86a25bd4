"""Scores and masks of one's own, and those that arguments name, against the definition: the same Python on numpy's arrays."""
import functools
import traceback
import unittest

import numpy
from reference import TOLERANCE, check_lse, largest_error, random_tensor, swap, widen

import hocket
from hocket import BlockMask, InvalidInput, Unsupported, create_block_mask, flash_attn_func, flex, flex_attention
from hocket import scaled_dot_product_attention
from hocket.flex import maximum, minimum, where


def attention(q, k, v, score=None, seen=None, scale=None):
    """O and LSE of [batch, heads, seq, head_dim], with functions of scores and of places."""
    q, k, v = widen(q), widen(k), widen(v)
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat(groups, 1), v.repeat(groups, 1)
    scores = q @ k.swapaxes(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    places = numpy.indices(scores.shape)
    if score:
        scores = score(scores, *places)
    if seen:
        scores = numpy.where(seen(*places), scores, -numpy.inf)
    most = scores.max(3, keepdims=True)
    most[most == -numpy.inf] = 0
    weights = numpy.exp(scores - most)
    total = weights.sum(3, keepdims=True)
    with numpy.errstate(divide="ignore"):
        lse = numpy.log(total) + most
    return weights / numpy.where(total == 0, 1, total) @ v, lse[..., 0]


def tensors(seq_q=100, seq_kv=140, heads=4, kv_heads=2, dim=64, dtype="f16", batch=2):
    generator = numpy.random.default_rng(6)
    shapes = ((batch, heads, seq_q, dim), (batch, kv_heads, seq_kv, dim), (batch, kv_heads, seq_kv, dim))
    return [random_tensor(generator, shape, dtype) for shape in shapes]


class Case(unittest.TestCase):
    def check_flex(self, score=None, seen=None, dtype="f16", shape=None, **options):
        q, k, v = tensors(dtype=dtype, **(shape or {}))
        mask = create_block_mask(seen, None, None, q.shape[2], k.shape[2]) if seen else None
        if dtype == "bf16":
            options["dtype"] = dtype
        out, lse = flex_attention(q, k, v, score, mask, enable_gqa=True, return_lse=True, **options)
        options.pop("dtype", None)
        wanted, wanted_lse = attention(q, k, v, score, seen, options.get("scale"))
        self.assertLess(largest_error(out, wanted), TOLERANCE[dtype])
        check_lse(lse, wanted_lse)


class Functions(Case):
    def test_nothing(self):
        self.check_flex()
        self.check_flex(lambda score, b, h, q, k: score)

    def test_masks(self):
        for seen in (
            lambda b, h, q, k: q >= k,
            lambda b, h, q, k: (q >= k) & (q - k <= 30),
            lambda b, h, q, k: (k < 10) | (abs(q - k) < 20) & ~(q % 7 == 3),
            lambda b, h, q, k: (q // 32 == k // 32) | (h == 0),
            lambda b, h, q, k: (q - 50) // 16 <= (k - 60) // 16,  # Python rounds down, also below 0
            lambda b, h, q, k: (q - 50) % 16 <= 3 + 0 * k,
            lambda b, h, q, k: -q + 20 > k * b,
        ):
            self.check_flex(seen=seen)

    def test_scores(self):
        for score in (
            lambda s, b, h, q, k: s * 2 - 1.5,
            lambda s, b, h, q, k: numpy.tanh(s / 20) * 20,
            lambda s, b, h, q, k: s - abs(q - k) * 2.0 ** -(h + 1),
            lambda s, b, h, q, k: numpy.where(k <= q + 40, s, -numpy.inf),
            lambda s, b, h, q, k: s + numpy.minimum(q, k) / 64 - numpy.maximum(q, 3) * 0.01,
            lambda s, b, h, q, k: numpy.exp(-s * s) + s**3 / 8 - numpy.sqrt(abs(s)),
            lambda s, b, h, q, k: s * (q > k) + (k % 5 == 1),
        ):
            self.check_flex(score)
        self.check_flex(lambda s, b, h, q, k: s + q * 0.01, dtype="bf16", scale=0.3, shape={"dim": 128})

    def test_captured_tensors(self):
        generator = numpy.random.default_rng(7)
        documents = numpy.sort(generator.integers(0, 4, (2, 140)), 1)  # int64
        bias = generator.standard_normal((4, 100, 140)).astype(numpy.float16)
        slopes = generator.random(4)  # float64
        hidden = generator.random((140,)) < 0.3
        strength = numpy.float32(0.5)
        for score, seen in (
            (None, lambda b, h, q, k: documents[b, q] == documents[b, k]),
            (lambda s, b, h, q, k: s + bias[h, q, k], None),
            (lambda s, b, h, q, k: s - slopes[h] * abs(q - k) * strength, lambda b, h, q, k: ~hidden[k]),
            (lambda s, b, h, q, k: s + bias[h, q, k] * slopes[h], lambda b, h, q, k: documents[b, q] >= documents[b, k]),
        ):
            self.check_flex(score, seen)

    def test_captured_tensors_read_index_by_index(self):
        bias = numpy.random.default_rng(9).standard_normal((4, 100, 140)).astype(numpy.float32)
        q, k, v = tensors()
        out = flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[h][i][j], enable_gqa=True)
        wanted, _ = attention(q, k, v, lambda s, b, h, i, j: s + bias[h, i, j])
        self.assertLess(largest_error(out, wanted), TOLERANCE["f16"])

    def test_helpers_defaults_and_factories(self):
        def window(size):
            def seen(b, h, q, k, size=size):
                return helper(q, k) <= size

            return seen

        def helper(q, k):
            return abs(q - k)

        self.check_flex(seen=window(25))
        both = hocket.and_masks(window(40), lambda b, h, q, k: q >= k)
        either = hocket.or_masks(both, lambda b, h, q, k: k < 4)
        q, k, v = tensors()
        out = flex_attention(q, k, v, None, create_block_mask(either, 1, 1, 100, 140), enable_gqa=True)
        wanted, _ = attention(q, k, v, None, lambda b, h, q, k: (abs(q - k) <= 40) & (q >= k) | (k < 4))
        self.assertLess(largest_error(out, wanted), TOLERANCE["f16"])

    def test_functions_with_arguments_of_their_own(self):
        q, k, v = tensors()
        slopes = numpy.float32([0.5, 0.25, 0.125, 0.0])

        def near(size, b, h, q, k, *, table):
            return (abs(q - k) <= size) & (table[h] >= 0)

        mask = create_block_mask(functools.partial(near, 40, table=slopes), None, None, 100, 140)
        out = flex_attention(q, k, v, None, mask, enable_gqa=True)
        wanted, _ = attention(q, k, v, None, lambda b, h, q, k: (abs(q - k) <= 40) & (b == b))
        self.assertLess(largest_error(out, wanted), TOLERANCE["f16"])

    def test_own_functions(self):
        q, k, v = tensors()
        out = flex_attention(q, k, v, lambda s, b, h, i, j: where(i > j, minimum(s, 1), maximum(s, -1)), enable_gqa=True)
        wanted, _ = attention(q, k, v, lambda s, b, h, i, j: numpy.where(i > j, numpy.minimum(s, 1), numpy.maximum(s, -1)))
        self.assertLess(largest_error(out, wanted), TOLERANCE["f16"])

    def test_out_and_splits(self):
        q, k, v = tensors()
        out, lse = numpy.zeros_like(q), numpy.zeros((2, 4, 100), numpy.float32)
        score = lambda s, b, h, i, j: s + j * 0.01  # noqa: E731
        self.assertIs(flex_attention(q, k, v, score, enable_gqa=True, out=out, lse=lse, num_splits=2), out)
        wanted, wanted_lse = attention(q, k, v, score)
        self.assertLess(largest_error(out, wanted), TOLERANCE["f16"])
        check_lse(lse, wanted_lse)


class TracedBefore(unittest.TestCase):
    def test_functions(self):
        q, k, v = tensors()
        slopes = numpy.float32([0.5, 0.25, 0.1, 0.0])
        score, seen = (lambda s, b, h, i, j: s - slopes[h] * abs(i - j)), (lambda b, h, i, j: i >= j)
        wanted = flex_attention(q, k, v, score, create_block_mask(seen, None, None, 100, 140), enable_gqa=True)
        traced = flex.traced(score, "score_mod", 2, 4, 100, 140)
        for size in (None, 256):
            mask = create_block_mask(flex.traced(seen, "mask_mod", 2, 4, 100, 140), None, None, 100, 140, BLOCK_SIZE=size)
            out = flex_attention(q, k, v, traced, mask, enable_gqa=True)
            self.assertLess(numpy.abs(out.astype(float) - wanted).max(), 2e-3)
        slopes *= 3  # read where it is
        self.assertFalse(numpy.allclose(flex_attention(q, k, v, traced, mask, enable_gqa=True), wanted, atol=2e-3))

    def test_refusals(self):
        q, k, v = tensors()
        traced = flex.traced(lambda s, b, h, i, j: s, "score_mod", 2, 4, 100, 140)
        with self.assertRaisesRegex(InvalidInput, "argument 'score_mod' was traced for batch 2, the tensors have 1"):
            flex_attention(q[:1], k[:1], v[:1], traced, enable_gqa=True)
        with self.assertRaisesRegex(InvalidInput, "argument 'mask_mod' was traced as a score_mod"):
            flex_attention(q, k, v, None, create_block_mask(traced, None, None, 100, 140), enable_gqa=True)
        with self.assertRaisesRegex(InvalidInput, "argument 'kind' is 'mask', wanted 'score_mod' or 'mask_mod'"):
            flex.traced(lambda b, h, i, j: i >= j, "mask", 1, 1, 1, 1)


class Refusals(unittest.TestCase):
    def refused(self, kind, message, score=None, seen=None, **options):
        q, k, v = tensors()
        try:
            mask = create_block_mask(seen, None, None, 100, 140) if seen else None
            flex_attention(q, k, v, score, mask, enable_gqa=True, **options)
        except kind as error:
            self.assertIn(message, str(error))
            return traceback.extract_tb(error.__traceback__)
        self.fail(f"not refused: {message}")

    def test_what_cannot_be_traced_names_the_users_line(self):
        def branches(score, b, h, q, k):
            if q > k:
                return score
            return score * 2

        frames = self.refused(Unsupported, "use where()", branches)
        self.assertIn("if q > k:", [frame.line for frame in frames])
        for message, score in (
            ("use where()", lambda s, b, h, q, k: min(s, 3)),
            ("use where()", lambda s, b, h, q, k: s if 0 <= q <= k else 0),
            ("not a number of Python's", lambda s, b, h, q, k: s + [1.0, 2.0][h]),
            ("not a number of Python's", lambda s, b, h, q, k: s * float(q)),
            ("'spacing' cannot be part", lambda s, b, h, q, k: numpy.spacing(s)),
            ("a 'str' cannot be part", lambda s, b, h, q, k: s + "x"),
            ("compare it first", lambda s, b, h, q, k: s & 1),
        ):
            self.refused(Unsupported, message, score)
        captured = numpy.zeros((4, 4), numpy.float32)
        self.refused(Unsupported, "captured tensors are read at integers", lambda s, b, h, q, k: s + captured[h, [1, 2]])
        self.refused(InvalidInput, "read at 3 indices", lambda s, b, h, q, k: s + captured[h, q, k])
        wrong = numpy.zeros(4, complex)
        self.refused(InvalidInput, "has elements of complex128", lambda s, b, h, q, k: s + wrong[h])
        large = numpy.full(4, 1 << 40)
        self.refused(InvalidInput, "numbers beyond 32 bits", lambda s, b, h, q, k: s + large[h])

    def test_arguments(self):
        self.refused(InvalidInput, "argument 'score_mod' is a 'int', wanted a function", 3)
        self.refused(InvalidInput, "argument 'score_mod' is a function that returns nothing", lambda *_: None)
        self.refused(InvalidInput, "argument 'score_mod' gives whether something holds, wanted a score",
                     lambda s, b, h, q, k: q > k)
        self.refused(InvalidInput, "argument 'mask_mod' gives a number, wanted whether a key is seen",
                     seen=lambda b, h, q, k: q * 0.5)
        self.refused(InvalidInput, "argument 'mask_mod' is a 'int'", seen=3)
        for name, value in (("B", -1), ("H", 0), ("Q_LEN", 1.5), ("KV_LEN", None)):
            given = dict(B=1, H=1, Q_LEN=100, KV_LEN=140) | {name: value}
            with self.assertRaisesRegex(InvalidInput, f"argument '{name}' is {value}, wanted an integer"):
                create_block_mask(lambda b, h, q, k: q >= k, **given)
        self.refused(Unsupported, "argument 'kernel_options' has 'SCORES'", kernel_options={"BLOCK_M": 64, "SCORES": 1})
        q, k, v = tensors()
        with self.assertRaisesRegex(InvalidInput, "argument 'block_mask' is a 'function', wanted what hocket.create"):
            flex_attention(q, k, v, None, lambda b, h, q, k: q >= k, enable_gqa=True)
        with self.assertRaisesRegex(InvalidInput, "argument 'block_mask' is for seq_kv 99, the tensors have 140"):
            flex_attention(q, k, v, None, create_block_mask(lambda b, h, q, k: q >= k, None, None, 100, 99),
                           enable_gqa=True)
        with self.assertRaisesRegex(InvalidInput, "say enable_gqa=True"):
            flex_attention(q, k, v)


def visible(lists, kinds, size, seen):
    """What lists of blocks leave: everything in full ones, in partial ones what `seen` says."""
    def of(b, h, i, j):
        kind = kinds[b % kinds.shape[0], h % kinds.shape[1], i // size[0], j // size[1]]
        return (kind == 2) | ((kind == 1) & (seen(b, h, i, j) if seen else True))
    return of


class Blocks(Case):
    """Lists of blocks."""

    def check(self, mask, seen, shape=None, score=None):
        q, k, v = tensors(**(shape or {}))
        out, lse = flex_attention(q, k, v, score, mask, enable_gqa=True, return_lse=True)
        wanted, wanted_lse = attention(q, k, v, score, seen)
        self.assertLess(largest_error(out, wanted), TOLERANCE["f16"])
        check_lse(lse, wanted_lse)

    def test_of_a_predicate(self):
        shape = {"seq_q": 300, "seq_kv": 500, "dim": 128}
        documents = numpy.arange(500) // 130
        for seen, batch, heads in (
            (lambda b, h, q, k: q >= k, None, None),
            (lambda b, h, q, k: (documents[q] == documents[k]) & (q >= k), None, None),
            (lambda b, h, q, k: q - 40 * h <= k + 100 * b, 2, 4),
        ):
            mask = create_block_mask(seen, batch, heads, 300, 500, BLOCK_SIZE=128)
            self.assertEqual(tuple(mask.kv_indices.shape), (batch or 1, heads or 1, 3, 4))
            self.check(mask, seen, shape)
        mask = create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 256, 256, BLOCK_SIZE=(128, 64))
        self.assertEqual(mask.sparsity(), 25)  # 4 + 2 of 8 blocks
        self.assertEqual(mask.kv_num_blocks.tolist(), [[[2, 2]]])
        self.assertEqual(mask.full_kv_indices[0, 0, 1, :2].tolist(), [0, 1])
        # What can be traced need not be a function of arrays.
        own = where
        mask = create_block_mask(lambda b, h, q, k: own(q > 20, q >= k, k < 4) & hocket.flex.cos(q * 0.1).lt(2), 1, 1, 300, 500,
                                 BLOCK_SIZE=128)
        self.check(mask, lambda b, h, q, k: numpy.where(q > 20, q >= k, k < 4), shape)

    def test_of_the_caller(self):
        generator = numpy.random.default_rng(3)
        kinds = generator.integers(0, 3, (2, 1, 2, 3))
        kinds[0, 0, 0] = 0  # rows that see nothing
        lists = {}
        for kind, prefix in ((1, ""), (2, "full_")):
            lists[prefix + "kv_num_blocks"] = (kinds == kind).sum(-1).astype(numpy.int32)
            indices = numpy.argsort(kinds != kind, axis=-1, kind="stable").astype(numpy.int32)
            indices[numpy.arange(3) >= lists[prefix + "kv_num_blocks"][..., None]] = 7777777  # undefined
            lists[prefix + "kv_indices"] = indices
        shape = {"seq_q": 200, "seq_kv": 330, "dim": 128}
        for seen in (None, lambda b, h, q, k: q >= k - 50):
            mask = BlockMask.from_kv_blocks(**lists, mask_mod=seen)
            self.check(mask, visible(lists, kinds, (128, 128), seen), shape, lambda s, b, h, q, k: s - 0.01 * abs(q - k))

        class TorchLike:  # torch's has these
            BLOCK_SIZE, mask_mod, seq_lengths = (128, 128), None, (200, 330)

        for name, tensor in lists.items():
            setattr(TorchLike, name, tensor)
        self.check(TorchLike(), visible(lists, kinds, (128, 128), None), shape)
        # torch's empty mask has blocks of 2^30.
        huge = BlockMask.from_kv_blocks(numpy.ones((1, 1, 2), numpy.int32), numpy.zeros((1, 1, 2, 1), numpy.int32),
                                        BLOCK_SIZE=(128, 1 << 30))
        self.check(huge, None, shape)
        huge.BLOCK_SIZE, huge.kv_num_blocks, huge.kv_indices = (1 << 30, 1 << 30), huge.kv_num_blocks[..., :1], huge.kv_indices[..., :1, :]
        self.check(huge, None, shape)
        partial = {name: lists[name] for name in ("kv_num_blocks", "kv_indices")}
        self.check(BlockMask.from_kv_blocks(**partial), visible(partial, kinds * (kinds == 1), (128, 128), None), shape)

    def test_of_any_size(self):
        shape = {"seq_q": 150, "seq_kv": 230}
        causal = lambda b, h, q, k: q >= k - 50  # noqa: E731
        for size in ((50, 112), 32, (64, 96)):
            self.check(create_block_mask(causal, None, None, 150, 230, BLOCK_SIZE=size), causal, shape)
        kinds = numpy.random.default_rng(3).integers(0, 3, (2, 1, 3, 3))
        lists = {}
        for kind, prefix in ((1, ""), (2, "full_")):
            lists[prefix + "kv_num_blocks"] = (kinds == kind).sum(-1).astype(numpy.int32)
            lists[prefix + "kv_indices"] = numpy.argsort(kinds != kind, axis=-1, kind="stable").astype(numpy.int32)
        for seen in (None, causal):
            mask = BlockMask.from_kv_blocks(**lists, BLOCK_SIZE=(60, 100), mask_mod=seen)
            self.check(mask, visible(lists, kinds, (60, 100), seen), shape)
        lists["kv_indices"][0, 0, 0, 0] = 3
        lists["kv_num_blocks"][0, 0, 0] = 1
        with self.assertRaisesRegex(InvalidInput, "'kv_indices' of argument 'block_mask' has block 3, there are 3"):
            self.check(BlockMask.from_kv_blocks(**lists, BLOCK_SIZE=(60, 100)), None, shape)

    def test_refusals(self):
        q, k, v = tensors()
        counts, indices = numpy.ones((1, 1, 1), numpy.int32), numpy.zeros((1, 1, 1, 2), numpy.int32)
        for message, arguments in (
            ("'kv_indices' of argument 'block_mask' has the shape (1, 1, 1, 3), wanted (2, 4, 1, 2)",
             (counts, numpy.zeros((1, 1, 1, 3), numpy.int32))),
            ("'kv_num_blocks' of argument 'block_mask' has elements of int64, wanted int32",
             (counts.astype(numpy.int64), indices)),
        ):
            with self.assertRaises(InvalidInput) as caught:
                flex_attention(q, k, v, None, BlockMask.from_kv_blocks(*arguments), enable_gqa=True)
            self.assertIn(message, str(caught.exception))
        wrong = BlockMask.from_kv_blocks(counts, numpy.int32([[[[7, 0]]]]))
        with self.assertRaisesRegex(InvalidInput, r"argument 'block_mask': kv_indices\[0, 0, 0, 0\] is 7"):
            flex_attention(q, k, v, None, wrong, enable_gqa=True)
        with self.assertRaisesRegex(InvalidInput, "belong together"):
            BlockMask.from_kv_blocks(counts, indices, counts)
        with self.assertRaisesRegex(InvalidInput, "argument 'kv_indices' is no tensor of 4 dimensions"):
            BlockMask.from_kv_blocks(counts, counts)
        for size in (0, -128, 1.5, (128,), (128, 0), True):
            with self.assertRaisesRegex(InvalidInput, "argument 'BLOCK_SIZE' is"):
                create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 100, 140, BLOCK_SIZE=size)
        with self.assertRaisesRegex(Unsupported, "argument 'device' is 'cuda'"):
            create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 100, 140, device="cuda", BLOCK_SIZE=128)
        with self.assertRaisesRegex(Unsupported, "whether a traced value holds is not known"):
            create_block_mask(lambda b, h, q, k: q if q >= k else k, 1, 1, 100, 140, BLOCK_SIZE=128)
        with self.assertRaisesRegex(Unsupported, "give create_block_mask a BLOCK_SIZE"):
            create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 100, 140).sparsity()


class Named(unittest.TestCase):
    """What the arguments of flash-attn and torch say."""

    def check(self, found, q, k, v, score=None, seen=None):
        wanted, wanted_lse = attention(q, k, v, score, seen)
        self.assertLess(largest_error(found[0], wanted), TOLERANCE["f16"])
        check_lse(found[1], wanted_lse)

    def test_window_soft_cap_and_alibi(self):
        q, k, v = tensors()
        shift = 40
        slopes = numpy.float32([0.5, 0.25, 0.125, 0])
        per_batch = numpy.stack([slopes, slopes[::-1]])
        seen = {"causal": lambda b, h, i, j: j <= i + shift,
                "left": lambda b, h, i, j: j >= i + shift - 30,
                "both": lambda b, h, i, j: abs(i + shift - j) <= 8,
                "own": lambda b, h, i, j: j == i + shift}
        alibi = lambda table: lambda s, b, h, i, j: s - table(b, h) * abs(i + shift - j)  # noqa: E731
        for options, score, visible in (
            ({"window_size": (30, -1)}, None, seen["left"]),
            ({"window_size": (30, -7)}, None, seen["left"]),
            ({"window_size": (8, 8)}, None, seen["both"]),
            ({"window_size": [0, 0]}, None, seen["own"]),
            ({"window_size": (30, -1), "causal": True}, None, lambda *p: seen["left"](*p) & seen["causal"](*p)),
            ({"softcap": 1.5}, lambda s, *_: 1.5 * numpy.tanh(s / 1.5), None),
            ({"alibi_slopes": slopes}, alibi(lambda b, h: slopes[h]), None),
            ({"alibi_slopes": per_batch, "causal": True}, alibi(lambda b, h: per_batch[b, h]), seen["causal"]),
            ({"softcap": 2, "alibi_slopes": slopes, "window_size": (50, 3)},
             lambda s, b, h, i, j: 2 * numpy.tanh(s / 2) - slopes[h] * abs(i + shift - j),
             lambda b, h, i, j: (j >= i + shift - 50) & (j <= i + shift + 3)),
        ):
            with self.subTest(**options):
                out, lse = flash_attn_func(swap(q), swap(k), swap(v), return_lse=True, **options)
                self.check((swap(out), lse), q, k, v, score, visible)

    def test_attn_mask(self):
        q, k, v = tensors()
        generator = numpy.random.default_rng(8)
        for shape in ((), (1,), (100, 1), (2, 1, 1, 1), (140,), (100, 140), (4, 1, 140), (2, 4, 100, 140), (2, 1, 1, 140)):
            boolean = generator.random(shape) < 0.7
            boolean = numpy.asarray(boolean)
            for dtype in (numpy.float64, numpy.float32, numpy.float16):
                bias = numpy.asarray(generator.standard_normal(shape)).astype(dtype)
                found = scaled_dot_product_attention(q, k, v, bias, enable_gqa=True, return_lse=True)
                self.check(found, q, k, v, lambda s, *_: s + bias)
            found = scaled_dot_product_attention(q, k, v, boolean, enable_gqa=True, return_lse=True)
            self.check(found, q, k, v, None, lambda *_: boolean)
        found = scaled_dot_product_attention(q, k, v, numpy.asfortranarray(boolean), enable_gqa=True, return_lse=True)
        self.check(found, q, k, v, None, lambda *_: boolean)

    def test_is_causal_begins_at_the_top_left(self):
        for lengths in ((100, 140), (140, 100), (90, 90)):
            q, k, v = tensors(*lengths)
            found = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True, return_lse=True)
            self.check(found, q, k, v, None, lambda b, h, i, j: j <= i)

    def test_refusals(self):
        q, k, v = tensors()
        rows = [swap(t) for t in (q, k, v)]
        for name, value, message in (
            ("window_size", 3, "wanted two integers"),
            ("softcap", -1.0, "wanted a positive number"),
            ("softcap", float("nan"), "wanted a positive number"),
            ("alibi_slopes", numpy.zeros(3, numpy.float32), r"has the shape \(3,\), wanted \(4,\) or \(2, 4\)"),
            ("alibi_slopes", numpy.zeros(4, int), "has elements of int64, wanted float32, float64, float16 or bfloat16"),
        ):
            with self.assertRaisesRegex(InvalidInput, f"argument '{name}' .*{message}"):
                flash_attn_func(*rows, **{name: value})
        for mask, message in (
            (numpy.zeros((99, 1), bool), r"has the shape \(99, 140\), wanted one that broadcasts"),
            (numpy.zeros((1, 1, 1, 1, 140), bool), ".*wanted one that broadcasts"),
            (numpy.zeros((100, 140), int), "has elements of int64, wanted bool, float64, float32"),
        ):
            with self.assertRaisesRegex(InvalidInput, f"argument 'attn_mask' {message}"):
                scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
        with self.assertRaisesRegex(InvalidInput, "argument 'attn_mask' is given with is_causal=True"):
            scaled_dot_product_attention(q, k, v, numpy.zeros((100, 140), bool), is_causal=True, enable_gqa=True)


if __name__ == "__main__":
    unittest.main()
