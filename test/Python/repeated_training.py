"""Calls with gradients and with functions that are like earlier ones: the same results to the bit as without a memory, little
work beside C++, and nothing kept where a key does not cover what a function computes."""
import sys
import unittest

import torch

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
    loss = loss + 1.5 * lse[0].sum() if weigh_lse else loss
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
        """The backward of LSE is not kept, the forward is."""
        self.check(lambda of, q, k, v: of("flash_attn_func")(q, k, v, return_lse=True), lambda number: qkv(), (2, 0), True)

    def test_bias(self):
        """Where some rows are far from 0 the usual way is taken."""
        self.check(lambda of, q, k, v, bias: of("scaled_dot_product_attention")(q, k, v, bias, enable_gqa=True),
                   lambda number: [*qkv(True), torch.full((1, 1, S, S), -1e9 if number == 1 else 0.0).requires_grad_()], (2, 0))

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

    def test_autocast(self):
        q = torch.randn(1, 20, 2, 64)
        for _ in range(2):
            self.assertEqual(hocket.flash_attn_func(q, q, q).dtype, torch.float32)
            with torch.autocast("cpu", torch.bfloat16):
                self.assertEqual(hocket.flash_attn_func(q, q, q).dtype, torch.bfloat16)


class Work(unittest.TestCase):
    """Calls of Python's and C's functions, which take most of the time beside the module in C++: 5 to 30 us with these."""

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

        self.check(hocket.flash_attn_func, (45, 100), (60, 75))
        self.check(flex, (115, 165), (70, 85), slopes)


if __name__ == "__main__":
    unittest.main()
