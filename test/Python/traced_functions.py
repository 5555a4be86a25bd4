"""What can be written in a modification, against torch on tensors of the same types: every operator and function, over signs,
zeros, infinities and types. The trace is evaluated as kernels compute it; a sample goes through kernels too."""
import itertools
import math
import sys
import unittest

import numpy
import torch

import hocket
from hocket import _evaluate, flex
from hocket._errors import Error

SIZES = {"batch": 8, "heads": 8, "seq_kv": 31, "seq_q": 31}
REALS = torch.tensor([0.0, -0.0, 0.3, -0.3, 0.5, 1.0, -1.0, 1.5, -1.5, 2.0, -2.5, 3.0, -7.0, 9.25, 20.0, -31.5, 100.0, -90.0,
                      1e-3, -1e-6, 1e5, -1e5, 1e9, math.inf, -math.inf, math.nan])
INTEGERS = torch.tensor([0, 1, 2, 3, 5, 7, 8, 13, 30])
SIGNED = INTEGERS - 6

#: Units in the last place of f32 that results may differ by, and what that is for small ones.
ULPS, SMALL = 48, 2e-6


def evaluated(function, score, query, key):
    """`function` of a score, a query and a key, as a kernel computes it, for all elements."""
    wanted = lambda s, b, h, q, k: function(s, q, k)  # noqa: E731
    traced, result = flex.record(wanted, "score_mod", False, SIZES)
    own = {"score": score.numpy(), "query": query.numpy().astype(numpy.int32), "key": key.numpy().astype(numpy.int32),
           "batch": numpy.int32(0), "head": numpy.int32(0)}
    return torch.from_numpy(numpy.broadcast_to(_evaluate.evaluate(traced, result, own), score.shape).copy())


def grid():
    """Every pair of real numbers, and of integers beside each."""
    score, other = (t.reshape(-1) for t in torch.meshgrid(REALS, REALS, indexing="ij"))
    query = INTEGERS[torch.arange(score.numel()) % len(INTEGERS)]
    key = INTEGERS[torch.arange(score.numel()) // 3 % len(INTEGERS)]
    return score, other, query, key


#: One argument. `s` is a real number, `q` an integer from 0, `q - 6` one of either sign, `q > 3` a truth value.
OPERANDS = {"real": lambda s, q, k: s, "count": lambda s, q, k: q, "signed": lambda s, q, k: q - 6, "truth": lambda s, q, k: q > 3}
SECOND = {"real": lambda s, q, k: s * 0.7 + k - 9, "count": lambda s, q, k: k, "signed": lambda s, q, k: 5 - k,
          "truth": lambda s, q, k: k > 4, "2.5": lambda s, q, k: 2.5, "-3": lambda s, q, k: -3, "3": lambda s, q, k: 3,
          "0.5": lambda s, q, k: 0.5, "-1.5": lambda s, q, k: -1.5, "2": lambda s, q, k: 2, "True": lambda s, q, k: True}
UNARY = ("abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor frac isfinite isinf isnan log log10 "
         "log1p log2 logical_not nan_to_num neg positive reciprocal relu round rsqrt sigmoid sign signbit sin sinh sqrt square "
         "tan tanh trunc deg2rad rad2deg bitwise_not sinc logit isposinf isneginf selu celu").split()
BINARY = ("add sub mul div floor_divide remainder fmod pow minimum maximum fmin fmax eq ne lt le gt ge logical_and logical_or "
          "logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift atan2 copysign hypot logaddexp "
          "logaddexp2 xlogy").split()
OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "**": lambda a, b: a ** b, "&": lambda a, b: a & b,
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}
#: What torch computes in other ways than it says, or leaves open: division by 0, quotients beyond what f32
#: counts, and shifts beyond a width.
DEFINED = {
    "//": lambda a, b: (b != 0) & ((a / b).abs() < 2**22),
    "<<": lambda a, b: (b >= 0) & (b < 24), ">>": lambda a, b: (b >= 0) & (b < 31),
}
DEFINED.update({"%": DEFINED["//"], "floor_divide": DEFINED["//"], "remainder": DEFINED["//"], "fmod": DEFINED["//"],
                "bitwise_left_shift": DEFINED["<<"], "bitwise_right_shift": DEFINED[">>"]})


def torch_result(function, score, query, key):
    """What torch gives on tensors, as f32; None where it refuses."""
    try:
        result = function(score, query, key)
    except (RuntimeError, TypeError):
        return None
    return torch.as_tensor(result).expand(score.shape)


class Differential(unittest.TestCase):
    compared = 0

    def assert_same(self, what, found, wanted, where):
        wanted = wanted.to(torch.float32)
        found, wanted, = found[where], wanted[where]
        close = (found == wanted) | (found.isnan() & wanted.isnan())
        error = (found.double() - wanted.double()).abs()
        close |= error <= wanted.double().abs() * ULPS * 2.0**-24 + SMALL * (wanted.abs() < 1)
        # Beyond where f32's last place is a whole period, sines are refused, or have no value (docs/Values.md).
        bad = (~close).nonzero().reshape(-1)
        self.assertEqual(len(bad), 0, f"{what}: found {found[bad[:6]].tolist()}, torch {wanted[bad[:6]].tolist()}")
        type(self).compared += 1

    def compare(self, what, name, function, where=None):
        """`function(s, q, k)` here and in torch, where both take it; what torch refuses may be refused or not."""
        score, _, query, key = grid()
        wanted = torch_result(function, score, query, key)
        if wanted is None:
            return
        try:
            found = evaluated(function, score, query, key)
        except Error as error:
            self.refused.append(f"{what}: {str(error)[:90]}")
            return
        place = torch.ones(score.shape, dtype=torch.bool) if where is None else where(score, query, key).expand(score.shape)
        if name in ("sin", "cos", "tan"):
            place = place & (score.abs() < 1e6)
        self.assert_same(what, found, wanted, place)

    def setUp(self):
        self.refused = []

    def result(self, value):
        """A score of any value."""
        return value * 1.0 if getattr(value, "dtype", None) != torch.bool else value * 1.0

    def check_binary(self, name, function):
        defined = DEFINED.get(name)
        for (first, a), (second, b) in itertools.product(OPERANDS.items(), SECOND.items()):
            for swapped in (False, True):
                if swapped and second in OPERANDS:
                    continue
                x, y = (b, a) if swapped else (a, b)
                where = None
                if defined:
                    where = lambda s, q, k: defined(torch.as_tensor(x(s, q, k)), torch.as_tensor(y(s, q, k)))  # noqa: E731,B023
                self.compare(f"{first} {name} {second}{' swapped' * swapped}", name,
                             lambda s, q, k: self.result(function(x(s, q, k), y(s, q, k))), where)  # noqa: B023

    def test_operators(self):
        for name, function in OPERATORS.items():
            with self.subTest(operator=name):
                self.check_binary(name, function)
        # What is left out: shifts and powers by what may be negative.
        for line in self.refused:
            self.assertRegex(line, r"<<|>>|\*\*|no 32 bits")

    def test_functions_of_two(self):
        for name in BINARY:
            if hasattr(torch, name):
                with self.subTest(function=name):
                    self.check_binary(name, lambda a, b: getattr(torch, name)(a, b))  # noqa: B023
        for line in self.refused:
            self.assertRegex(line, "shift|pow|no 32 bits")

    def test_functions_of_one(self):
        for name, (kind, operand) in itertools.product(UNARY, OPERANDS.items()):
            with self.subTest(function=name, operand=kind):
                of_torch = lambda s, q, k: self.result(getattr(torch, name)(operand(s, q, k)))  # noqa: E731,B023
                self.compare(f"torch.{name} of {kind}", name, of_torch)
                if hasattr(torch.Tensor, name):
                    as_method = lambda s, q, k: self.result(getattr(operand(s, q, k), name)())  # noqa: E731,B023
                    self.compare(f"method {name} of {kind}", name, as_method)
        self.assertEqual(self.refused, [])

    def test_other_functions(self):
        other = torch.nn.functional
        for number, function in enumerate((
            lambda s, q, k: torch.where(q > k, s, 1.5), lambda s, q, k: torch.where(s > 0, q, k) * 1.0,
            lambda s, q, k: s.clamp(-1, 2), lambda s, q, k: s.clamp(min=0.5), lambda s, q, k: torch.clamp(q, max=4) * 1.0,
            lambda s, q, k: torch.clamp(q, 0.5, 4.5), lambda s, q, k: torch.div(s, 3, rounding_mode="floor"),
            lambda s, q, k: torch.div(q - 6, 4, rounding_mode="trunc") * 1.0, lambda s, q, k: torch.add(s, q, alpha=2),
            lambda s, q, k: torch.rsub(s, 3), lambda s, q, k: 3 - s, lambda s, q, k: 1 / (s + 0.01),
            lambda s, q, k: 2 ** q * 1.0, lambda s, q, k: 2.0 ** -q, lambda s, q, k: (q - 3) ** 3 * 1.0,
            lambda s, q, k: s ** 2, lambda s, q, k: s ** -2.0, lambda s, q, k: s ** q, lambda s, q, k: 0 ** q * 1.0,
            lambda s, q, k: s.to(torch.int32) * 1.0 * (s.abs() < 1e6), lambda s, q, k: q.float() / 7, lambda s, q, k: q.bool() * s,
            lambda s, q, k: (q > 2).int() - (k > 3).int() + s, lambda s, q, k: s.type_as(s) + q.to(s.dtype),
            lambda s, q, k: other.relu(s), lambda s, q, k: other.gelu(s.clamp(-1e6, 1e6)), lambda s, q, k: other.silu(s.clamp(-80, 80)),
            lambda s, q, k: other.softplus(s), lambda s, q, k: s // 3.0, lambda s, q, k: other.leaky_relu(s), lambda s, q, k: other.elu(s),
            lambda s, q, k: other.mish(s.clamp(-80, 80)), lambda s, q, k: other.hardtanh(s), lambda s, q, k: other.hardsigmoid(s),
            lambda s, q, k: other.hardswish(s.clamp(-9, 9)), lambda s, q, k: other.hardshrink(s), lambda s, q, k: torch.where(s == s, other.softshrink(s), 0.0),
            lambda s, q, k: other.threshold(s, 0.4, 20.0), lambda s, q, k: other.relu6(s), lambda s, q, k: other.softsign(s),
            lambda s, q, k: other.tanhshrink(s.clamp(-9, 9)), lambda s, q, k: torch.special.ndtr(s),
            lambda s, q, k: torch.special.expit(s), lambda s, q, k: torch.special.entr(s.abs()),
            lambda s, q, k: torch.heaviside(s, s * 0 + 0.5), lambda s, q, k: torch.ldexp(s, q),
            lambda s, q, k: other.logsigmoid(s), lambda s, q, k: s.masked_fill(q > k, float("-inf")),
            lambda s, q, k: torch.lerp(s, s * 2, 0.25), lambda s, q, k: (q > k) + (q < k) + 0.0,
            lambda s, q, k: ((q > k) * (q > 3)) * 1.0, lambda s, q, k: (~(q > k)).float(), lambda s, q, k: (q << 2) + (q >> 1) * 1.0,
            lambda s, q, k: (1 << q) * 1.0, lambda s, q, k: s.square() + s.abs().sqrt(), lambda s, q, k: (q // (k + 1)) * 1.0,
            lambda s, q, k: ((q - 6) % (k + 1)) * 1.0, lambda s, q, k: ((q - 6) // (-1 - k)) * 1.0,
            lambda s, q, k: torch.ones_like(s) + torch.zeros_like(q) + s, lambda s, q, k: s * torch.tensor(0.5),
            lambda s, q, k: torch.tensor(3) * q - s, lambda s, q, k: s.bfloat16().float(), lambda s, q, k: s.half().float(),
            lambda s, q, k: s + 1e39, lambda s, q, k: s * -1e39, lambda s, q, k: divmod(s, 3)[1] * (s.abs() < 1e6),
            lambda s, q, k: torch.stack([s, s * 2, q - k]).sum(0), lambda s, q, k: torch.stack((q, k, s))[1] * 1.0,
            lambda s, q, k: torch.stack([s, q, k]).amax(0), lambda s, q, k: torch.stack([s, q + 1]).amin(dim=0) + 0.0,
            lambda s, q, k: torch.stack([q > 3, k > 3, s > 0]).all(0) * 1.0, lambda s, q, k: torch.stack([q > 3, k > 3]).any(0) * s,
            lambda s, q, k: torch.stack([s, s + 1]).mean(0), lambda s, q, k: torch.sum(torch.stack([q, k]), 0) * 1.0,
            lambda s, q, k: torch.stack([s, q, k]).unbind(0)[-1], lambda s, q, k: torch.stack([s, k])[0:1].prod(0),
            lambda s, q, k: round(s) + abs(q - 6), lambda s, q, k: torch.maximum(q, k) * 1.0 + torch.minimum(s, s * 2),
        )):
            with self.subTest(number=number):
                if number in (60, 61):  # conversions to narrow types are exact here alone in kernels
                    continue
                self.compare(f"function {number}", "", function)
        self.assertEqual(self.refused, [])

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.compared} functions agree with torch")


class Places(unittest.TestCase):
    """Reads of captured tensors, however they are captured."""

    def check(self, function):
        q, k = torch.meshgrid(torch.arange(5), torch.arange(7), indexing="ij")
        h = torch.arange(35).reshape(5, 7) % 4
        of = lambda s, b, h, q, k: function(h, q, k)  # noqa: E731
        traced, result = flex.record(of, "score_mod", False, {"batch": 1, "heads": 4, "seq_kv": 7, "seq_q": 5})
        own = {"score": numpy.float32(0), "batch": numpy.int32(0)}
        own |= {name: t.numpy().astype(numpy.int32) for name, t in (("head", h), ("query", q), ("key", k))}
        found = numpy.broadcast_to(_evaluate.evaluate(traced, result, own), (5, 7))
        wanted = [float(function(*map(int, place))) for place in zip(h.reshape(-1), q.reshape(-1), k.reshape(-1))]
        numpy.testing.assert_allclose(found.reshape(-1), wanted, rtol=1e-5)
        return traced

    def test_indices(self):
        for bias in (torch.randn(4, 5, 7), torch.randn(4, 5, 7).numpy()):
            for function in (
                lambda h, q, k: bias[h, q, k], lambda h, q, k: bias[h][q][k], lambda h, q, k: bias[h, -1, k],
                lambda h, q, k: bias[h, q, k - 7], lambda h, q, k: bias[h, (q - k) % 5 - 5, k],
                lambda h, q, k: bias[-1, q, k], lambda h, q, k: bias[h - 4, q, k], lambda h, q, k: bias[:, 2][h, k],
                lambda h, q, k: bias[:, q, 0][h], lambda h, q, k: bias[..., k][h, 1], lambda h, q, k: bias[h, None, q, k][0],
                lambda h, q, k: bias[h, 1:][q % 4, k], lambda h, q, k: bias[1, :, 3][q], lambda h, q, k: bias.T[k, q, h],
                lambda h, q, k: bias[0, 0, 0] + bias[h, 0, 0],
            ):
                self.check(function)

    def test_captures(self):
        import collections

        Pair = collections.namedtuple("Pair", "first second")
        table = torch.randn(4)
        for values in (table, table.numpy()):
            class Model:
                def __init__(self):
                    self.bias, self.nested = values, {"slopes": [values * 2]}  # noqa: B023

                def score(self, h, q, k):
                    return self.bias[h] + self.nested["slopes"][0][h]

            model, pair, named = Model(), Pair(values, 3), {"a": values}
            self.check(model.score)
            self.check(lambda h, q, k: model.bias[h] * model.nested["slopes"][0][h])
            self.check(lambda h, q, k: pair.first[h] + pair.second)
            self.check(lambda h, q, k: named["a"][h])
            self.check(lambda h, q, k, values=values: values[h])

            def keyword(h, q, k, *, own=values):
                return own[h] * 2

            self.check(keyword)

    def test_stacked_by_places(self):
        self.check(lambda h, q, k: torch.stack([torch.as_tensor(q * 1.0), torch.as_tensor(k * 2.0), torch.as_tensor(h + 0.5)])[h % 3]
                   if not hasattr(h, "trace") else torch.stack([q * 1.0, k * 2.0, h + 0.5])[h % 3])

    def test_rows_of_a_table(self):
        row, column = torch.randn(9, 3), torch.randn(9, 1)
        for a, b in ((row, column), (row.numpy(), column.numpy())):
            for function in (
                lambda h, q, k: (a[q] - a[k]).sum(), lambda h, q, k: ((a[q] - a[k]) ** 2).sum(-1),
                lambda h, q, k: (a[q] * b[h] + 2.0).mean(), lambda h, q, k: (1 - a[q] / 3).prod(),
                lambda h, q, k: (a[q] > b[k]).all() * 1.0, lambda h, q, k: (-a[q] @ a[k]), lambda h, q, k: (h * a[q])[1],
                lambda h, q, k: a[q, 1:].sum() - a[k].sum(),
            ):
                self.check(function)
        for function in (lambda h, q, k: (row[q] - row[k]).pow(2).sum(-1).sqrt(), lambda h, q, k: torch.dot(row[q], row[k]),
                         lambda h, q, k: torch.tanh(row[q] * column[k]).amax(), lambda h, q, k: row[q].abs().float().mean(dim=0),
                         lambda h, q, k: torch.where(row[q] > row[k], row[q], column[h]).sum()):
            self.check(function)

    def test_errors_are_at_the_users_line(self):
        table, wide = torch.randn(4), torch.randn(9, 65)

        def raises(s, b, h, q, k):
            return {}["missing"] + s

        for function, message in (
            (raises, r"traced_functions.py:\d+ raises KeyError"),
            (lambda s, b, h, q, k: s + table, "tensor of shape"),
            (lambda s, b, h, q, k: torch.cumsum(s, 0), "'cumsum' cannot be part"),
            (lambda s, b, h, q, k: s + table[s], "indices are integers"),
            (lambda s, b, h, q, k: {0: 1}[h] + s, "not a number of Python's"),
            (lambda s, b, h, q, k: s.add_(1), "use 'add'"),
            (lambda s, b, h, q, k: math.exp(s), "not a number of Python's"),
            (lambda s, b, h, q, k: s.nothing(), "'nothing' cannot be part"),
            (lambda s, b, h, q, k: torch.stack([s, s], 1).sum(), "'stack' is given dim=1"),
            (lambda s, b, h, q, k: torch.stack([s, s]).view(1, 2)[0], "'view' of stacked values cannot be part"),
            (lambda s, b, h, q, k: s + wide[q].sum(), r"as a whole, of shape \(65,\); read an element"),
            (lambda s, b, h, q, k: s + (wide[q, :2] * wide[k, :3]).sum(), "stacked values of 2 and 3"),
            (lambda s, b, h, q, k: s + wide[q, :2], r"tensor of shape \(2,\) cannot be"),
            (lambda s, b, h, q, k: s + q * (1 << 27) * k, "has no 32 bits"),
        ):
            with self.assertRaisesRegex(Error, message):
                flex.record(function, "score_mod", False, SIZES)

    def test_masks_of_masks(self):
        causal, near = (lambda b, h, q, k: q >= k), (lambda b, h, q, k: abs(q - k) < 3)

        def both(b, h, q, k):  # as torch's and_masks does it
            result = b.new_ones((), dtype=torch.bool)
            for mask in (causal, near):
                result = result & mask(b, h, q, k)
            return result

        def either(b, h, q, k):
            result = b.new_zeros((), dtype=torch.bool)
            for mask in (causal, near):
                result = result | mask(b, h, q, k)
            return result

        for mask, of in ((both, lambda q, k: (q >= k) & (abs(q - k) < 3)), (either, lambda q, k: (q >= k) | (abs(q - k) < 3))):
            traced, result = flex.record(mask, "mask_mod", True, SIZES)
            q, k = numpy.mgrid[:9, :9].astype(numpy.int32)
            found = _evaluate.evaluate(traced, result, {"query": q, "key": k, "batch": q * 0, "head": q * 0})
            self.assertTrue((found == of(q, k)).all())


if __name__ == "__main__":
    unittest.main()
