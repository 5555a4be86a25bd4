"""Calls like earlier ones: the same function with the same numbers and functions, and tensors that differ in where they lie
alone. What the first one has checked, traced and planned is not done again.

Addresses of tensors, the contents of lists, and seeds are no part of a key (_keys.py); lists are checked each time, seeds read
or drawn. What a key does not cover has none: whatever is traced, functions whose result may depend on what tensors hold.
"""
import contextvars
import functools
import sys
from collections import OrderedDict

from ._arguments import names_of
from ._keys import Key

#: Calls of a function that are kept; those of long ago go first.
_MOST = 256
#: A list for the plans of what is called, which then does not run; None: it runs.
plans = contextvars.ContextVar("plans", default=None)
#: What a call does, while it is looked at.
_seen = contextvars.ContextVar("seen", default=None)


class _Seen:
    """The forwards, the backwards and the copies that a call makes; and whether another one like it may do something else."""

    def __init__(self, key=None):
        self.forwards, self.backwards, self.is_spoilt = [], [], False
        self.numbers = () if key is None else key.numbers
        self.copies = {}


def note(call, views, out, lse, made):
    """Of a forward that ran: `made` says which of O and LSE are new."""
    seen = _seen.get()
    if seen is not None:
        seen.forwards.append((call, views, out, lse, made))


def note_backward(call, views, made):
    """Of a backward that ran: the gradients that it made."""
    seen = _seen.get()
    if seen is not None:
        seen.backwards.append((call, views, made))


def spoil():
    """Nothing is kept of this call."""
    seen = _seen.get()
    if seen is not None:
        seen.is_spoilt = True


def note_copy(tensor, made, convert):
    """`made`, which `convert` makes of `tensor`, is read in its place. Returns it."""
    seen = _seen.get()
    if seen is not None and made is not tensor:
        seen.copies[id(made)] = tensor, made, convert
    return made


def has_value_of(tensor):
    """Whether the value of a tensor without dimensions is part of the key, or the call is not looked at."""
    seen = _seen.get()
    return seen is None or id(tensor) in seen.numbers


def watched(key, function, *arguments):
    """(what `function` gives, what it did), of a call with `key`, if it has one."""
    seen = _Seen(key)
    token = _seen.set(seen)
    try:
        return function(*arguments), seen
    finally:
        _seen.reset(token)


def _modes(torch):
    """What of torch's state results depend on; None: it traces, or transforms."""
    if torch is None:
        return ()
    if hasattr(torch.library, "register_autograd") and (
            torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack()
            or torch._C._functorch.peek_interpreter_stack() is not None):
        return None
    if hasattr(torch, "get_autocast_dtype"):
        return tuple((name, torch.get_autocast_dtype(name)) for name in ("cpu", "cuda") if torch.is_autocast_enabled(name))
    on_cpu, on_gpu = torch.is_autocast_cpu_enabled(), torch.is_autocast_enabled()
    return (on_cpu, on_gpu, torch.get_autocast_cpu_dtype(), torch.get_autocast_gpu_dtype()) if on_cpu or on_gpu else ()


def key_of(arguments, options, with_gradients=True):
    """The key of a call, or None. Without gradients it does not matter which tensors want one."""
    torch = sys.modules.get("torch")
    modes = _modes(torch)
    if modes is None or _seen.get() is not None or plans.get() is not None:
        return None
    key = Key(torch, with_gradients)
    key.parts += modes
    return key if key.read(arguments, options) else None


class Memory:
    """What is kept by keys."""

    def __init__(self):
        self._known, self._refused = OrderedDict(), object()

    def get(self, parts):
        """(what is kept, whether another look may find something)."""
        found = self._known.get(parts)
        return (None, False) if found is self._refused else (found, found is None)

    def keep(self, parts, ready):
        self._known[parts] = self._refused if ready is None else ready
        if len(self._known) > _MOST:
            self._known.popitem(last=False)


def top_names(names, arguments, options):
    """The names of arguments that are tensors."""
    return [name for name, value in (*zip(names, arguments), *options.items()) if hasattr(value, "shape")]


def with_state(arguments, options, at, state):
    """Arguments with another `rng_state`, which is the one at `at` unless it is among the options."""
    if at is None or at >= len(arguments):
        return arguments, {**options, "rng_state": state}
    return (*arguments[:at], state, *arguments[at + 1:]), options


def remembered(function, names=None, with_gradients=True):
    """`function` with its earlier calls in mind. The first three arguments are queries, keys and values."""
    names = names_of(function) if names is None else names
    memory = Memory()
    own = [(name, names.index(name) if name in names else None) for name in ("out", "lse", "rng_state")]
    at_state = own[2][1]

    def given(arguments, options):
        return [options.get(name, arguments[at] if at is not None and at < len(arguments) else None) for name, at in own]

    @functools.wraps(function)
    def attend(*arguments, **options):
        *into, state = given(arguments, options)
        # Whether there is a state is a part of the key, which one is not.
        keyed = (arguments, options) if state is None else with_state(arguments, options, at_state, True)
        key = key_of(*keyed, with_gradients)
        if key is None:
            return function(*arguments, **options)
        parts = tuple(key.parts)
        ready, is_new = memory.get(parts)
        if ready is not None:
            dropping = ready.dropping(state, key)
            made = ready(key, into, dropping)
            if made is not None:
                return made
            if dropping is not None:  # which is not drawn again
                arguments, options = with_state(arguments, options, at_state, dropping)
        if not is_new:
            return function(*arguments, **options)
        made, seen = watched(key, lambda: function(*arguments, **options))
        from . import _again

        memory.keep(parts, _again.forward_of(seen, made, key, top_names(names, *keyed)))
        return made

    return attend
