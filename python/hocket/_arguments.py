"""Numbers and names that callers give."""
import operator
import sys
from collections.abc import Iterable, Mapping

from . import _hocket
from ._errors import InvalidInput, Unsupported

#: How what numbers have no gradient for is asked for otherwise.
_INSTEAD = {"softmax_scale": "multiply the queries by it", "scale": "multiply the queries by it",
            "softcap": "use flex_attention with a score_mod that captures it"}


def refuse_gradient(number, name):
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(number, torch.Tensor) and number.requires_grad and torch.is_grad_enabled():
        raise Unsupported(f"argument '{name}' requires a gradient, which numbers have none of; "
                          f"{_INSTEAD.get(name, 'give a number')}, or pass {name}.detach()")


def real(value, name):
    """`value` of argument `name` as a float."""
    refuse_gradient(value, name)
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"argument '{name}' is {value!r}, wanted a number") from None


def names_of(function):
    """The names of a function's arguments; of what it wraps, where it does so."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = function.__code__
    return list(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])


def integer(value, name, least=-(2**63), most=2**63 - 1):
    """`value` of argument `name` as an integer."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInput(f"argument '{name}' is {value!r}, wanted an integer") from None
    if not least <= number <= most:
        wanted = f"from {least} to {most}" if most < 2**63 - 1 else f"from {least} on"
        raise InvalidInput(f"argument '{name}' is {value!r}, wanted an integer {wanted}")
    return number


def text(value, name, what):
    """`value` of argument `name`, which is `what`."""
    if not isinstance(value, str):
        raise InvalidInput(f"argument '{name}' is a '{type(value).__name__}', wanted {what}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"argument '{name}' has half a character at {error.start}, wanted {what} in UTF-8") from None
    return value


def integers(values, name):
    """`values` of argument `name` as a list of integers."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInput(f"argument '{name}' is {values!r}, wanted a list of integers")
    return [integer(value, name) for value in values]


def mapping(value, name):
    """`value` of argument `name`, which has values by their names."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"argument '{name}' is a '{type(value).__name__}', wanted a dict")
    for key in value:
        text(key, f"{name}: {key!r}", "a name")
    return value


def architecture(value, name="arch"):
    """`value` of argument `name`, which is the name of a chip."""
    if text(value, name, "the name of a chip") not in _hocket.architectures:
        raise InvalidInput(f"argument '{name}' is {value!r}, known are {', '.join(_hocket.architectures)}")
    return value
