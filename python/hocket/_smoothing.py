"""What is done to queries and keys before they are rounded: means subtracted, and elements of heads rotated; and their numbers in
float32. By operations of torch and numpy."""
import sys

from . import _tensors
from ._arguments import integer
from ._errors import InvalidInput


def wide(tensor, name, dtype, stream):
    """Its numbers in float32, which are of `dtype`: bf16, as bits, too, or f16."""
    found = _tensors.read(_tensors.contiguous(tensor), name, dtype if dtype == "bf16" else None, stream).dtype
    if found != dtype:
        raise InvalidInput(f"argument '{name}' has elements of {found}, 'q' of {dtype}")
    return numbers(tensor)


def numbers(tensor):
    """The same of a tensor of any type of 16 or 32 bits; integers are the bits of bf16."""
    if _tensors.is_torch(tensor):
        torch = sys.modules["torch"]
        return tensor.float() if tensor.is_floating_point() else tensor.view(torch.bfloat16).float()
    numpy = sys.modules["numpy"]
    if tensor.dtype.kind == "f":
        return tensor.astype("float32")
    return (tensor.view("uint16").astype("uint32") << numpy.uint32(16)).view("float32")


def check_size(size, name, dim):
    """`size` as an integer: a power of two that divides heads of `dim` elements."""
    size = integer(size, name, 1)
    if size & (size - 1) or dim % size:
        raise InvalidInput(f"argument '{name}' is {size}, wanted a power of two that divides the {dim} elements of a head")
    return size


def rotated(x, size):
    """float32 `x`, of which each `size` elements of a head are multiplied by the orthogonal, symmetric matrix of Hadamard in
    Sylvester's order, whose entry (i, j) is (-1)^popcount(i & j) / sqrt(size)."""
    shape, half = x.shape, 1
    while half < size:
        pairs = x.reshape(*shape[:-1], shape[-1] // (2 * half), 2, half)
        a, b = pairs[..., 0, :], pairs[..., 1, :]
        x = sys.modules["torch"].stack((a + b, a - b), -2) if _tensors.is_torch(x) else sys.modules["numpy"].stack((a + b, a - b), -2)
        half *= 2
    return x.reshape(shape) * float(size) ** -0.5


def means_of_blocks(x, along, size):
    """The mean of each `size` rows along dimension `along`, of the last as many as there are: [..., blocks, ...]."""
    count = x.shape[along]
    whole = count // size * size
    rows = (x.narrow(along, 0, whole), x.narrow(along, whole, count - whole)) if _tensors.is_torch(x) else sys.modules["numpy"].split(
        x, [whole], along)
    parts = []
    if whole:
        parts.append(rows[0].reshape(*x.shape[:along], whole // size, size, *x.shape[along + 1:]).mean(along + 1))
    if whole != count:
        parts.append(rows[1].mean(along, keepdims=True))
    if len(parts) == 1:
        return parts[0]
    return sys.modules["torch"].cat(parts, along) if _tensors.is_torch(x) else sys.modules["numpy"].concatenate(parts, along)


def without_means(x, means, along, size):
    """`x` with the mean of its block of rows subtracted from each."""
    rows = means.repeat_interleave(size, along) if _tensors.is_torch(x) else means.repeat(size, along)
    count = x.shape[along]
    return x - (rows.narrow(along, 0, count) if _tensors.is_torch(x) else rows.take(range(count), along))


def products(rows, keys, along):
    """Each of `rows` with each of `keys`, whose heads rows share: [batch, heads, rows, keys]."""
    if along == 1:
        rows, keys = rows.swapaxes(1, 2), keys.swapaxes(1, 2)
    batch, heads, count, dim = rows.shape
    of_heads = keys.shape[1]
    grouped = rows.reshape(batch, of_heads, heads // of_heads * count, dim)
    return (grouped @ keys.swapaxes(2, 3)).reshape(batch, heads, count, keys.shape[2])
