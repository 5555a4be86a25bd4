"""torch's special functions in modifications, against torch in float64; a sample of them goes through kernels."""
import math
import unittest

import numpy
import torch

import hocket
from hocket import _evaluate, flex

SIZES = {"batch": 1, "heads": 1, "seq_kv": 64, "seq_q": 64}
FAR = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 3.0, -3.0, -7.0, 30.0, -80.0, 1e-30, 1e10, -1e10, math.inf, -math.inf, math.nan])


def numbers(low, high):
    return torch.cat([FAR, torch.linspace(low, high, 4001), torch.linspace(low, high, 4001) * 1e-3])


def evaluated(function, x, y):
    """`function(x, y)` of f32 numbers, as a kernel computes it: x is the score, y one that is read beside it."""
    table = torch.zeros(1)
    traced, result = flex.record(lambda s, b, h, q, k: function(s, table[q]), "score_mod", False, SIZES)
    reads = [line for line in traced.lines if hasattr(line, "tensor")]
    traced.lines = [line for line in traced.lines if line not in reads]
    own = {"score": x.numpy(), **{line.name[1:]: y.numpy() for line in reads}}
    own |= {name: numpy.int32(0) for name in ("batch", "head", "query", "key")}
    return torch.from_numpy(numpy.broadcast_to(_evaluate.evaluate(traced, result, own), x.shape).copy())


class Special(unittest.TestCase):
    def check(self, name, low, high, relative=2e-6, absolute=2e-6, function=None, second=None, where=None, reference=None):
        function = function or getattr(torch.special, name, None) or getattr(torch, name)
        x = numbers(low, high)
        y = x.flip(0) if second is None else second(x)
        takes = (lambda a, b: function(a)) if second is None else function
        wanted = takes(x.double(), y.double()) if reference is None else reference(x.double())
        found = evaluated(takes, x, y).double()
        # Beyond what f32 has.
        wanted = torch.where(wanted.abs() > 3.4e38, wanted * math.inf, wanted)
        close = (found == wanted) | (found.isnan() & wanted.isnan()) | ((found - wanted).abs() <= absolute + relative * wanted.abs())
        close |= torch.zeros(x.shape, dtype=torch.bool) if where is None else ~where(x)
        bad = (~close).nonzero().reshape(-1)[:5]
        self.assertEqual(len(bad), 0, f"{name}({x[bad].tolist()}): found {found[bad].tolist()}, torch {wanted[bad].tolist()}")

    def test_error_functions(self):
        # As exact relatively, down to where f32 has few bits.
        self.check("erfc", -6, 9, absolute=1e-37)
        self.check("erfcx", -9, 50)
        self.check("erfinv", -1, 1, absolute=0)
        self.check("ndtri", 0, 1, 4e-6)
        self.check("ndtr", -12, 9, 2e-5, absolute=1e-36, reference=lambda x: torch.special.erfc(-x * math.sqrt(0.5)) / 2)
        self.check("log_ndtr", -40, 9, absolute=1e-7)
        tiny = torch.logspace(-37, -1, 500)
        found, wanted = evaluated(lambda p, _: torch.special.ndtri(p), tiny, tiny), torch.special.ndtri(tiny.double())
        self.assertLess(float(((found - wanted) / wanted).abs().max()), 4e-6)

    def test_gamma_functions(self):
        # Beside poles on the left the position of a number of f32 decides; there the distance to them is what is left of it.
        near_pole = lambda x: (x > 0) | ((x - x.round()).abs() > 1e-2) | (x == x.round())  # noqa: E731
        self.check("gammaln", -20, 60, 4e-6, 4e-6, where=near_pole)
        self.check("lgamma", 0, 5, 3e-6, 1e-6, function=torch.lgamma)
        self.check("digamma", 0.01, 60, 3e-6, 2e-6)
        self.check("psi", -20, 9, 2e-5, 2e-5, where=near_pole)
        self.check("multigammaln", 2, 30, 4e-6, 4e-6, function=lambda x: torch.special.multigammaln(x, 3), where=lambda x: x > 1.01)

    def test_bessel_functions(self):
        for name in ("i0", "i1"):
            self.check(name, -80, 80, 4e-6)
        for name in ("i0e", "i1e"):
            self.check(name, -80, 80, 4e-6, 1e-7)
        if hasattr(torch.special, "spherical_bessel_j0"):
            self.check("spherical_bessel_j0", -50, 50, absolute=1e-6, where=lambda x: x.abs() < 1e6)

    def test_of_two(self):
        self.check("xlog1py", -0.9, 9, 3e-6, second=lambda x: x.flip(0).abs())
        for second in (lambda x: x.flip(0), lambda x: x, lambda x: x * 0, lambda x: -x, lambda x: x + 1):
            x = torch.cat([numbers(-3, 3), torch.tensor([2.0**-149, 3 * 2.0**-149, -(2.0**-126), 2.0**-125, 3.4028234663852886e38])])
            y = second(x)
            found, wanted = evaluated(torch.nextafter, x, y), torch.nextafter(x, y)
            self.assertTrue(bool(((found == wanted) | (found.isnan() & wanted.isnan())).all()))

    def test_in_kernels(self):
        torch.manual_seed(1)
        q, k, v = (torch.randn(1, 1, 32, 32).half() for _ in range(3))
        scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(32)
        for function in (torch.lgamma, torch.digamma, torch.special.i0e, torch.special.i1e, torch.special.log_ndtr,
                         lambda s: torch.special.erfcx(abs(s)), lambda s: torch.erfinv(torch.tanh(s)),
                         lambda s: torch.special.ndtri(torch.sigmoid(s)), lambda s: torch.nextafter(s, s + 1)):
            with self.subTest(function=function):
                positive = lambda s: function(abs(s) + 0.25)  # noqa: E731,B023
                found = hocket.flex_attention(q, k, v, lambda s, b, h, i, j: positive(s))  # noqa: B023
                wanted = torch.softmax(positive(scores), -1) @ v.double()
                self.assertLess(float((found.double() - wanted).abs().max()), 4e-3)

    def test_refused(self):
        for function in (lambda s: torch.special.polygamma(1, s), lambda s: torch.special.gammainc(s, s),
                         lambda s: torch.softmax(s, 0)):
            with self.assertRaisesRegex(hocket.Unsupported, "cannot be part of a modification: it (is a sum|takes more)"):
                flex.record(lambda s, b, h, q, k: function(s), "score_mod", False, SIZES)  # noqa: B023


if __name__ == "__main__":
    unittest.main()
