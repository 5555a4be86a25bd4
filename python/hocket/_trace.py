"""What a modification computes, recorded: operations on values that are known when a kernel runs.

A value is a float (f32), an integer (i32) or a truth value (i1); operators promote as torch's do. Integers know the range that
they can be in, as far as positions decide it, so that one that needs more than 32 bits is an error and not another number.
"""
import numbers
import struct

from . import _tensors
from ._errors import InvalidInput, Unsupported

_LOW, _HIGH = -(2**31), 2**31 - 1


class Operation:
    """One line: `opcode` as the text has it, the names of operands, the result's name and kind."""

    def __init__(self, name, opcode, operands, kind, types):
        self.name, self.opcode, self.operands, self.kind, self.types = name, opcode, operands, kind, types

    def text(self):
        separator = ", " if " " in self.opcode else " "
        return f"  {self.name} = {self.opcode}{separator}{', '.join(self.operands)} : {self.types}"


class Constant:
    """A number in the text."""

    def __init__(self, name, number, kind):
        self.name, self.number, self.kind = name, number, kind

    def text(self):
        if self.kind == "i1":
            return f"  {self.name} = arith.constant {'true' if self.number else 'false'}"
        if self.kind == "i32":
            return f"  {self.name} = arith.constant {self.number} : i32"
        return f"  {self.name} = arith.constant 0x{struct.unpack('<I', struct.pack('<f', self.number))[0]:08X} : f32"


class Read:
    """An element of a captured tensor; zero outside of it."""

    def __init__(self, name, tensor, places, element, kind):
        self.name, self.tensor, self.places, self.element, self.kind = name, tensor, places, element, kind

    def text(self):
        shape = "?x" * len(self.places) + self.element
        return f"  {self.name} = attn.read %{self.tensor}[{', '.join(self.places)}] : tensor<{shape}> -> {self.kind}"


class Trace:
    """The lines as they grow, the tensors that are read, and the numbers of the problem that are asked for."""

    def __init__(self, sizes):
        self.sizes, self.lines, self.captured, self.numbers = sizes, [], [], {}
        self.read_as, self._known = [], {}  # what `captured` was made of
        self.is_eager = False  # whether it may depend on what captured tensors hold

    def _add(self, key, make):
        if key not in self._known:
            line = make(f"%v{len(self.lines)}")
            self.lines.append(line)
            self._known[key] = line.name
        return self._known[key]

    def emit(self, opcode, operands, kind, limits=None, types=None):
        """The value of one operation; the same operation on the same values is one line."""
        names = tuple(operand.name for operand in operands)
        types = types or operands[-1].kind
        name = self._add((opcode, names, types), lambda name: Operation(name, opcode, names, kind, types))
        return Value(self, name, kind, limits)

    def constant(self, number, kind):
        if kind == "f32":
            number = rounded(number)
        elif kind == "i32" and not _LOW <= number <= _HIGH:
            raise InvalidInput(f"the number {number} has no 32 bits, which integers here have")
        key = "constant", kind, struct.pack("<f", number) if kind == "f32" else number
        name = self._add(key, lambda name: Constant(name, number, kind))
        return Value(self, name, kind, (number, number) if kind == "i32" else None, number)

    def read(self, tensor, places, element, kind, limits):
        names = tuple(place.name for place in places)
        name = self._add(("read", tensor, names), lambda name: Read(name, tensor, names, element, kind))
        return Value(self, name, kind, limits)

    def extent(self, number):
        """`number`, which is an extent: a variable of the problem where one has that value, so that other lengths need no
        other kernel."""
        for name, size in self.sizes.items():
            if size == number:
                self.numbers[f"extent_{name}"] = name
                return Value(self, f"%extent_{name}", "i32", (number, number))
        return self.constant(number, "i32")


def rounded(number):
    """To f32, beyond which it is infinite."""
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def value_of(trace, operand):
    """`operand` as a value: a traced one, a number of Python's, numpy's or torch's."""
    if isinstance(operand, Value):
        return operand
    if type(operand).__name__ in ("bool", "bool_"):
        return trace.constant(bool(operand), "i1")
    if isinstance(operand, numbers.Integral):
        return trace.constant(int(operand), "i32")
    if isinstance(operand, numbers.Real):
        return trace.constant(float(operand), "f32")
    if getattr(operand, "shape", None) == () and hasattr(operand, "dtype"):
        from . import _captured

        return _captured.number_of(trace, operand)
    if hasattr(operand, "shape") and hasattr(operand, "dtype"):
        raise Unsupported(f"a tensor of shape {tuple(operand.shape)} cannot be an operand of one score's function; read it at "
                          f"places, as in tensor[head]")
    raise Unsupported(f"a '{type(operand).__name__}' cannot be part of a modification; use numbers and traced values")


def converted(value, kind):
    """`value` as one of `kind`, as torch's `to` does it."""
    if value.kind == kind:
        return value
    trace = value.trace
    if value.number is not None and not (kind == "i32" and value.kind == "f32"):
        return trace.constant({"f32": float, "i32": int, "i1": bool}[kind](value.number), kind)
    if kind == "i1":
        return compare("ne", value, 0)
    if kind == "f32":
        op = "sitofp" if value.kind == "i32" else "uitofp"
        return trace.emit(f"arith.{op}", [value], "f32", types=f"{value.kind} to f32")
    if value.kind == "i1":
        return trace.emit("arith.extui", [value], "i32", (0, 1), types="i1 to i32")
    return trace.emit("arith.fptosi", [value], "i32", types="f32 to i32")


def trace_of(*operands):
    for operand in operands:
        if isinstance(operand, Value):
            return operand.trace
    raise InvalidInput("no operand is a traced value: these functions are for modifications")


def promoted(trace, *operands):
    """The operands as values of one kind, and that kind."""
    values = [value_of(trace, operand) for operand in operands]
    kinds = {value.kind for value in values}
    kind = "f32" if "f32" in kinds else "i32" if "i32" in kinds else "i1"
    return [converted(value, kind) for value in values], kind


def fitting(limits, what):
    """`limits` of an integer, after checking that 32 bits hold it."""
    if limits is not None and not (_LOW <= limits[0] and limits[1] <= _HIGH):
        far = limits[1] if limits[1] > _HIGH else limits[0]
        raise InvalidInput(f"{what} of a modification may be {far}, which has no 32 bits, as integers here have; compute it in "
                           f"floating point, or divide first")
    return limits


def compare(relation, left, right):
    trace = trace_of(left, right)
    (a, b), kind = promoted(trace, left, right)
    if kind == "f32":
        return trace.emit(f"arith.cmpf {'une' if relation == 'ne' else 'o' + relation}", [a, b], "i1")
    if kind == "i1":
        a, b = converted(a, "i32"), converted(b, "i32")
    return trace.emit(f"arith.cmpi {relation if relation in ('eq', 'ne') else 's' + relation}", [a, b], "i1")


class Several:
    """What stands for several values, which `stacked` gives; _stacked.py has its operators."""


class Value:
    """What a modification computes with: a number that is known when the kernel runs."""

    __array_priority__ = 1000
    shape, ndim = (), 0

    def __init__(self, trace, name, kind, limits=None, number=None):
        self.trace, self.name, self.kind = trace, name, kind
        self.limits = limits  # of an integer: the least and the greatest that it can be, if that is known
        self.number = number  # of a constant

    @property
    def dtype(self):
        """As the library calls it that is there: torch's, or numpy's name."""
        name = {"f32": "float32", "i32": "int32", "i1": "bool"}[self.kind]
        return getattr(_tensors.torch_if_loaded(), name, name)

    @property
    def device(self):
        return _tensors.torch_if_loaded().device("cpu") if _tensors.torch_if_loaded() else "cpu"

    @property
    def counts(self):
        """Whether it is an integer that is never negative."""
        return self.limits is not None and self.limits[0] >= 0

    def __bool__(self):
        raise Unsupported(
            "whether a traced value holds is not known while the function is traced ('if', 'and', 'or', 'not', min(), max(), "
            "chained comparisons); use where(), '&', '|', '~', minimum() and maximum()"
        )

    def _as_number(self, *_):
        raise Unsupported("a traced value is not a number of Python's yet; indices of tensors must be of captured ones")

    __index__ = __int__ = __float__ = __complex__ = __len__ = __iter__ = __hash__ = item = tolist = _as_number

    def __contains__(self, _):
        self._as_number()

    def __getitem__(self, index):
        if index == () or index is Ellipsis:
            return self
        raise Unsupported("a traced value is one number and has no elements")

    def __setitem__(self, index, value):
        raise Unsupported("a traced value cannot be written to; use where()")

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), options=None):
        from . import _functions

        return _functions.call(getattr(function, "__name__", str(function)), arguments, options or {})

    def __array_ufunc__(self, function, method, *arguments, **options):
        from . import _functions

        return _functions.call(function.__name__, arguments, options if method == "__call__" else {"method": method})

    def __array_function__(self, function, kinds, arguments, options):
        from . import _functions

        return _functions.call(function.__name__, arguments, options)

    def __getattr__(self, name):
        """torch's functions are methods, too."""
        from . import _functions

        if name.startswith("__"):
            raise AttributeError(name)
        function = _functions.method(name)
        return lambda *arguments, **options: function(self, *arguments, **options)
