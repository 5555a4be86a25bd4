"""Tensors of other libraries: reading their memory, and making new ones like them."""
import sys

from . import _hocket, _ready
from ._arguments import integer
from ._errors import InvalidInput, Unsupported

#: How numpy and torch call element types; numpy has the bits of those that it does not know, as integers.
NUMPY_NAMES = {name: numpy for name, (numpy, torch) in _hocket.element_types().items()}
TORCH_NAMES = {name: torch for name, (numpy, torch) in _hocket.element_types().items() if torch}
#: torch's floats of 8 bits, by their names there.
_SMALL_FLOATS = {f"torch.{torch}": name for name, torch in TORCH_NAMES.items() if torch.startswith("float8_e")}
#: Those that K and V may have beside 16 bits, and Q too.
SMALL_FLOATS = ("f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz")
#: Floats of 4 bits, of which a byte has two, and torch's type of such bytes.
PACKED, _TORCH_PACKED = "f4e2m1", "torch.float4_e2m1fn_x2"
#: Those that Q may have beside O of 16 bits.
SMALL = (*SMALL_FLOATS, "i8", PACKED)


def module_of(tensor):
    """The name of the library that `tensor` is of: "numpy", "torch", ..."""
    return type(tensor).__module__.partition(".")[0]


def is_torch(tensor):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(tensor, torch.Tensor)


def torch_if_loaded():
    return sys.modules.get("torch")


def numpy_of(tensor):
    """The module of a tensor of numpy's."""
    return sys.modules["numpy"]


def torch_of(tensor):
    """The module torch if `tensor` is one of its."""
    return sys.modules["torch"] if is_torch(tensor) else None


def is_traced(tensor):
    """Whether torch records what is done with `tensor`, or has it stand for others: under torch.compile, export, vmap, and with
    tensors that are not memory."""
    if not is_torch(tensor):
        return False
    torch = sys.modules["torch"]
    compiler = getattr(torch, "compiler", None)
    if compiler is None or not hasattr(torch.library, "register_autograd"):
        return False
    if compiler.is_compiling():
        return True
    is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_meta
    return (not is_plain or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
            or torch._C._len_torch_dispatch_stack() > 0)


def is_plain(tensor):
    """Whether `tensor` is none of a class of somebody's that is derived from torch's."""
    return not is_torch(tensor) or type(tensor) in (sys.modules["torch"].Tensor, sys.modules["torch"].nn.Parameter)


def in_autocast(tensor):
    """torch's float32 `tensor` in the type that autocast asks for, where it is on."""
    if not is_torch(tensor) or tensor.dtype != sys.modules["torch"].float32:
        return tensor
    torch, device = sys.modules["torch"], tensor.device.type
    if hasattr(torch, "get_autocast_dtype"):
        return tensor.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else tensor
    if device == "cpu":
        return tensor.to(torch.get_autocast_cpu_dtype()) if torch.is_autocast_cpu_enabled() else tensor
    return tensor.to(torch.get_autocast_gpu_dtype()) if torch.is_autocast_enabled() else tensor


def wants_gradient(tensor):
    return is_torch(tensor) and tensor.requires_grad and sys.modules["torch"].is_grad_enabled()


def is_packed(tensor, dtype):
    """Whether `tensor`, of which `dtype` says what its bytes are, has two numbers in each."""
    return dtype == PACKED or (is_torch(tensor) and str(tensor.dtype) == _TORCH_PACKED)


def small_float_of(tensor):
    """The type of one of torch's tensors whose elements are floats of 8 bits; None of others."""
    return _SMALL_FLOATS.get(str(tensor.dtype)) if is_torch(tensor) else None


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
        if str(tensor.dtype) == _TORCH_PACKED:
            tensor = tensor.view(sys.modules["torch"].uint8)
        small = _SMALL_FLOATS.get(str(tensor.dtype))
        if small is not None and dtype in (None, small):  # which DLPack does not carry everywhere
            tensor, dtype = tensor.view(sys.modules["torch"].uint8), small
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
    """A tensor of `shape` of the library that the argument `name`, `tensor`, is of; of bytes where that has no floats of 8
    bits."""
    if is_torch(tensor):
        torch = sys.modules["torch"]
        own = TORCH_NAMES[dtype] if hasattr(torch, TORCH_NAMES[dtype]) or dtype not in SMALL_FLOATS else "uint8"
        return torch.empty(shape, dtype=getattr(torch, own), device=tensor.device)
    if module_of(tensor) == "numpy":
        return sys.modules["numpy"].empty(shape, dtype=NUMPY_NAMES[dtype])
    raise InvalidInput(
        f"argument 'out' is missing: for '{name}' of type '{type(tensor).__module__}."
        f"{type(tensor).__qualname__}' there is nothing to make the results with; "
        f"give out= (and lse= where it is wanted), or numpy's or torch's tensors"
    )


def empty_in_order_of(tensor, name, shape, dtype):
    """The same, ordered as `in_order_of` has it."""
    return in_order_of(tensor, shape, lambda shape: empty_like(tensor, name, shape, dtype))


def in_order_of(tensor, shape, make):
    """What `make` makes of `shape`, with the dimensions in memory in the order of those of `tensor`, but for the last one, whose
    elements follow one another: as results of torch's operations are."""
    if not can_pad(tensor):
        return make(shape)
    strides = tensor.stride() if is_torch(tensor) else tensor.strides
    order = [*sorted(range(len(shape) - 1), key=lambda dim: strides[dim], reverse=True), len(shape) - 1]
    made = make([shape[dim] for dim in order])
    back = [order.index(dim) for dim in range(len(shape))]
    return made.permute(back) if is_torch(made) else made.transpose(back)


def fill(tensor, number):
    """Sets all elements of a tensor of numpy's or torch's, or of whoever takes such assignments."""
    if is_torch(tensor):
        tensor.detach().fill_(number)
    else:
        tensor[...] = number


def address_of(tensor):
    """Where a tensor of torch's or numpy's lies."""
    return tensor.data_ptr() if hasattr(tensor, "data_ptr") else tensor.ctypes.data


def loadable(tensor):
    """`tensor` as kernels load it: heads contiguous, rows and heads at multiples of 16 bytes. A copy where
    it lies otherwise; what is neither numpy's nor torch's stays as it is."""
    if is_torch(tensor):
        rows = zip(tensor.shape[:-1], tensor.stride()[:-1])
        fits = tensor.dim() == 0 or tensor.shape[-1] == 1 or tensor.stride(-1) == 1
        fits = fits and tensor.data_ptr() % 16 == 0 and all(
            extent == 1 or stride * tensor.element_size() % 16 == 0 for extent, stride in rows)
        return tensor if fits else tensor.detach().clone(memory_format=sys.modules["torch"].contiguous_format)
    if module_of(tensor) == "numpy" and tensor.ndim:
        rows = zip(tensor.shape[:-1], tensor.strides[:-1])
        fits = tensor.shape[-1] == 1 or tensor.strides[-1] == tensor.itemsize
        fits = fits and tensor.ctypes.data % 16 == 0
        fits = fits and all(extent == 1 or (stride >= 0 and stride % 16 == 0) for extent, stride in rows)
        return tensor if fits else tensor.copy(order="C")
    return tensor


def loaded(tensor):
    """`loadable`, where a copy is noted of a call that is looked at."""
    return _ready.note_copy(tensor, loadable(tensor), loadable)


def contiguous(tensor):
    """`tensor`, or a copy in the order of its dimensions."""
    if is_torch(tensor):
        return tensor if tensor.is_contiguous() else tensor.detach().contiguous()
    if module_of(tensor) == "numpy":
        return sys.modules["numpy"].ascontiguousarray(tensor)
    return tensor


def expanded(tensor, shape, wanted, ones=False):
    """float32 numbers of `shape` as a tensor of two dimensions, `wanted`, contiguous; or as many ones, made like `tensor`."""
    if is_torch(tensor):
        torch = sys.modules["torch"]
        whole = torch.ones(wanted, dtype=torch.float32, device=tensor.device) if ones else tensor
        return whole.reshape((1,) * (2 - len(shape)) + shape if not ones else wanted).expand(wanted).contiguous()
    numpy = sys.modules["numpy"]
    whole = numpy.ones(wanted, "float32") if ones else numpy.asarray(tensor)
    return numpy.ascontiguousarray(numpy.broadcast_to(whole, wanted))


def scale_words(scale):
    """Bytes of E8M0, [..., rows, heads, blocks], as int32 words of four, [..., heads, rows, words], contiguous."""
    missing = -scale.shape[-1] % 4
    if is_torch(scale):
        torch = sys.modules["torch"]
        moved = scale.view(torch.uint8).transpose(-3, -2)
        return torch.nn.functional.pad(moved, (0, missing)).contiguous().view(torch.int32)
    numpy = sys.modules["numpy"]
    moved = numpy.swapaxes(numpy.asarray(scale), -3, -2)
    return numpy.ascontiguousarray(numpy.pad(moved, [(0, 0)] * (moved.ndim - 1) + [(0, missing)])).view("int32")


def value_scale_words(scale):
    """Bytes of E8M0, [batch, blocks of keys, heads, elements], as int32 words of four blocks, [batch, heads, words, elements],
    contiguous; blocks that are missing count 1."""
    batch, blocks, heads, elements = scale.shape
    missing = -blocks % 4
    shape = batch, (blocks + missing) // 4, 4, heads, elements
    if is_torch(scale):
        torch = sys.modules["torch"]
        padded = torch.nn.functional.pad(scale.view(torch.uint8), (0, 0, 0, 0, 0, missing), value=127)
        return padded.reshape(shape).permute(0, 3, 1, 4, 2).contiguous().view(torch.int32)[..., 0]
    numpy = sys.modules["numpy"]
    padded = numpy.pad(numpy.asarray(scale).view("uint8"), [(0, 0), (0, missing), (0, 0), (0, 0)], constant_values=127)
    return numpy.ascontiguousarray(padded.reshape(shape).transpose(0, 3, 1, 4, 2)).view("int32")[..., 0]


def contiguous_view(tensor):
    """The same for torch's tensors that may require a gradient."""
    return tensor.contiguous() if is_torch(tensor) else contiguous(tensor)


def element_bytes(tensor):
    return tensor.element_size() if is_torch(tensor) else tensor.itemsize


def can_pad(tensor):
    return is_torch(tensor) or module_of(tensor) == "numpy"


def padded(tensor, count):
    """`tensor` with `count` zeros more at the end of its last dimension, or with so many less."""
    if is_torch(tensor):
        torch = sys.modules["torch"]
        if count and str(tensor.dtype) in _SMALL_FLOATS:
            return torch.nn.functional.pad(tensor.view(torch.uint8), (0, count)).view(tensor.dtype)
        return torch.nn.functional.pad(tensor, (0, count)) if count else tensor
    return sys.modules["numpy"].pad(tensor, [(0, 0)] * (tensor.ndim - 1) + [(0, count)]) if count else tensor


def with_nan_rows(tensor, count):
    """`tensor` of two dimensions with `count` rows more, of NaN."""
    torch = torch_of(tensor)
    if torch is not None:
        return torch.nn.functional.pad(tensor, (0, 0, 0, count), value=float("nan"))
    nan = float("nan") if tensor.dtype.kind == "f" else -1 & (1 << 8 * tensor.itemsize) - 1  # bits of bf16
    rows = sys.modules["numpy"].full((count, tensor.shape[1]), nan).astype(tensor.dtype)
    return sys.modules["numpy"].concatenate([tensor, rows])


def as_float32(tensor, name):
    """Numbers of argument `name` as kernels read them."""
    element = str(getattr(tensor, "dtype", type(tensor).__name__)).rpartition(".")[2]
    if element == "float32":
        return tensor
    if not can_pad(tensor) or element not in ("float64", "float16", "bfloat16"):
        raise InvalidInput(f"argument '{name}' has elements of {element}, wanted float32, float64, float16 or bfloat16")
    made = tensor.to(sys.modules["torch"].float32) if is_torch(tensor) else tensor.astype("float32")
    return _ready.note_copy(tensor, made, lambda own: as_float32(own, name))


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
        made = numpy.ascontiguousarray(tensor, dtype=getattr(numpy, wanted) if wanted else None)
    else:
        own = tensor.detach()
        # Not all versions export booleans.
        made = own.contiguous().view(torch.uint8) if own.dtype == torch.bool else own.to(
            getattr(torch, wanted) if wanted else own.dtype).contiguous()
    return _ready.note_copy(tensor, made, lambda own: capturable(own, name, True))
