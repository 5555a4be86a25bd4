"""What attention gives, by its definition, in float64; and bf16, which numpy lacks."""
import numpy


def to_bf16(values):
    """The bits of `values`, rounded to the nearest, ties to even."""
    bits = numpy.ascontiguousarray(values, dtype=numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def from_bf16(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def widen(values):
    return (from_bf16(values) if values.dtype == numpy.uint16 else values).astype(numpy.float64)


def attention(q, k, v, causal=False, scale=None):
    """O and LSE of [batch, heads, seq, head_dim]; rows that see no key give 0 and -inf."""
    q, k, v = widen(q), widen(k), widen(v)
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat(groups, 1), v.repeat(groups, 1)
    scores = q @ k.swapaxes(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if causal:
        rows, keys = numpy.indices(scores.shape[2:])
        scores[..., keys > rows + k.shape[2] - q.shape[2]] = -numpy.inf
    most = scores.max(3, keepdims=True)
    most[most == -numpy.inf] = 0
    weights = numpy.exp(scores - most)
    total = weights.sum(3, keepdims=True)
    with numpy.errstate(divide="ignore"):
        lse = numpy.log(total) + most
    return weights / numpy.where(total == 0, 1, total) @ v, lse[..., 0]


def gradients(dout, q, k, v, causal=False, scale=None):
    """dQ, dK and dV of [batch, heads, seq, head_dim]."""
    o, lse = attention(q, k, v, causal, scale)
    dout, q, k, v = widen(dout), widen(q), widen(k), widen(v)
    groups = q.shape[1] // k.shape[1]
    scale = q.shape[3] ** -0.5 if scale is None else scale
    keys, values = k.repeat(groups, 1), v.repeat(groups, 1)
    scores = q @ keys.swapaxes(2, 3) * scale
    if causal:
        rows, columns = numpy.indices(scores.shape[2:])
        scores[..., columns > rows + k.shape[2] - q.shape[2]] = -numpy.inf
    weights = numpy.exp(scores - numpy.where(lse == -numpy.inf, numpy.inf, lse)[..., None])
    score_gradients = scale * weights * (dout @ values.swapaxes(2, 3) - (dout * o).sum(3, keepdims=True))
    shared = lambda t: t.reshape(k.shape[0], k.shape[1], groups, *t.shape[2:]).sum(2)  # noqa: E731
    return score_gradients @ keys, shared(score_gradients.swapaxes(2, 3) @ q), shared(weights.swapaxes(2, 3) @ dout)


def swap(tensor):
    """[batch, seq, heads, head_dim] as [batch, heads, seq, head_dim], and back."""
    return tensor.swapaxes(1, 2)


def largest_error(found, wanted):
    """Of attention's result, where rows of V are of a size around 1; infinite if one is not a number."""
    difference = numpy.abs(widen(found) - wanted)
    return numpy.inf if numpy.isnan(difference).any() else difference.max()


#: What rounding the weights and the result may cost, with values of V around 1.
TOLERANCE = {"bf16": 3e-2, "f16": 4e-3}


def check_lse(found, wanted):
    hidden = wanted == -numpy.inf
    assert (found[hidden] == -numpy.inf).all(), "a row without keys has an LSE"
    error = numpy.abs(found[~hidden] - wanted[~hidden])
    assert not error.size or error.max() < 2e-3, f"LSE is off by {error.max()}"


def random_tensor(generator, shape, dtype):
    values = generator.standard_normal(shape)
    return to_bf16(values) if dtype == "bf16" else values.astype(numpy.float16)
