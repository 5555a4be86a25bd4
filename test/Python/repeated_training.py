"""Calls with gradients and with functions that are like earlier ones: the same results to the bit as without a memory, little
work beside C++, and nothing kept where a key does not cover what a function computes."""
import sys
import unittest

import torch
import torch.utils.checkpoint

import hocket
from hocket import _again

H, HK, S, D = 4, 2, 40, 64


def qkv(heads_first=False, grad=True):
    return [torch.randn((2, heads, S, D) if heads_first else (2, S, heads, D)).half().requires_grad_(grad) for heads in (H, HK, HK)]


class Spied:
    """Counts the forwards and the backwards that are taken for repeated ones."""

    def __enter__(self):
        self.forwards = self.backwards = 0
        self._own = _again._Ready.__call__, _again.ReadyBackward.run

        def forward(*arguments):
            self.forwards += 1
            return self._own[0](*arguments)

        def backward(*arguments):
            self.backwards += 1
            return self._own[1](*arguments)

        _again._Ready.__call__, _again.ReadyBackward.run = forward, backward
        return self

    def __exit__(self, *_):
        _again._Ready.__call__, _again.ReadyBackward.run = self._own


def results(function, leaves, weigh_lse):
    made = function(*leaves)
    out, *lse = made if isinstance(made, tuple) else (made,)
    loss = (out.float() * torch.linspace(-1, 1, out.numel()).view(out.shape)).sum()
    loss = (0 if weigh_lse == "alone" else loss) + 1.5 * lse[0].sum() if weigh_lse else loss
    needed = [leaf for leaf in leaves if leaf.requires_grad]
    return [out.detach(), *(t.detach() for t in lse), *torch.autograd.grad(loss, needed)]


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def check(self, call, make, hits=(2, 1), weigh_lse=False):
        """`call(function, *leaves)` of `make(number)`, three times, where `function` is the package's, or one without a memory."""
        alone = lambda name: getattr(hocket, name).__wrapped__  # noqa: E731
        with Spied() as spied:
            for number in range(3):
                leaves = make(number)
                found = results(lambda *own: call(lambda name: getattr(hocket, name), *own), leaves, weigh_lse)
                wanted = results(lambda *own: call(alone, *own), leaves, weigh_lse)
                for a, b in zip(found, wanted):
                    self.assertTrue(torch.equal(a, b), f"call {number}")
        self.assertEqual((spied.forwards, spied.backwards), hits)


class Kept(Case):
    def test_flash_attn(self):
        self.check(lambda of, q, k, v, sink: of("flash_attn_func")(q, k, v, causal=True, sink=sink),
                   lambda number: [*qkv(), torch.randn(H).bfloat16().requires_grad_()])
        starts = torch.tensor([0, 30, 70]).int()
        self.check(lambda of, q, k, v: of("flash_attn_varlen_func")(q, k, v, starts, starts, 40, 40, causal=True),
                   lambda number: [torch.randn(75, heads, D).half().requires_grad_() for heads in (H, HK, HK)])

    def test_gradient_of_lse(self):
        starts = torch.tensor([0, 30, 70]).int()
        for scale, weighs in ((0.1, True), (0.2, "alone")):
            self.check(lambda of, q, k, v: of("flash_attn_func")(q, k, v, 0.0, scale, return_lse=True),  # noqa: B023
                       lambda number: qkv(), weigh_lse=weighs)
        self.check(lambda of, q, k, v, sink: of("flash_attn_varlen_func")(q, k, v, starts, starts, 40, 40, sink=sink, return_lse=True),
                   lambda number: [*(torch.randn(75, heads, D).half().requires_grad_() for heads in (H, HK, HK)),
                                   torch.randn(H).requires_grad_()], weigh_lse=True)
        self.check(lambda of, q, k, v: of("flex_attention")(q, k, v, enable_gqa=True, return_lse=True), lambda number: qkv(True),
                   weigh_lse=True)

    def test_lse_now_and_then(self):
        """Both backwards of one forward are kept, each for itself."""
        for weighs in (True, False, True, False):
            leaves = qkv()
            function = lambda *own: hocket.flash_attn_func(*own, return_lse=True)  # noqa: E731
            alone = lambda *own: hocket.flash_attn_func.__wrapped__(*own, return_lse=True)  # noqa: E731
            for a, b in zip(results(function, leaves, weighs), results(alone, leaves, weighs)):
                self.assertTrue(torch.equal(a, b))

    def check_dropout(self, call, make):
        """Calls like `check`'s, each of which draws its own seed."""
        def seeded(of, *leaves):
            torch.manual_seed(int(leaves[0].detach().float().sum()))
            return call(of, *leaves)

        self.check(seeded, make)

    def test_dropout(self):
        self.check_dropout(lambda of, q, k, v: of("flash_attn_func")(q, k, v, 0.4), lambda number: qkv())
        self.check_dropout(lambda of, q, k, v: of("scaled_dot_product_attention")(q, k, v, None, 0.3, True, enable_gqa=True),
                           lambda number: qkv(True))
        states = iter(range(100))
        state = {}

        def given(of, q, k, v):
            own = state.setdefault(id(q), (next(states), 2**40 + 3))
            return of("flash_attn_func")(q, k, v, dropout_p=0.5, rng_state=own, return_lse=True)

        self.check(given, lambda number: qkv(), weigh_lse=True)

    def test_dropout_draws_as_often(self):
        """The generator is used once a call, by the first call and by kept ones, and where those go the usual way after all."""
        for bias in (torch.zeros(1, 1, S, S), torch.full((1, 1, S, S), -1e9)):
            q, k, v = qkv(True, grad=False)
            made = []
            for _ in range(3):
                torch.manual_seed(5)
                made.append((hocket.scaled_dot_product_attention(q, k, v, bias, 0.5, enable_gqa=True), torch.rand(())))
                for a, b in zip(made[0], made[-1]):
                    self.assertTrue(torch.equal(a, b))

    def test_states_are_checked(self):
        q, k, v = qkv(grad=False)
        for p in (0.0, 0.5):
            for _ in range(2):
                hocket.flash_attn_func(q, k, v, p, rng_state=(1, 2))
            for bad in ((1,), (1, 2**70), "ab"):
                with self.assertRaisesRegex(hocket.InvalidInput, "argument 'rng_state'"):
                    hocket.flash_attn_func(q, k, v, p, rng_state=bad)

    def test_copies(self):
        """Tensors that are misaligned, or whose heads are strided, are copied at each call."""
        def misaligned(t):
            return torch.empty(t.numel() + 3).half()[3:].view(t.shape).copy_(t).requires_grad_()

        def strided(t):
            return t.detach().transpose(1, 3).contiguous().transpose(1, 3).requires_grad_()

        for change in (misaligned, strided):
            self.check(lambda of, q, k, v: of("flash_attn_func")(q, k, v, causal=True),
                       lambda number: [change(t.detach()) for t in qkv()])  # noqa: B023
            self.check(lambda of, q, k, v: of("flash_attn_func")(q, k, v, 0.2, rng_state=(3, 4), return_lse=True),
                       lambda number: [change(qkv()[0].detach()), *qkv()[1:]], weigh_lse=True)  # noqa: B023

    def test_bias(self):
        """Where some rows are far from 0 the usual way is taken."""
        self.check(lambda of, q, k, v, bias: of("scaled_dot_product_attention")(q, k, v, bias, enable_gqa=True),
                   lambda number: [*qkv(True), torch.full((1, 1, S, S), -1e9 if number == 1 else 0.0).requires_grad_()], (2, 0))

    def test_batches_that_broadcast(self):
        """Their gradients are sums, and the usual way is taken."""
        for name in ("flex_attention", "scaled_dot_product_attention"):
            self.check(lambda of, q, k, v: of(name)(q, k[:1], v[:1], enable_gqa=True), lambda number: qkv(True), (0, 0))  # noqa: B023

    def test_functions(self):
        mask = hocket.create_block_mask(lambda b, h, i, j: i >= j, None, None, S, S, BLOCK_SIZE=128)

        def flex(score):
            return lambda of, q, k, v, t: of("flex_attention")(q, k, v, score(t), mask, enable_gqa=True)

        for shape, score in (((H,), lambda t: lambda s, b, h, i, j: s - t[h] * (i - j)),
                             ((), lambda t: lambda s, b, h, i, j: s * t)):
            self.check(flex(score), lambda number: [*qkv(True), torch.rand(shape).requires_grad_()])  # noqa: B023

    def test_masks(self):
        def documents_of(t):
            seen = hocket.flex.and_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: t[b, i] == t[b, j])
            return hocket.create_block_mask(seen, None, None, S, S)

        # int64 is converted at each call.
        self.check(lambda of, q, k, v, t: of("flex_attention")(q, k, v, None, documents_of(t), enable_gqa=True),
                   lambda number: [*qkv(True), torch.randint(0, 3, (2, S)).sort(1)[0]])


class NotKept(Case):
    """What a function computes depends on more than what its key has, or the key differs."""

    factor = 1.0

    def check_flex(self, score, make):
        self.check(lambda of, q, k, v, t: of("flex_attention")(q, k, v, lambda s, b, h, i, j: score(t, s, h), enable_gqa=True),
                   lambda number: [*qkv(True), make(number)], (0, 0))

    def test_contents_of_tensors(self):
        self.check_flex(lambda t, s, h: s * t, lambda number: torch.tensor(0.5 + number))
        self.check_flex(lambda t, s, h: s * t[0], lambda number: torch.rand(3))
        self.check_flex(lambda t, s, h: s * torch.exp(t)[h], lambda number: torch.rand(H))
        self.check_flex(lambda t, s, h: s * 2 if t.sum() > 0 else s, lambda number: torch.tensor([1.0 - number]))

    def test_objects(self):
        def change(number):
            self.factor = 1.0 + number
            return torch.rand(3)

        self.check_flex(lambda t, s, h: s * self.factor, change)

    def test_numbers(self):
        numbers = [0]

        def change(number):
            numbers[0] = (1, 1.0, 2)[number]
            return torch.rand(3)

        self.check_flex(lambda t, s, h: s * (numbers[0] // 2), change)

    def test_changed_before_the_backward(self):
        leaves = qkv()
        for _ in range(2):
            out = hocket.flash_attn_func(*leaves)
        with torch.no_grad():
            leaves[0].mul_(2)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            out.sum().backward()

    def test_copies_in_another_order(self):
        """As hooks give them back that keep tensors elsewhere."""
        leaves = [t.transpose(1, 2).detach().requires_grad_() for t in qkv(True)]
        dout = torch.randn(2, S, H, D).half()
        for pack in (lambda t: t, lambda t: t, lambda t: t.contiguous(), lambda t: t):
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
                out = hocket.flash_attn_func(*leaves)
            found = torch.autograd.grad(out, leaves, dout)
            out = hocket.flash_attn_func.__wrapped__(*leaves)
            for a, b in zip(found, torch.autograd.grad(out, leaves, dout)):
                self.assertTrue(torch.equal(a, b))

    def test_autocast(self):
        q = torch.randn(1, 20, 2, 64)
        for _ in range(2):
            self.assertEqual(hocket.flash_attn_func(q, q, q).dtype, torch.float32)
            with torch.autocast("cpu", torch.bfloat16):
                self.assertEqual(hocket.flash_attn_func(q, q, q).dtype, torch.bfloat16)


class Checkpointed(Case):
    def test_repeated_calls_save_the_same_tensors(self):
        """Checkpointing does a call again, which is then like an earlier one, and takes what that saves in its place."""
        slopes, sink = (torch.rand(H).requires_grad_() for _ in range(2))

        def dense(*leaves):
            return hocket.flash_attn_func(*leaves[:3], causal=True, alibi_slopes=leaves[3], sink=leaves[4])

        for _ in range(3):
            leaves = [*qkv(), slopes, sink]
            weights = torch.randn(2, S, H, D)
            found, wanted = (torch.autograd.grad((out.float() * weights).sum(), leaves) for out in (
                torch.utils.checkpoint.checkpoint(dense, *leaves, use_reentrant=False), dense(*leaves)))
            for one, other in zip(found, wanted):
                self.assertTrue(torch.equal(one, other))


class Work(unittest.TestCase):
    """Calls of Python's and C's functions, which take most of the time beside the module in C++: 5 to 30 us with these. A new
    torch makes ten more than 1.13 in a gradient; without a memory there are several times as many."""

    def count(self, function):
        for _ in range(3):
            function()
        counted = []
        sys.setprofile(lambda frame, event, what: counted.append(event))
        function()
        sys.setprofile(None)
        return counted.count("call"), counted.count("c_call")

    def assert_at_most(self, counts, most):
        self.assertTrue(all(count <= bound for count, bound in zip(counts, most)), f"{counts} calls, at most {most}")

    def check(self, function, forward, backward, *more):
        leaves = [*qkv("flash" not in function.__name__), *more]
        made = []

        def call():
            made[:] = [function(*leaves)]

        self.assert_at_most(self.count(call), forward)
        dout = torch.ones_like(made[0])
        self.assert_at_most(self.count(lambda: torch.autograd.grad(made[0], leaves, dout, retain_graph=True)), backward)

    def test_work(self):
        slopes = torch.rand(H, requires_grad=True)
        mask = hocket.create_block_mask(lambda b, h, i, j: i >= j, None, None, S, S)

        def flex(q, k, v, slopes):
            return hocket.flex_attention(q, k, v, lambda s, b, h, i, j: s - slopes[h] * (i - j), mask, enable_gqa=True)

        def dropping(q, k, v):
            return hocket.flash_attn_func(q, k, v, 0.1)

        self.check(hocket.flash_attn_func, (50, 105), (75, 90))
        self.check(flex, (120, 170), (85, 100), slopes)
        self.check(dropping, (65, 115), (75, 90))


if __name__ == "__main__":
    unittest.main()
