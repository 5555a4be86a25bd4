"""A trace on arrays of numpy's: for every place at once what a kernel computes there."""
import math

from . import _tensors
from ._trace import Constant, Read


def _divide(numpy, a, b):
    """Rounds towards zero."""
    return numpy.sign(a) * numpy.sign(b) * (abs(a.astype(numpy.int64)) // abs(numpy.int64(b)))


def _to_integer(numpy, a):
    """Rounds towards zero and stays within 32 bits; NaN gives 0."""
    return numpy.clip(numpy.nan_to_num(numpy.trunc(a.astype(numpy.float64)), nan=0.0), -(2.0**31), 2.0**31 - 1)


def _operations(numpy):
    """By the names of operations; results are made of the kind that the trace says."""
    erf = numpy.vectorize(math.erf, otypes=[float])
    table = {
        "arith.addf": numpy.add, "arith.subf": numpy.subtract, "arith.mulf": numpy.multiply, "arith.divf": numpy.divide,
        "arith.negf": numpy.negative, "arith.maximumf": numpy.maximum, "arith.minimumf": numpy.minimum,
        "arith.maxnumf": numpy.fmax, "arith.minnumf": numpy.fmin, "arith.addi": numpy.add, "arith.subi": numpy.subtract,
        "arith.muli": numpy.multiply, "arith.maxsi": numpy.maximum, "arith.minsi": numpy.minimum,
        "arith.andi": numpy.bitwise_and, "arith.ori": numpy.bitwise_or, "arith.xori": numpy.bitwise_xor,
        "arith.shli": numpy.left_shift, "arith.shrsi": numpy.right_shift, "arith.select": numpy.where,
        "arith.divsi": lambda a, b: _divide(numpy, a, b), "arith.remsi": lambda a, b: a - b * _divide(numpy, a, b),
        "arith.fptosi": lambda a: _to_integer(numpy, a), "math.absf": numpy.abs, "math.copysign": numpy.copysign,
        "math.fma": lambda a, b, c: a.astype(numpy.float64) * b + c, "math.powf": numpy.power,
        "math.rsqrt": lambda a: 1 / numpy.sqrt(a), "math.erf": erf, "math.roundeven": numpy.rint,
    }
    for name in ("sitofp", "uitofp", "extui", "extf", "truncf"):
        table[f"arith.{name}"] = lambda a: a
    for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "tanh", "sin", "cos", "floor", "ceil", "trunc"):
        table[f"math.{name}"] = getattr(numpy, name)
    for name, function in (("eq", numpy.equal), ("ne", numpy.not_equal), ("lt", numpy.less), ("le", numpy.less_equal),
                           ("gt", numpy.greater), ("ge", numpy.greater_equal)):
        table[f"arith.cmpi {name if name in ('eq', 'ne') else 's' + name}"] = function
        table[f"arith.cmpf {'une' if name == 'ne' else 'o' + name}"] = function
    return table


def _array(numpy, tensor):
    if not _tensors.is_torch(tensor):
        return tensor
    tensor = tensor.detach().cpu()
    return tensor.float().numpy() if "bfloat16" in str(tensor.dtype) else tensor.numpy()


def _element(numpy, array, places):
    places = numpy.broadcast_arrays(*places)
    inside = numpy.ones(places[0].shape, bool)
    for place, extent in zip(places, array.shape):
        inside &= (place >= 0) & (place < extent)
    found = array[tuple(numpy.where(inside, place, 0) for place in places)]
    return numpy.where(inside, found, numpy.zeros((), array.dtype))


def evaluate(traced, result, own):
    """`result` of the trace `traced`, where `own` are arrays by the names of its arguments."""
    import numpy

    types = {"f32": numpy.float32, "i32": numpy.int32, "i1": numpy.bool_, "f16": numpy.float16, "bf16": numpy.float32}
    operations = _operations(numpy)
    known = {f"%{name}": numpy.asarray(array) for name, array in own.items()}
    known.update((f"%{name}", numpy.asarray(traced.sizes[of], numpy.int32)) for name, of in traced.numbers.items())
    arrays = {f"captured_{number}": _array(numpy, tensor) for number, tensor in enumerate(traced.captured)}
    with numpy.errstate(all="ignore"):
        for line in traced.lines:
            if isinstance(line, Constant):
                found = numpy.asarray(line.number)
            elif isinstance(line, Read):
                found = _element(numpy, arrays[line.tensor], [known[name] for name in line.places])
            else:
                found = operations[line.opcode](*(known[name] for name in line.operands))
            known[line.name] = numpy.asarray(found).astype(types[line.kind])
    return known[result.name]
