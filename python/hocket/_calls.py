"""What the public functions ask for, as calls: their arguments read, with all that the problem says beside the tensors.

Each function here gives a `Call`, and the tensors beside q, k and v that may have a gradient: (the problem's name of it, the
argument's, the tensor).
"""
import math
import operator

from . import _tensors
from ._append import Appended
from ._arguments import integer, real, text
from ._call import LAYOUTS, Call, Modifications, Names
from ._errors import InvalidInput, Unsupported
from ._sequences import Sequences, cache_lengths, check_starts, lengths_in_pages


#: Elements of a row that share a scale of the mx formats.
_MX_BLOCK = 32


def refuse(given, nothing, name, instead):
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


def dropout(probability, rng_state, query):
    """(probability, seed, offset), or None where nothing is dropped."""
    probability = real(probability, "dropout_p")
    if not 0 <= probability < 1:
        raise InvalidInput(f"argument 'dropout_p' is {probability}, wanted a probability from 0 to less than 1")
    if rng_state is None:
        if probability == 0:
            return None
        return probability, *drawn_state(query)
    try:
        seed, offset = (operator.index(number) for number in rng_state)
    except (TypeError, ValueError):
        raise InvalidInput(f"argument 'rng_state' is {rng_state!r}, wanted two integers, a seed and an offset") from None
    if not all(-(2**63) <= number < 2**63 for number in (seed, offset)):
        raise InvalidInput(f"argument 'rng_state' is {rng_state!r}, wanted integers of 64 bits")
    return (probability, seed, offset) if probability else None


def drawn_state(query):
    """A seed and an offset, from the generator that the caller seeds: torch's own for its tensors, else Python's."""
    if type(query).__module__.partition(".")[0] == "torch":
        import torch

        return int(torch.randint(2**62, (1,))), 0
    import random

    return random.getrandbits(62), 0


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
    modifications.add("alibi")
    slopes = _tensors.as_float32(slopes, "alibi_slopes")
    modifications.capture("slopes", "alibi_slopes", slopes, (1,) * (2 - len(shape)) + shape)


def _add_sink(modifications, sink, problem):
    wanted = (problem["heads"],)
    if tuple(getattr(sink, "shape", ())) != wanted:
        raise InvalidInput(f"argument 'sink' has the shape {tuple(getattr(sink, 'shape', ()))}, wanted {wanted}")
    modifications.sink = _tensors.as_float32(sink, "sink")


def _add_descales(modifications, descales, problem):
    """What a number of q, k and v counts: float32 [batch, kv_heads], or what broadcasts to that; 1 of those that are missing."""
    like = next((descale for descale in descales if descale is not None), None)
    if like is None:
        return
    wanted = problem["batch"], problem["kv_heads"]
    for key, descale in zip("qkv", descales):
        name = f"{key}_descale"
        if descale is None:
            modifications.descales.append((name, _tensors.expanded(like, (1, 1), wanted, ones=True)))
            continue
        shape = tuple(getattr(descale, "shape", ()))
        if key != "q" and len(shape) == 3:
            _add_descales_of_keys(modifications, name, descale, shape, problem)
            continue
        if len(shape) > 2 or any(extent not in (1, most) for extent, most in zip(shape[::-1], wanted[::-1])):
            raise InvalidInput(f"argument '{name}' has the shape {shape}, wanted [batch, kv_heads], {wanted}, or what broadcasts "
                               f"to it")
        if _element_name(descale) != "float32":
            raise InvalidInput(f"argument '{name}' has elements of {_element_name(descale)}, wanted float32")
        modifications.descales.append((name, _tensors.expanded(descale, shape, wanted)))


def _add_descales_of_keys(modifications, name, descale, shape, problem):
    """A number for each key, or value, where rows of k, or v, have their heads: packed rows with 1 behind, pages with any
    strides."""
    heads = problem["kv_heads"]
    if problem["pages"] is not None:
        rows, pages = problem["pages"]
        wanted = pages, rows, heads
    elif "cu_seqlens_k" in problem["lists"]:
        wanted = problem["total_kv"], heads, 1
    else:
        wanted = problem["batch"], problem["seq_kv"], heads
    if shape != wanted:
        raise InvalidInput(f"argument '{name}' has the shape {shape}, wanted {wanted}: one for each key and head")
    if _element_name(descale) != "float32":
        raise InvalidInput(f"argument '{name}' has elements of {_element_name(descale)}, wanted float32")
    modifications.descale_blocks["descale_keys" if name == "k_descale" else "descale_values"] = 1
    if problem["pages"] is not None:
        modifications.strided.append((name, descale[..., None]))
    else:
        moved = descale[..., 0] if "cu_seqlens_k" in problem["lists"] else descale
        modifications.descales.append((name, _tensors.contiguous(moved.swapaxes(-1, -2))))


def _add_output_scale(modifications, scale):
    shape = tuple(getattr(scale, "shape", ()))
    if shape not in ((), (1,)) or _element_name(scale) != "float32":
        raise InvalidInput(f"argument 'output_scale' is {_element_name(scale)} of the shape {shape}, wanted a float32 tensor of one "
                           f"number")
    modifications.output_scale = scale.reshape(1)


def _add_block_scales(modifications, scales, problem):
    """The powers of two of blocks of q and k, both or neither: E8M0, q's shape with a number for each 32 elements. Of v of 4 bits
    each 32 keys of an element have one: v's shape with a row for each 32 keys."""
    of_values = problem["scaled_values"]
    names = [f"{key}_scale" for key in "qkv"]
    present = [name for name, scale in zip(names, scales) if scale is not None]
    if not present:
        return
    missing = [name for name in names[:3 if of_values else 2] if name not in present]
    if missing:
        raise InvalidInput(f"argument '{missing[0]}' is missing, which '{present[0]}' goes with")
    if not of_values and scales[2] is not None:
        raise InvalidInput("argument 'v_scale' is given, and 'v' has elements of more than 4 bits, which have no scales of blocks; give "
                           "'v_descale', or v as f4e2m1")
    if of_values:
        _add_value_scales(modifications, scales[2], problem)
    blocks = problem["head_dim"] // _MX_BLOCK
    for key, scale, heads in zip("qk", scales, (problem["heads"], problem["kv_heads"])):
        name, shape = f"{key}_scale", tuple(getattr(scale, "shape", ()))
        rows = problem["total_q"] if key == "q" else problem["total_kv"]
        dense = problem["batch"], problem["seq_q" if key == "q" else "seq_kv"], heads, blocks
        wanted = (rows, heads, blocks) if len(shape) == 3 else dense
        if shape != wanted:
            raise InvalidInput(f"argument '{name}' has the shape {shape}, wanted {wanted}: one for each {_MX_BLOCK} elements of "
                               f"'{key}'")
        _refuse_no_scales(scale, name)
        modifications.scales.append((name, _tensors.scale_words(scale)))


def _add_value_scales(modifications, scale, problem):
    shape = tuple(getattr(scale, "shape", ()))
    wanted = problem["batch"], -(-problem["seq_kv"] // _MX_BLOCK), problem["kv_heads"], problem["head_dim_v"]
    if shape != wanted:
        raise InvalidInput(f"argument 'v_scale' has the shape {shape}, wanted {wanted}: one for each {_MX_BLOCK} keys of an element of "
                           f"'v'")
    _refuse_no_scales(scale, "v_scale")
    modifications.scales.append(("v_scale", _tensors.value_scale_words(scale)))


def _refuse_no_scales(scale, name):
    if _element_name(scale) not in ("uint8", "float8_e8m0fnu"):
        raise InvalidInput(f"argument '{name}' has elements of {_element_name(scale)}, wanted bytes of E8M0: uint8 or "
                           f"float8_e8m0fnu")


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
    if not _tensors.is_plain(mask):
        raise Unsupported(f"argument 'attn_mask' is a '{type(mask).__name__}', which may mean something else than what it holds; give "
                          f"attn_mask.as_subclass(torch.Tensor)")
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


#: What torch_like takes as `is_causal` for the diagonal that ends at the bottom right.
_LOWER_RIGHT = "lower right"


def without_causal_bias(mask, is_causal, query, key):
    """(attn_mask, is_causal) where the mask is torch's CausalBias, a tensor that says which diagonal it is and holds nothing."""
    if type(mask).__name__ != "CausalBias":
        return mask, is_causal
    lengths, wanted = (mask.seq_len_q, mask.seq_len_kv), (query.shape[-2], key.shape[-2])
    if lengths != wanted:
        raise InvalidInput(f"argument 'attn_mask' is torch's CausalBias of {lengths[0]} queries and {lengths[1]} keys, the tensors have "
                           f"{wanted[0]} and {wanted[1]}")
    if mask.variant.name == "UPPER_LEFT" or lengths[0] == lengths[1]:
        return None, True
    if _tensors.is_traced(query):
        return mask._materialize(query.device), False
    return None, _LOWER_RIGHT


def check_gqa(q, k, enable_gqa):
    if not enable_gqa and len(getattr(q, "shape", ())) == len(getattr(k, "shape", ())) == 4 and q.shape[1] != k.shape[1]:
        raise InvalidInput(
            f"argument 'key' has {k.shape[1]} heads, 'query' has {q.shape[1]}; say enable_gqa=True to share them"
        )


def _flash_modifications(window, cap, alibi_slopes, sink=None, descales=(), scales=(None, None, None), output_scale=None, more=()):
    """What flash-attn's arguments ask for, for a problem; and `more` modifications: (the argument's name, the text, (the text's
    name of it, a tensor) for each tensor)."""

    def modify(problem):
        modifications = Modifications()
        if cap:
            modifications.add("soft_cap", soft_cap=cap)
        if sink is not None:
            _add_sink(modifications, sink, problem)
        _add_descales(modifications, descales, problem)
        _add_block_scales(modifications, scales, problem)
        if output_scale is not None:
            _add_output_scale(modifications, output_scale)
        if alibi_slopes is not None:
            _add_alibi(modifications, alibi_slopes, problem)
        if window != (-1, -1):
            modifications.add("window", window_left=window[0], window_right=window[1])
        for argument, text, *captured in more:
            modifications.add_text(text, argument)
            for name, tensor in captured:
                modifications.capture(name, argument, tensor, tensor.shape)
        return modifications

    return modify


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


def dense(q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, rng_state, sink, num_splits, arch,
          dtype=None, stream=None, descales=(), scales=(None, None, None), output_scale=None):
    """flash_attn_func."""
    call = Call(
        Names("q", "k", "v"), layout="bshd", mask="causal" if causal else "none", scale=_scale(softmax_scale, "softmax_scale"),
        dtype=dtype, num_splits=num_splits, arch=arch, stream=stream, dropout=dropout(dropout_p, rng_state, q),
        modify=_flash_modifications(_window(window_size), _soft_cap(softcap), alibi_slopes, sink, descales, scales,
                                    output_scale),
    )
    return call, [("sink", "sink", sink), ("slopes", "alibi_slopes", alibi_slopes)]


def packed(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal, window_size,
           softcap, alibi_slopes, block_table, rng_state, sink, min_seqlen_q, seqused_q, seqused_k, work_list, arch, dtype=None,
           stream=None, descales=(), scales=(None, None, None), output_scale=None, more=()):
    """flash_attn_varlen_func, with `more` modifications."""
    check_starts(cu_seqlens_q, cu_seqlens_k, seqused_k, block_table)
    call = Call(
        Names("q", "k", "v"), layout="packed", mask="causal" if causal else "none",
        scale=_scale(softmax_scale, "softmax_scale"), dtype=dtype, arch=arch, stream=stream,
        modify=_flash_modifications(_window(window_size), _soft_cap(softcap), alibi_slopes, sink, descales, scales,
                                    output_scale, more),
        dropout=dropout(dropout_p, rng_state, q),
        sequences=Sequences(
            Sequences.longest_of(max_seqlen_q, max_seqlen_k) | {
                "min_seqlen_q": integer(min_seqlen_q, "min_seqlen_q", 0), "work_list": bool(work_list)},
            block_table, cu_seqlens_q=cu_seqlens_q,
            cu_seqlens_k=cu_seqlens_k if block_table is None else None, seqused_q=seqused_q,
            seqused_k=lengths_in_pages(cu_seqlens_k, seqused_k, block_table),
        ),
    )
    return call, [("sink", "sink", sink), ("slopes", "alibi_slopes", alibi_slopes)]


#: vLLM's names of what a cache holds.
_CACHE_TYPES = {"auto": None, "fp8": "f8e4m3", "fp8_e4m3": "f8e4m3", "fp8_e5m2": "f8e5m2"}


def cache_types(dtype, kv_cache_dtype, k_cache, v_cache):
    """The argument `dtype` with what `kv_cache_dtype` says of caches: that their bytes are floats of 8 bits."""
    if kv_cache_dtype is None:
        return dtype
    name = text(kv_cache_dtype, "kv_cache_dtype", "a name such as 'fp8_e4m3'")
    if name not in _CACHE_TYPES:
        raise InvalidInput(f"argument 'kv_cache_dtype' is '{name}', wanted one of {', '.join(_CACHE_TYPES)}")
    stored = _CACHE_TYPES[name]
    if stored is None:
        return dtype
    if dtype is not None and "_" in text(dtype, "dtype", "a name such as 'bf16'"):
        raise InvalidInput(f"argument 'dtype' is '{dtype}' with kv_cache_dtype='{name}', which says what the caches hold; give the "
                           f"type of queries alone")
    for argument, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        held = _element_name(cache)
        if held != "uint8" and held != _tensors.TORCH_NAMES[stored]:
            raise InvalidInput(f"argument 'kv_cache_dtype' is '{name}', and argument '{argument}' has elements of {held}; wanted "
                               f"uint8 or {_tensors.TORCH_NAMES[stored]}")
    return f"{dtype or ''}_kv_{stored}"


def cached(q, k_cache, v_cache, k, v, rotary_cos, rotary_sin, cache_seqlens, cache_batch_idx, block_table, softmax_scale, causal,
           window_size, softcap, rotary_interleaved, alibi_slopes, num_splits, cu_seqlens_q, max_seqlen_q, sink, arch, dtype=None,
           stream=None, descales=(), output_scale=None):
    """flash_attn_with_kvcache."""
    most = _longest_query(cu_seqlens_q, max_seqlen_q)
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
        modify=_flash_modifications(_window(window_size), _soft_cap(softcap), alibi_slopes, sink, descales,
                                    output_scale=output_scale), update=update,
        sequences=Sequences(longest, table, arguments, batch, cu_seqlens_q=cu_seqlens_q,
                            seqused_k=cache_lengths(cache_seqlens, q, batch, rows)),
    )
    return call, [("sink", "sink", sink), ("slopes", "alibi_slopes", alibi_slopes)]


def torch_like(query, key, value, attn_mask, dropout_p, is_causal, scale, rng_state, num_splits, arch, dtype=None, stream=None):
    """scaled_dot_product_attention, of four dimensions."""

    def modify(problem):
        modifications = Modifications()
        if is_causal and is_causal != _LOWER_RIGHT and problem["seq_q"] != problem["seq_kv"]:
            problem["mask"] = "none"  # torch's diagonal begins at the top left
            modifications.add("causal_top_left")
        if attn_mask is not None:
            _add_mask(modifications, attn_mask, problem)
        return modifications

    call = Call(
        Names("query", "key", "value"), layout="bhsd", mask="causal" if is_causal else "none", scale=_scale(scale, "scale"),
        dtype=dtype, num_splits=num_splits, arch=arch, stream=stream, modify=modify,
        dropout=dropout(dropout_p, rng_state, query),
    )
    return call, [("attn_mask", "attn_mask", attn_mask)]


def modified(query, key, value, score, score_tensors, mask, mask_tensors, lists, block_sizes, scale, num_splits, arch, dtype=None,
             stream=None):
    """flex_attention: `score` and `mask` are texts, or empty, that read tensors called by what they are and a number; `lists`
    are those of blocks of `block_sizes`."""
    others = [(f"score_captured_{number}", "score_mod (a tensor that it captures)", tensor)
              for number, tensor in enumerate(score_tensors) if "float" in str(tensor.dtype)]

    def modify(problem):
        modifications = Modifications()
        for name, tensor in zip(BLOCK_LISTS, lists):
            modifications.capture(name, f"block_mask.{name}", _tensors.capturable(tensor, "block_mask"), tensor.shape)
        modifications.blocks = tuple(block_sizes) if lists else None
        for name, text, tensors in (("score_mod", score, score_tensors), ("mask_mod", mask, mask_tensors)):
            if text:
                modifications.add_text(text, name)
            for number, tensor in enumerate(tensors):
                captured, where = f"{name[:-4]}_captured_{number}", f"{name} (a tensor that it captures)"
                # Of a predicate there is no gradient.
                own = _tensors.capturable(tensor, where, differentiable=captured in call.others)
                modifications.capture(captured, where, own, tensor.shape)
        return modifications

    call = Call(Names("query", "key", "value"), layout="bhsd", mask="none", scale=_scale(scale, "scale"), dtype=dtype,
                num_splits=num_splits, arch=arch, stream=stream, modify=modify)
    return call, others


#: Lists of blocks, in their order; the two last may be missing.
BLOCK_LISTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
