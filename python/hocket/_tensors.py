"""Tensors of other libraries: reading their memory, and making new ones like them."""
import sys

from . import _hocket
from ._arguments import integer
from ._errors import InvalidInput, Unsupported

#: How numpy and torch call element types; numpy has the bits of those that it does not know, as integers.
NUMPY_NAMES = {name: numpy for name, (numpy, torch) in _hocket.element_types().items()}
TORCH_NAMES = {name: torch for name, (numpy, torch) in _hocket.element_types().items() if torch}


def module_of(tensor):
    """The name of the library that `tensor` is of: "numpy", "torch", ..."""
    return type(tensor).__module__.partition(".")[0]


def is_torch(tensor):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(tensor, torch.Tensor)


def torch_of(tensor):
    """The module torch if `tensor` is one of its."""
    return sys.modules["torch"] if is_torch(tensor) else None


def wants_gradient(tensor):
    return is_torch(tensor) and tensor.requires_grad and sys.modules["torch"].is_grad_enabled()


def refuse_gradient(tensor, name):
    if wants_gradient(tensor):
        raise Unsupported(
            f"argument '{name}' requires a gradient, which there is none of yet; "
            f"pass {name}.detach(), or call under torch.no_grad()"
        )


def read(tensor, name, dtype=None, stream=None):
    """The memory of argument `name`."""
    if is_torch(tensor):
        if tensor.requires_grad:
            tensor = tensor.detach()
        return _hocket.Tensor.of(tensor, name, dtype, -1)  # used on torch's own stream: nothing to order
    return _hocket.Tensor.of(tensor, name, dtype, stream or 0)


def stream_of(tensor, stream):
    """The stream that work on `tensor` belongs to: the caller's, else torch's current one."""
    if stream is not None:
        return integer(getattr(stream, "cuda_stream", stream), "stream")
    if is_torch(tensor) and tensor.is_cuda:
        return sys.modules["torch"].cuda.current_stream(tensor.device).cuda_stream
    return None


def empty_like(tensor, name, shape, dtype):
    """A tensor of `shape` of the library that the argument `name`, `tensor`, is of."""
    if is_torch(tensor):
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, TORCH_NAMES[dtype]), device=tensor.device)
    if module_of(tensor) == "numpy":
        return sys.modules["numpy"].empty(shape, dtype=NUMPY_NAMES[dtype])
    raise InvalidInput(
        f"argument 'out' is missing: for '{name}' of type '{type(tensor).__module__}."
        f"{type(tensor).__qualname__}' there is nothing to make the results with; "
        f"give out= (and lse= where it is wanted), or numpy's or torch's tensors"
    )


def filled_like(tensor, name, shape, number):
    """A tensor of 32-bit integers, all of them `number`, where `empty_like` would make one."""
    if is_torch(tensor):
        torch = sys.modules["torch"]
        return torch.full(shape, number, dtype=torch.int32, device=tensor.device)
    if module_of(tensor) == "numpy":
        return sys.modules["numpy"].full(shape, number, dtype="int32")
    raise InvalidInput(f"'{name}' is of a type that no list can be made for; give one of 32-bit integers")


#: What is captured by functions and masks: the types that kernels read, and which of them stands for another.
_CAPTURED = {"float64": "float32", "int64": "int32", "int16": "int32", "uint8": "int32"}


def capturable(tensor, name, differentiable=False):
    """`tensor` contiguous and of a type that kernels read; a copy where it is not."""
    if not differentiable:
        refuse_gradient(tensor, name)
    torch = torch_of(tensor)
    wanted = _CAPTURED.get(str(tensor.dtype).rpartition(".")[2])
    if wanted == "int32" and tensor.size if torch is None else wanted == "int32" and tensor.numel():
        if int(tensor.max()) >= 1 << 31 or int(tensor.min()) < -(1 << 31):
            raise InvalidInput(f"argument '{name}' has numbers beyond 32 bits, which integers here have")
    if torch is None:
        numpy = sys.modules["numpy"]
        return numpy.ascontiguousarray(tensor, dtype=getattr(numpy, wanted) if wanted else None)
    tensor = tensor.detach()
    if tensor.dtype == torch.bool:  # not all versions export it
        return tensor.contiguous().view(torch.uint8)
    return tensor.to(getattr(torch, wanted) if wanted else tensor.dtype).contiguous()
