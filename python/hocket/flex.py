"""Modifications of scores and masks, written in Python: traced to the text that the compiler takes (docs/Modifications.md).

A `score_mod(score, batch, head, query, key)` gives a score, a `mask_mod(batch, head, query, key)` whether the key is seen. They
are called once with values that record what is done with them: operators, comparisons, functions of this module, of torch or of
numpy, and reads of captured tensors at traced places.
"""
import contextlib
import os

from . import _ready, _stacked, _tensors  # noqa: F401
from ._captured import ELEMENTS, element_type, reading, replaced
from ._errors import Error, InvalidInput, Unsupported
from ._functions import (absolute, ceil, cos, erf, exp, exp2, floor, log, log2, maximum, minimum, rsqrt, sin, sqrt,  # noqa: F401
                         tanh, trunc, where)
from ._trace import Trace, Value, converted, value_of

_WORDS = {"batch": "batch", "head": "heads", "query": "seq_q", "key": "seq_kv"}


class Modification:
    """A traced function: its text, and the tensors that it reads, in the order of their numbers."""

    def __init__(self, text, tensors):
        self.text, self.tensors = text, tensors


def _sizes(shape, sizes):
    """Extents as variables of the problem where they are the same, so that other lengths need no other kernel."""
    names = {extent: name for name, extent in sizes.items()}
    return [f'"{names.get(extent, extent) if extent != 1 else 1}"' for extent in shape]


def _user_line(error):
    """Where the user's function is when it raises `error`."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if os.path.dirname(frame.filename) != os.path.dirname(__file__)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else "<unknown>"


def record(function, name, is_mask, sizes):
    """The trace of `function`, the argument `name`, for a problem whose variables are `sizes`, and its result."""
    function = function.function if isinstance(function, Traced) else function
    if not callable(function):
        raise InvalidInput(f"argument '{name}' is a '{type(function).__name__}', wanted a function")
    traced = Trace(sizes)
    arguments = [Value(traced, f"%{word}", "i32", (0, max(sizes[of] - 1, 0))) for word, of in _WORDS.items()]
    if not is_mask:
        arguments.insert(0, Value(traced, "%score", "f32"))
    mode = reading(traced)
    traced.is_eager = mode is None and _tensors.torch_if_loaded() is not None
    try:
        with mode or contextlib.nullcontext():
            result = replaced(function, traced, {})(*arguments)
    except Error:
        raise
    except Exception as error:
        what = f"{_user_line(error)} raises {type(error).__name__}: {error}"
        raise Unsupported(f"argument '{name}' cannot be traced: {what}") from error
    if result is None:
        raise InvalidInput(f"argument '{name}' is a function that returns nothing")
    result = value_of(traced, result)
    if traced.is_eager:
        _ready.spoil()
    if result.kind == "i1" and not is_mask:
        raise InvalidInput(f"argument '{name}' gives whether something holds, wanted a score; use where(), or a mask_mod")
    if result.kind == "f32" and is_mask:
        raise InvalidInput(f"argument '{name}' gives a number, wanted whether a key is seen; compare it")
    return traced, converted(result, "i1" if is_mask else "f32")


class Traced:
    """A function that is traced already, for a batch, heads and lengths: torch.compile(fullgraph=True) takes it where a function
    would be traced while torch records. What it captures has gradients, and is read where it is at each call."""

    def __init__(self, function, kind, sizes):
        if kind not in ("score_mod", "mask_mod"):
            raise InvalidInput(f"argument 'kind' is {kind!r}, wanted 'score_mod' or 'mask_mod'")
        self.function, self.kind, self.sizes = function, kind, dict(sizes)
        self._made = trace(function, kind, kind == "mask_mod", self.sizes, f"{kind[:-3]}")

    def _parts_of_key(self):
        """What is looked at where a call is compared with earlier ones."""
        return self.kind, tuple(self.sizes.items()), self._made.text, self._made.tensors

    def of(self, kind, sizes):
        """The modification, for the argument `kind` of a problem whose variables are `sizes`."""
        if self.kind != kind:
            raise InvalidInput(f"argument '{kind}' was traced as a {self.kind}")
        for name in self.sizes:
            if self.sizes[name] != sizes[name]:
                raise InvalidInput(f"argument '{kind}' was traced for {name} {self.sizes[name]}, the tensors have {sizes[name]}")
        return self._made


def traced(function, kind, B, H, Q_LEN, KV_LEN):
    """`function`, a "score_mod" or a "mask_mod" as `kind` says, traced for a batch, heads, queries and keys."""
    return Traced(function, kind, {"batch": B, "heads": H, "seq_kv": KV_LEN, "seq_q": Q_LEN})


def trace(function, name, is_mask, sizes, prefix=""):
    """`function`, the argument `name`, as a modification for a problem whose variables are `sizes`."""
    if isinstance(function, Traced):
        return function.of(name, sizes)
    traced, result = record(function, name, is_mask, sizes)
    header = [] if is_mask else ["%score: f32"]
    header += [f"%{word}: i32" for word in _WORDS]
    for number, tensor in enumerate(traced.captured):
        element, _ = ELEMENTS[element_type(tensor)]
        extents = ", ".join(_sizes(tensor.shape, sizes))
        header.append(f"%captured_{number}: tensor<{'?x' * len(tensor.shape)}{element}> "
                      f'{{attn.bind = "{prefix}captured_{number}", attn.sizes = [{extents}]}}')
    header += [f'%{own}: i32 {{attn.value = "{of}"}}' for own, of in traced.numbers.items()]
    lines = [f"attn.{'mask' if is_mask else 'score'}_mod @{name}({', '.join(header)}) {{",
             *(line.text() for line in traced.lines), f"  attn.yield {result.name} : {result.kind}", "}"]
    return Modification("\n".join(lines) + "\n", list(traced.captured))


def and_masks(*mask_mods):
    """The predicate that a key is seen if all of `mask_mods` say so."""

    def all_of(batch, head, query, key):
        result = True
        for mask_mod in mask_mods:
            result = mask_mod(batch, head, query, key) & result
        return result

    return all_of


def or_masks(*mask_mods):
    """The predicate that a key is seen if any of `mask_mods` says so."""

    def any_of(batch, head, query, key):
        result = False
        for mask_mod in mask_mods:
            result = mask_mod(batch, head, query, key) | result
        return result

    return any_of
