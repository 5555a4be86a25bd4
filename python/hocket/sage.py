"""SageAttention's function: kernels make integers of queries and keys and floats of 8 bits of values, others attend to them."""
from . import _smoothing, _tensors
from ._arguments import architecture, text
from ._call import Call, Modifications, Names, attend
from ._calls import _scale
from ._errors import InvalidInput, Unsupported
from ._heads import whole_heads
from ._smoothing import wide
from .quantization import quantize

#: Upstream's layouts, as kernels call them, and the dimension of rows.
_LAYOUTS = {"HND": ("bhsd", 2), "NHD": ("bshd", 1)}
#: Rows of a head of queries, and keys, that share a scale.
_GRANULARITIES = {"per_warp": (32, 64), "per_block": (128, 64)}
#: Queries whose mean is subtracted from them, and the scores of that mean, which are added.
_SMOOTH_ROWS = 128
_ADDED = f"""attn.score_mod @smooth_q(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %added: tensor<?x?x?x?xf32> {{attn.sizes = ["batch", "heads", "ceildiv(seq_q, {_SMOOTH_ROWS})", "seq_kv"]}}) {{
  %rows = arith.constant {_SMOOTH_ROWS} : i32
  %block = arith.divui %query, %rows : i32
  %of_mean = attn.read %added[%batch, %head, %block, %key] : tensor<?x?x?x?xf32> -> f32
  %result = arith.addf %score, %of_mean : f32
  attn.yield %result : f32
}}
"""


@whole_heads("sm_scale")
def sageattn(
    q,
    k,
    v,
    tensor_layout="HND",
    is_causal=False,
    sm_scale=None,
    return_lse=False,
    *,
    qk_quant_gran="per_warp",
    smooth_k=True,
    smooth_q=False,
    hadamard=None,
    dtype=None,
    arch="gfx950",
    stream=None,
):
    """Attention with the arguments of SageAttention's `sageattn`: int8 products of queries and keys, weights and values of
    fp8 e4m3. Tensors are [batch, heads, seq, head_dim], or with tensor_layout="NHD" [batch, seq, heads, head_dim], of bf16 or
    f16 (dtype="bf16": arrays of their bits). Queries have a scale for 32 rows of a head, or "per_block" for 128; keys for 64;
    values for each element of a head. Three things change no result but how exact it is: `smooth_k` subtracts the mean of
    the keys, `smooth_q` the mean of each 128 queries, whose scores are added again, and `hadamard`, a power of two, rotates so
    many elements of queries and keys at a time (docs/Quantising.md). Returns O, or O and LSE (natural, [batch, heads, seq]).
    """
    layout, along = _layout_of(tensor_layout)
    rows, keys = _granularity(qk_quant_gran)
    if _tensors.is_traced(q):
        raise Unsupported("sageattn has no operator for torch to trace; call it outside of what is compiled")
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        _tensors.refuse_gradient(tensor, name)
        if len(getattr(tensor, "shape", ())) != 4:
            raise InvalidInput(f"argument '{name}' has {len(getattr(tensor, 'shape', ()))} dimensions, wanted 4: {tensor_layout}")
    given = _tensors.read(_tensors.contiguous(q), "q", dtype, stream).dtype
    if given not in ("bf16", "f16"):
        raise InvalidInput(f"argument 'q' has elements of {given}, wanted bf16 or f16"
                           + ("; for the bits of bf16 say dtype='bf16'" if given in ("u16", "i16") else ""))
    arch = architecture(arch)
    options = {"layout": layout, "arch": arch, "stream": stream}
    wide_k, wide_v = wide(k, "k", given, stream), wide(v, "v", given, stream)
    scale = q.shape[-1] ** -0.5 if sm_scale is None else _scale(sm_scale, "sm_scale")
    mean = wide_k.mean(along, keepdims=True) if smooth_k and k.shape[along] else None
    smooth = wide_k if mean is None else wide_k - mean
    added, rough, x_dtype = None, q, dtype
    if smooth_q and q.shape[along] and k.shape[along]:
        rough, x_dtype = wide(q, "q", given, stream), None
        means = _smoothing.means_of_blocks(rough, along, _SMOOTH_ROWS)
        added, rough = scale * _smoothing.products(means, smooth, along), _smoothing.without_means(rough, means, along, _SMOOTH_ROWS)
    q8, q_scale = quantize(rough, "i8", per="block", block=rows, hadamard=hadamard, x_dtype=x_dtype, **options)
    k8, k_scale = quantize(smooth, "i8", per="block", block=keys, hadamard=hadamard, **options)
    sizes = _largest(wide_v, along)
    v8, v_scale = quantize(wide_v / sizes, "f8e4m3", per="head", **options)
    ofs = (q_scale, k_scale, _per_channel(sizes, along, v_scale))

    def modify(problem):
        modifications = Modifications()
        modifications.descales = [(f"{name}_descale", scale) for name, scale in zip("qkv", ofs)]
        modifications.descale_blocks = {"descale_rows": rows, "descale_keys": keys, "descale_channels": True}
        if added is not None:
            modifications.add_text(_ADDED, "smooth_q")
            modifications.capture("added", "smooth_q", _tensors.contiguous(added), added.shape)
        return modifications

    call = Call(Names("q", "k", "v"), layout=layout, mask="causal" if is_causal else "none", scale=scale,
                dtype=f"i8_v_f8e4m3_o_{given}", arch=arch, stream=stream, modify=modify)
    out = _tensors.empty_like(q, "q", (*q.shape[:-1], v.shape[-1]), given)
    made = attend(call, q8, k8, v8, out=out, lse=None, return_lse=return_lse)
    if not return_lse or mean is None:
        return made
    return made[0], made[1] + scale * _products(wide(q, "q", given, stream), mean, along)


def _layout_of(tensor_layout):
    if text(tensor_layout, "tensor_layout", "HND or NHD") not in _LAYOUTS:
        raise InvalidInput(f"argument 'tensor_layout' is '{tensor_layout}', wanted HND or NHD")
    return _LAYOUTS[tensor_layout]


def _granularity(name):
    if text(name, "qk_quant_gran", "per_warp or per_block") not in _GRANULARITIES:
        raise Unsupported(f"argument 'qk_quant_gran' is '{name}', whose scales no kernel takes; use per_warp, 32 queries and 64 keys, "
                          f"or per_block, 128 queries")
    return _GRANULARITIES[name]


def _largest(values, along):
    """The largest size along the rows, 1 where all are 0."""
    if not values.shape[along]:
        return values.sum(along, keepdims=True) + 1
    sizes = abs(values)
    sizes = sizes.amax(along, keepdims=True) if _tensors.is_torch(values) else sizes.max(along, keepdims=True)
    return sizes + (sizes == 0)


def _per_channel(sizes, along, scale):
    """[batch, kv_heads, head_dim]: the sizes times the scale of their head."""
    heads = sizes.squeeze(along)
    return heads * scale.reshape(*scale.shape, 1)


def _products(q, mean, along):
    """Of each query with the mean of its keys: [batch, heads, seq]."""
    of_heads, heads = mean.squeeze(along), q.shape[3 - along]
    group = heads // of_heads.shape[1]
    of_heads = of_heads.repeat_interleave(group, 1) if _tensors.is_torch(q) else of_heads.repeat(group, 1)
    rows = q if along == 2 else q.swapaxes(1, 2)
    return (rows * of_heads[:, :, None]).sum(-1)
