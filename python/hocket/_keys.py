"""What makes two calls alike: all that checks, plans and traces look at, but where tensors lie.

A tensor's part of the key is its type, shape, strides, device and place within 16 bytes. A function's is its code with what it
captures: numbers by value, tensors by the same as above, functions in turn. A call with anything else has no key.
"""
import functools
import sys
import types

PLAIN = (type(None), bool, int, float, str)
#: Functions and modules of these are what they are.
_LIBRARIES = {"torch", "numpy", "math", "operator", "builtins", "_operator", __package__.partition(".")[0]}
#: Functions in functions, tuples in tuples: beyond, a call has no key.
_DEEPEST = 8


@functools.lru_cache(4096)
def _names_of(code):
    """The names that a function's code, and functions in it, may look up among globals."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _names_of(constant)
    return tuple(dict.fromkeys(names))


def _is_of_library(thing):
    return str(getattr(thing, "__module__", "")).partition(".")[0] in _LIBRARIES


class Key:
    """The key of a call as it grows. `tensors` are what it found, in order, at `addresses`; `top` are the numbers of those that
    are arguments themselves, `wanting` of those that want a gradient. `numbers` are the ids of tensors whose value is a part."""

    __slots__ = ("_torch", "_array", "_known", "_grad", "parts", "tensors", "addresses", "top", "wanting", "numbers")

    def __init__(self, torch, with_gradients):
        self._torch, self._array = torch, getattr(sys.modules.get("numpy"), "ndarray", None)
        self._grad = with_gradients and torch is not None and torch.is_grad_enabled()
        self.parts, self.tensors, self.addresses, self.top, self.wanting = [], [], [], [], []
        self.numbers, self._known = [], None

    def read(self, arguments, options):
        """Returns whether the call has a key."""
        torch, array = self._torch, self._array
        self.parts += len(arguments), *options
        for value in (*arguments, *options.values()):
            kind = type(value)
            if kind in PLAIN:
                self.parts.append(value)
            elif kind is array or torch is not None and (kind is torch.Tensor or kind is torch.nn.Parameter):
                self.top.append(len(self.tensors))
                self._tensor(value, kind)
            elif (kind is tuple or kind is list) and all(type(one) in PLAIN for one in value):
                self.parts.append(tuple(value))
            elif not self._part(value, 0):
                return False
        return True

    def _tensor(self, tensor, kind):
        if kind is self._array:
            address, wants = tensor.ctypes.data, False
            self.parts.append((tensor.dtype, tensor.shape, tensor.strides, address & 15, tensor.flags.writeable))
        else:
            address, wants = tensor.data_ptr(), self._grad and tensor.requires_grad
            self.parts.append((tensor.dtype, tensor.shape, tensor.stride(), tensor.device, address & 15, tensor.is_neg(), wants))
        if wants:
            self.wanting.append(len(self.tensors))
        self.tensors.append(tensor)
        self.addresses.append(address)

    def _captured(self, tensor, kind):
        """A tensor that is no argument itself. One that comes twice has one number; a number is its value."""
        known = self._known = {} if self._known is None else self._known
        number = known.get(id(tensor))
        if number is not None:
            self.parts.append(("as", number))
            return True
        is_array = kind is self._array
        if not tensor.shape and (is_array or tensor.device.type == "cpu" and not tensor.requires_grad):
            self.parts.append((tensor.dtype, repr(tensor.item())))
            self.numbers.append(id(tensor))
            return True
        known[id(tensor)] = len(self.tensors)
        self._tensor(tensor, kind)
        return True

    def _part(self, value, depth):
        """What a function captures, or an argument that is neither number nor tensor."""
        kind, torch = type(value), self._torch
        if kind in PLAIN:
            self.parts.append((kind, value.hex() if kind is float else value))
            return True
        if kind is self._array or torch is not None and (kind is torch.Tensor or kind is torch.nn.Parameter):
            return self._captured(value, kind)
        if depth > _DEEPEST:
            return False
        if kind is tuple or kind is list:
            self.parts.append((kind, len(value)))
            return all(self._part(one, depth + 1) for one in value)
        if kind is types.FunctionType:
            return self._function(value, depth)
        if kind is types.ModuleType or kind is types.BuiltinFunctionType:
            name = value.__name__ if kind is types.ModuleType else str(value.__module__)
            self.parts.append(value)
            return name.partition(".")[0] in _LIBRARIES and "random" not in name
        if kind.__name__ == "dtype" or kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
            self.parts.append((kind, repr(value)))
            return _is_of_library(kind)
        parts = _parts_of(value, kind) if _is_of_library(kind) else None
        return parts is not None and self._part((kind.__name__, *parts), depth + 1)

    def _function(self, function, depth):
        is_of_library = _is_of_library(function)
        cells = function.__closure__ or ()
        if is_of_library and not cells:
            self.parts.append(function)
            return True
        if function.__dict__ or function.__kwdefaults__:
            return False
        code = function.__code__
        self.parts.append(code)
        try:
            captured = [cell.cell_contents for cell in cells]
        except ValueError:  # not filled yet
            return False
        captured += function.__defaults__ or ()
        if not is_of_library:
            names, globals_ = _names_of(code), function.__globals__
            if any("rand" in name for name in names):
                return False
            for name in names:
                if name in globals_:
                    captured.append(globals_[name])
                    self.parts.append(name)
        return all(self._part(one, depth + 1) for one in captured)


def _parts_of(value, kind):
    """What a block mask, torch's too, or a traced function holds."""
    if hasattr(kind, "_parts_of_key"):
        return value._parts_of_key()
    if kind.__name__ != "BlockMask":
        return None
    names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "BLOCK_SIZE", "mask_mod")
    return *(getattr(value, name) for name in names), getattr(value, "seq_lengths", None)
