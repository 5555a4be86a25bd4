"""Attention by the names and arguments that people have: flash-attn 2's and torch's.

What the library cannot do is refused by an exception that names the argument; nothing is ignored.
"""
import math
import operator
import random

from . import _broadcast, _tensors, block_mask as block_masks, flex
from ._append import Appended
from ._arguments import integer, real
from ._call import LAYOUTS, Call, Modifications, Names, attend
from ._errors import InvalidInput, Unsupported
from ._heads import are_whole, cut, padded, whole_heads
from ._sequences import Sequences, cache_lengths, check_starts, lengths_in_pages


def _refuse(given, nothing, name, instead):
    """Refuses argument `name` unless it says that nothing is wanted."""
    if given is not None and (nothing is None or given != nothing):
        raise Unsupported(f"argument '{name}' is {given!r}, which no kernel does yet; {instead}")


def _scale(value, name):
    if value is None:
        return None
    value = real(value, name)
    if not math.isfinite(value):
        raise InvalidInput(f"argument '{name}' is {value}, wanted a finite number")
    return value


def _dropout(probability, rng_state, query):
    """(probability, seed, offset), or None where nothing is dropped."""
    probability = real(probability, "dropout_p")
    if not 0 <= probability < 1:
        raise InvalidInput(f"argument 'dropout_p' is {probability}, wanted a probability from 0 to less than 1")
    if rng_state is None:
        if probability == 0:
            return None
        return probability, _drawn_seed(query), 0
    try:
        seed, offset = (operator.index(number) for number in rng_state)
    except (TypeError, ValueError):
        raise InvalidInput(f"argument 'rng_state' is {rng_state!r}, wanted two integers, a seed and an offset") from None
    if not all(-(2**63) <= number < 2**63 for number in (seed, offset)):
        raise InvalidInput(f"argument 'rng_state' is {rng_state!r}, wanted integers of 64 bits")
    return (probability, seed, offset) if probability else None


def _drawn_seed(query):
    """From the generator that the caller seeds: torch's own for its tensors, else Python's."""
    if type(query).__module__.partition(".")[0] == "torch":
        import torch

        return int(torch.randint(2**62, (1,)))
    return random.getrandbits(62)


#: Keys further away than any are.
_FAR = 2**32


def _window(window_size):
    """(left, right), -1 for no limit, which any number below 0 is."""
    try:
        left, right = (operator.index(side) for side in window_size)
    except (TypeError, ValueError):
        raise InvalidInput(f"argument 'window_size' is {window_size!r}, wanted two integers") from None
    return min(max(left, -1), _FAR), min(max(right, -1), _FAR)


def _soft_cap(softcap):
    cap = real(softcap, "softcap")
    if not (math.isfinite(cap) and cap >= 0):
        raise InvalidInput(f"argument 'softcap' is {softcap!r}, wanted a positive number, or 0 for none")
    return cap


def _add_alibi(modifications, slopes, problem):
    shape = tuple(getattr(slopes, "shape", ()))
    heads, batch = problem["heads"], problem["batch"]
    if shape not in ((heads,), (batch, heads)):
        raise InvalidInput(f"argument 'alibi_slopes' has the shape {shape}, wanted ({heads},) or ({batch}, {heads})")
    if _element_name(slopes) != "float32":
        raise InvalidInput(f"argument 'alibi_slopes' has elements of {_element_name(slopes)}, wanted float32")
    modifications.add("alibi")
    modifications.capture("slopes", "alibi_slopes", slopes, (1,) * (2 - len(shape)) + shape)


def _add_sink(modifications, sink, problem):
    wanted = (problem["heads"],)
    if tuple(getattr(sink, "shape", ())) != wanted:
        raise InvalidInput(f"argument 'sink' has the shape {tuple(getattr(sink, 'shape', ()))}, wanted {wanted}")
    if _element_name(sink) != "float32":
        raise InvalidInput(f"argument 'sink' has elements of {_element_name(sink)}, wanted float32")
    modifications.sink = sink


def _element_name(tensor):
    return str(getattr(tensor, "dtype", type(tensor).__name__)).rpartition(".")[2]


#: An elementwise mask: a bias, or what is seen.
_BIAS = """attn.score_mod @attn_mask(%score: f32, %batch: i32, %head: i32, %query: i32, %key: i32,
    %attn_mask: tensor<?x?x?x?x{element}> {{attn.sizes = ["batch", "heads", "seq_q", "seq_kv"]}}) {{
  %bias = attn.read %attn_mask[%batch, %head, %query, %key] : tensor<?x?x?x?x{element}> -> f32
  %result = arith.addf %score, %bias : f32
  attn.yield %result : f32
}}
"""
_SEEN = """attn.mask_mod @attn_mask(%batch: i32, %head: i32, %query: i32, %key: i32,
    %attn_mask: tensor<?x?x?x?xi1> {attn.sizes = ["batch", "heads", "seq_q", "seq_kv"]}) {
  %seen = attn.read %attn_mask[%batch, %head, %query, %key] : tensor<?x?x?x?xi1> -> i1
  attn.yield %seen : i1
}
"""


def _add_mask(modifications, mask, problem):
    """torch's attn_mask: booleans say what is seen, floats are added; broadcast from the left."""
    texts = {"bool": _SEEN, "float32": _BIAS.format(element="f32"), "float16": _BIAS.format(element="f16"),
             "float64": _BIAS.format(element="f32"), "bfloat16": _BIAS.format(element="bf16")}
    text = texts.get(_element_name(mask))
    if text is None:
        raise InvalidInput(
            f"argument 'attn_mask' has elements of {_element_name(mask)}, wanted bool, float64, float32, float16 or bfloat16"
        )
    wanted = (problem["batch"], problem["heads"], problem["seq_q"], problem["seq_kv"])
    shape = (1,) * (4 - len(mask.shape)) + tuple(mask.shape)
    fits = len(shape) == 4 and shape[3] == wanted[3] and all(a in (1, b) for a, b in zip(shape, wanted))
    if not fits:
        raise InvalidInput(
            f"argument 'attn_mask' has the shape {tuple(mask.shape)}, wanted one that broadcasts to {wanted} with all the keys"
        )
    modifications.add_text(text, "attn_mask")
    modifications.capture("attn_mask", "attn_mask", _tensors.capturable(mask, "attn_mask", differentiable=True), shape)


def _check_gqa(q, k, enable_gqa):
    if not enable_gqa and len(getattr(q, "shape", ())) == len(getattr(k, "shape", ())) == 4 and q.shape[1] != k.shape[1]:
        raise InvalidInput(
            f"argument 'key' has {k.shape[1]} heads, 'query' has {q.shape[1]}; say enable_gqa=True to share them"
        )


def _flash_modifications(window, cap, alibi_slopes, sink=None):
    """What flash-attn's arguments ask for, for a problem."""

    def modify(problem):
        modifications = Modifications()
        if cap:
            modifications.add("soft_cap", soft_cap=cap)
        if sink is not None:
            _add_sink(modifications, sink, problem)
        if alibi_slopes is not None:
            _add_alibi(modifications, alibi_slopes, problem)
        if window != (-1, -1):
            modifications.add("window", window_left=window[0], window_right=window[1])
        return modifications

    return modify


@whole_heads("softmax_scale")
def flash_attn_func(
    q,
    k,
    v,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    *,
    rng_state=None,
    sink=None,
    return_lse=False,
    out=None,
    lse=None,
    dtype=None,
    num_splits=0,
    arch="gfx950",
    stream=None,
):
    """Attention with flash-attn 2's arguments; see the stub or docs/Python.md."""
    dropout = _dropout(dropout_p, rng_state, q)
    window = _window(window_size)
    cap = _soft_cap(softcap)
    _refuse(bool(return_attn_probs), False, "return_attn_probs", "return_lse=True gives the log-sum-exp")

    call = Call(
        Names("q", "k", "v"), layout="bshd", mask="causal" if causal else "none",
        scale=_scale(softmax_scale, "softmax_scale"), dtype=dtype, num_splits=num_splits,
        arch=arch, stream=stream, modify=_flash_modifications(window, cap, alibi_slopes, sink), dropout=dropout,
    )
    return attend(call, q, k, v, out=out, lse=lse, return_lse=return_lse,
                  others=[("sink", "sink", sink), ("slopes", "alibi_slopes", alibi_slopes)])


def flash_attn_backward(
    dout,
    q,
    k,
    v,
    out,
    softmax_lse,
    dq=None,
    dk=None,
    dv=None,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    rng_state=None,
    *,
    sink=None,
    dsink=None,
    accumulate=None,
    dtype=None,
    arch="gfx950",
    stream=None,
):
    """The gradients of flash_attn_func's q, k and v, dq, dk and dv, and into `dsink` the sink's; docs/Python.md has an
    example. The same bits each time, unless `accumulate` lets atomics add dQ up, in "f32" or "packed" in pairs of q's type;
    `deterministic` refuses that."""
    for name, tensor in (("dout", dout), ("q", q), ("k", k), ("v", v), ("out", out)):
        _tensors.refuse_gradient(tensor, name)
    if not are_whole(q, k, v):
        given = dict(dropout_p=dropout_p, causal=causal, window_size=window_size, softcap=softcap, alibi_slopes=alibi_slopes,
                     deterministic=deterministic, rng_state=rng_state, sink=sink, dsink=dsink, accumulate=accumulate,
                     dtype=dtype, arch=arch, stream=stream)
        scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
        made = flash_attn_backward(*padded(dout, q, k, v, out), softmax_lse, softmax_scale=scale, **given)
        return tuple(cut(whole, like.shape[-1], own) for whole, like, own in zip(made, (q, k, v), (dq, dk, dv)))
    if real(dropout_p, "dropout_p") and rng_state is None:
        raise InvalidInput("argument 'rng_state' is missing: with dropout_p it is what the forward was given")
    if dsink is not None and sink is None:
        raise InvalidInput("argument 'dsink' is given, but no sink that it is the gradient of")
    call = Call(
        Names("q", "k", "v"), layout="bshd", mask="causal" if causal else "none",
        scale=_scale(softmax_scale, "softmax_scale"), dtype=dtype, arch=arch, stream=stream,
        modify=_flash_modifications(_window(window_size), _soft_cap(softcap), alibi_slopes, sink),
        dropout=_dropout(dropout_p, rng_state, q), others=() if dsink is None else ("sink",),
        accumulate=accumulate, deterministic=deterministic,
    )
    return call.backward(
        dout, q, k, v, out, softmax_lse, (dq, dk, dv), lse_name="softmax_lse", others={"sink": dsink}
    )[:3]


@whole_heads("softmax_scale")
def flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    block_table=None,
    *,
    rng_state=None,
    sink=None,
    min_seqlen_q=0,
    seqused_q=None,
    seqused_k=None,
    work_list=False,
    return_lse=False,
    out=None,
    lse=None,
    dtype=None,
    arch="gfx950",
    stream=None,
):
    """Attention of packed sequences with flash-attn 2's arguments; see the stub or docs/PackedAndPaged.md."""
    dropout = _dropout(dropout_p, rng_state, q)
    _refuse(bool(return_attn_probs), False, "return_attn_probs", "return_lse=True gives the log-sum-exp")
    check_starts(cu_seqlens_q, cu_seqlens_k, seqused_k, block_table)
    call = Call(
        Names("q", "k", "v"), layout="packed", mask="causal" if causal else "none",
        scale=_scale(softmax_scale, "softmax_scale"), dtype=dtype, arch=arch, stream=stream,
        modify=_flash_modifications(_window(window_size), _soft_cap(softcap), alibi_slopes, sink), dropout=dropout,
        sequences=Sequences(
            Sequences.longest_of(max_seqlen_q, max_seqlen_k) | {
                "min_seqlen_q": integer(min_seqlen_q, "min_seqlen_q", 0), "work_list": bool(work_list)},
            block_table, cu_seqlens_q=cu_seqlens_q,
            cu_seqlens_k=cu_seqlens_k if block_table is None else None, seqused_q=seqused_q,
            seqused_k=lengths_in_pages(cu_seqlens_k, seqused_k, block_table),
        ),
    )
    return attend(call, q, k, v, out=out, lse=lse, return_lse=return_lse,
                  others=[("sink", "sink", sink), ("slopes", "alibi_slopes", alibi_slopes)])


def _longest_query(cu_seqlens_q, max_seqlen_q):
    """The most queries of a sequence, where they are packed."""
    if (cu_seqlens_q is None) != (max_seqlen_q is None):
        missing, given = ("cu_seqlens_q", "max_seqlen_q") if cu_seqlens_q is None else ("max_seqlen_q", "cu_seqlens_q")
        raise InvalidInput(f"argument '{missing}' is missing, which '{given}' goes with")
    if cu_seqlens_q is None:
        return None
    shape = tuple(getattr(cu_seqlens_q, "shape", ()))
    if len(shape) != 1 or shape[0] < 1:
        raise InvalidInput(f"argument 'cu_seqlens_q' has the shape {shape}, wanted [batch + 1]")
    return integer(max_seqlen_q, "max_seqlen_q", 1)


@whole_heads("softmax_scale", written=("k", "v"))
def flash_attn_with_kvcache(
    q,
    k_cache,
    v_cache,
    k=None,
    v=None,
    rotary_cos=None,
    rotary_sin=None,
    cache_seqlens=None,
    cache_batch_idx=None,
    cache_leftpad=None,
    block_table=None,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    rotary_interleaved=True,
    alibi_slopes=None,
    num_splits=0,
    return_softmax_lse=False,
    *,
    cu_seqlens_q=None,
    max_seqlen_q=None,
    sink=None,
    out=None,
    lse=None,
    dtype=None,
    arch="gfx950",
    stream=None,
):
    """Attention over a cache of keys and values: flash-attn 2's arguments, and flash-attn 3's of packed queries;
    docs/Caches.md has the rest."""
    most = _longest_query(cu_seqlens_q, max_seqlen_q)
    _refuse(cache_leftpad, None, "cache_leftpad", "let sequences begin with the first row of the cache")
    if cache_batch_idx is not None and block_table is not None:
        raise InvalidInput("argument 'cache_batch_idx' is given with 'block_table', which says where keys are; leave one out")
    for name, tensor in (("q", q), ("k_cache", k_cache)):
        dimensions, wanted = len(getattr(tensor, "shape", ())), 3 if most and name == "q" else 4
        if dimensions != wanted and not (dimensions == 5 and name == "k_cache" and block_table is not None):
            layout = "packed" if wanted == 3 else "pages" if block_table is not None and name != "q" else "bshd"
            raise InvalidInput(
                f"argument '{name}' has {dimensions} dimensions, wanted {wanted}: {LAYOUTS[layout]}"
            )
    batch = cu_seqlens_q.shape[0] - 1 if most else q.shape[0]
    rows = k_cache.shape[1 if len(k_cache.shape) == 4 else 3]
    # A cache is a pool of pages that hold all of a sequence.
    table, arguments = block_table, {"seqused_k": "cache_seqlens"}
    if cache_batch_idx is not None:
        table, arguments["block_table"] = cache_batch_idx, "cache_batch_idx"
    if block_table is not None:
        shape = tuple(getattr(block_table, "shape", ()))
        if len(shape) != 2:
            raise InvalidInput(f"argument 'block_table' has the shape {shape}, wanted [batch, entries]")
        rows *= shape[1]
    longest = {"seq_q": most or q.shape[1], "seq_kv": rows}
    update = None
    if any(tensor is not None for tensor in (k, v, rotary_cos, rotary_sin)):
        update = Appended(k, v, rotary_cos, rotary_sin, bool(rotary_interleaved), (k_cache, v_cache), rows, dtype, most)
    call = Call(
        Names("q", "k_cache", "v_cache"), layout="packed" if most else "bshd", of_keys="bshd", mask="causal" if causal else "none",
        scale=_scale(softmax_scale, "softmax_scale"), dtype=dtype, arch=arch, stream=stream, num_splits=num_splits,
        modify=_flash_modifications(_window(window_size), _soft_cap(softcap), alibi_slopes, sink), update=update,
        sequences=Sequences(longest, table, arguments, batch, cu_seqlens_q=cu_seqlens_q,
                            seqused_k=cache_lengths(cache_seqlens, q, batch, rows)),
    )
    return attend(call, q, k_cache, v_cache, out=out, lse=lse, return_lse=return_softmax_lse)


@whole_heads("scale")
def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
    *,
    rng_state=None,
    return_lse=False,
    out=None,
    lse=None,
    dtype=None,
    num_splits=0,
    arch="gfx950",
    stream=None,
):
    """Attention with torch's arguments; see the stub or docs/Python.md."""
    if attn_mask is not None and is_causal:
        raise InvalidInput("argument 'attn_mask' is given with is_causal=True; leave out one of them")
    dropout = _dropout(dropout_p, rng_state, query)
    shapes = _broadcast.Batches(query, key, value)
    query, key, value = shapes.four(query, "query"), shapes.four(key, "key"), shapes.four(value, "value")
    _check_gqa(query, key, enable_gqa)
    attn_mask = shapes.mask(attn_mask, query, key)

    def modify(problem):
        modifications = Modifications()
        if is_causal and problem["seq_q"] != problem["seq_kv"]:
            problem["mask"] = "none"  # torch's diagonal begins at the top left
            modifications.add("causal_top_left")
        if attn_mask is not None:
            _add_mask(modifications, attn_mask, problem)
        return modifications

    call = Call(
        Names("query", "key", "value"), layout="bhsd", mask="causal" if is_causal else "none", scale=_scale(scale, "scale"),
        dtype=dtype, num_splits=num_splits, arch=arch, stream=stream, modify=modify, dropout=dropout,
    )
    results = attend(
        call, query, key, value, out=None if out is None else shapes.four(out, "out"),
        lse=None if lse is None else shapes.four_of_rows(lse), return_lse=return_lse,
        others=[("attn_mask", "attn_mask", attn_mask)],
    )
    made, made_lse = results if return_lse else (results, None)
    made = out if out is not None else shapes.back(made)
    if not return_lse:
        return made
    return made, lse if lse is not None else shapes.back(made_lse)


@whole_heads("scale")
def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    out=None,
    lse=None,
    dtype=None,
    num_splits=0,
    arch="gfx950",
    stream=None,
):
    """Attention with torch's arguments: `score_mod` and the `mask_mod` of `block_mask` are Python functions.

    They are traced (hocket/flex.py says what may stand in them); what cannot be is an exception at the line that does it.
    """
    if kernel_options:
        raise Unsupported("argument 'kernel_options' is given, which says nothing to these kernels; leave it None")
    if block_mask is not None:
        block_mask = block_masks.BlockMask.of(block_mask)
    key, value = _broadcast.to_batch_of(query, key), _broadcast.to_batch_of(query, value)
    _check_gqa(query, key, enable_gqa)
    others = []

    def modify(problem):
        modifications = Modifications()
        sizes = {name: problem[name] for name in ("batch", "heads", "seq_kv", "seq_q")}
        traced = []
        if score_mod is not None:
            traced.append(flex.trace(score_mod, "score_mod", False, sizes, "score_"))
        if block_mask is not None:
            block_mask.check(sizes)
            for name, tensor in block_mask.tensors().items():
                modifications.capture(name, f"block_mask.{name}", _tensors.capturable(tensor, "block_mask"), tensor.shape)
            modifications.blocks = block_mask.block_sizes(sizes)
        if block_mask is not None and block_mask.mask_mod is not None:
            traced.append(flex.trace(block_mask.mask_mod, "mask_mod", True, sizes, "mask_"))
        for modification, name in zip(traced, ("score_mod", "mask_mod") if score_mod is not None else ("mask_mod",)):
            modifications.add_text(modification.text, name)
            for captured, tensor in modification.tensors.items():
                where = f"{name} (a tensor that it captures)"
                # Of a predicate there is no gradient.
                if name == "score_mod" and _tensors.wants_gradient(tensor) and "float" in str(tensor.dtype):
                    others.append((captured, where, tensor))
                    call.others = (*call.others, captured)
                own = _tensors.capturable(tensor, where, differentiable=captured in call.others)
                modifications.capture(captured, where, own, tensor.shape)
        return modifications

    call = Call(
        Names("query", "key", "value"), layout="bhsd", mask="none", scale=_scale(scale, "scale"), dtype=dtype,
        num_splits=num_splits, arch=arch, stream=stream, modify=modify,
    )
    call.describe(query, key, value)
    return attend(call, query, key, value, out=out, lse=lse, return_lse=return_lse, others=others)
