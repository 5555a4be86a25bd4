"""Attention by the names and arguments that people have: flash-attn 2's and torch's.

What the library cannot do is refused by an exception that names the argument; nothing is ignored.
"""
from . import _broadcast, _calls, _gathered, _tensors, block_mask as block_masks, flex
from ._arguments import real
from ._call import attend
from ._errors import InvalidInput, Unsupported
from ._heads import are_whole, cut, padded, whole_heads
from ._ready import remembered


@remembered
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
    deterministic_lengths=False,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    q_scale=None,
    k_scale=None,
    v_scale=None,
    output_scale=None,
):
    """Attention with flash-attn 2's arguments; see the stub or docs/Python.md."""
    _refuse_probabilities(return_attn_probs)
    given = (dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, rng_state, sink, num_splits, arch)
    descales, scales = (q_descale, k_descale, v_descale), (q_scale, k_scale, v_scale)
    if _tensors.is_traced(q):
        _refuse_traced(deterministic_lengths, descales, scales=scales, output_scale=output_scale)
        return _operators().flash_attn_func(q, k, v, given, out, lse, return_lse)
    call, others = _calls.dense(q, k, v, *given, dtype, stream, descales, scales, output_scale)
    call.deterministic_lengths = bool(deterministic_lengths)
    return attend(call, q, k, v, out=out, lse=lse, return_lse=return_lse, others=others)


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
    differentiable = [tensor for tensor in (dout, q, k, v, out, softmax_lse, sink) if _tensors.wants_gradient(tensor)]
    if differentiable:
        from . import _autograd

        return _autograd.only_once(lambda: flash_attn_backward(
            dout, q, k, v, out, softmax_lse, dq, dk, dv, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
            deterministic, rng_state, sink=sink, dsink=dsink, accumulate=accumulate, dtype=dtype, arch=arch, stream=stream),
            differentiable)
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
    call, _ = _calls.dense(q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, rng_state, sink, 0, arch,
                           dtype, stream)
    call.add_up(() if dsink is None else ("sink",), accumulate, deterministic)
    return call.backward(
        dout, q, k, v, out, softmax_lse, (dq, dk, dv), lse_name="softmax_lse", others={"sink": dsink}
    )[:3]


@remembered
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
    deterministic_lengths=False,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    q_scale=None,
    k_scale=None,
    v_scale=None,
    output_scale=None,
):
    """Attention of packed sequences with flash-attn 2's arguments; see the stub or docs/PackedAndPaged.md."""
    _refuse_probabilities(return_attn_probs)
    if _gathered.needs_rows(q, k, v, block_table):
        k, v, cu_seqlens_k, seqused_k = _gathered.rows_of(k, v, cu_seqlens_k, seqused_k, block_table)
        block_table = None
    given = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal, window_size, softcap,
             alibi_slopes, block_table, rng_state, sink, min_seqlen_q, seqused_q, seqused_k, work_list, arch)
    descales, scales = (q_descale, k_descale, v_descale), (q_scale, k_scale, v_scale)
    if _tensors.is_traced(q):
        _refuse_traced(deterministic_lengths, descales, scales=scales, output_scale=output_scale)
        return _operators().flash_attn_varlen_func(q, k, v, given, out, lse, return_lse)
    call, others = _calls.packed(q, k, v, *given, dtype, stream, descales, scales, output_scale)
    call.deterministic_lengths = bool(deterministic_lengths)
    return attend(call, q, k, v, out=out, lse=lse, return_lse=return_lse, others=others)


@remembered
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
    deterministic_lengths=False,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    kv_cache_dtype=None,
    output_scale=None,
):
    """Attention over a cache of keys and values: flash-attn 2's arguments, flash-attn 3's of packed queries, and vLLM's
    `kv_cache_dtype`; docs/Caches.md has the rest."""
    dtype = _calls.cache_types(dtype, kv_cache_dtype, k_cache, v_cache)
    if cache_leftpad is not None:
        for name, tensor in (("block_table", block_table), ("cu_seqlens_q", cu_seqlens_q), ("q_descale", q_descale),
                             ("k_descale", k_descale), ("v_descale", v_descale), ("output_scale", output_scale)):
            if tensor is not None:
                raise Unsupported(f"argument '{name}' is given with 'cache_leftpad', which goes with caches [batch, rows, heads, "
                                  f"head_dim] and queries [batch, seq, heads, head_dim]; leave one of them out")
        update = None if k is None else (k, v, rotary_cos, rotary_sin, rotary_interleaved)
        made = _with_leftpad(q, k_cache, v_cache, update, (cache_seqlens, cache_batch_idx, cache_leftpad), dict(
            softmax_scale=softmax_scale, causal=causal, window_size=window_size, softcap=softcap, alibi_slopes=alibi_slopes,
            sink=sink, dtype=dtype, arch=arch, stream=stream, deterministic_lengths=deterministic_lengths))
        return _into(made, out, lse, return_softmax_lse)
    given = (k, v, rotary_cos, rotary_sin, cache_seqlens, cache_batch_idx, block_table, softmax_scale, causal, window_size, softcap,
             rotary_interleaved, alibi_slopes, num_splits, cu_seqlens_q, max_seqlen_q, sink, arch)
    descales = q_descale, k_descale, v_descale
    if _tensors.is_traced(q):
        _refuse_traced(deterministic_lengths, descales, kv_cache_dtype not in (None, "auto"), output_scale=output_scale)
        return _operators().flash_attn_with_kvcache(q, k_cache, v_cache, given, out, lse, return_softmax_lse)
    call, others = _calls.cached(q, k_cache, v_cache, *given, dtype, stream, descales, output_scale)
    call.deterministic_lengths = bool(deterministic_lengths)
    return attend(call, q, k_cache, v_cache, out=out, lse=lse, return_lse=return_softmax_lse, others=others)


@remembered
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
    attn_mask, is_causal = _calls.without_causal_bias(attn_mask, is_causal, query, key)
    shapes = _broadcast.Batches(query, key, value)
    query, key, value = shapes.four(query, "query"), shapes.four(key, "key"), shapes.four(value, "value")
    if not enable_gqa:
        query, key, value = _broadcast.to_same_heads(query, key, value)
    _calls.check_gqa(query, key, enable_gqa)
    attn_mask = shapes.mask(attn_mask, query, key)
    given = attn_mask, dropout_p, is_causal, scale, rng_state, num_splits, arch
    into = None if out is None else shapes.four(out, "out"), None if lse is None else shapes.four_of_rows(lse)
    if _tensors.is_traced(query):
        results = _operators().scaled_dot_product_attention(query, key, value, given, *into, return_lse)
    else:
        call, others = _calls.torch_like(query, key, value, *given, dtype, stream)
        results = attend(call, query, key, value, out=into[0], lse=into[1], return_lse=return_lse, others=others)
    made, made_lse = results if return_lse else (results, None)
    made = out if out is not None else shapes.back(made)
    if not return_lse:
        return made
    return made, lse if lse is not None else shapes.back(made_lse)


@remembered
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
    return_aux=None,
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
    _check_options(kernel_options)
    if return_aux is not None:
        return _with_aux(return_aux, return_lse, lambda return_lse: flex_attention(
            query, key, value, score_mod, block_mask, scale, enable_gqa, return_lse, out=out, lse=lse, dtype=dtype,
            num_splits=num_splits, arch=arch, stream=stream))
    key, value = _broadcast.to_batch_of(query, key), _broadcast.to_batch_of(query, value)
    _calls.check_gqa(query, key, enable_gqa)
    given = (*_modifications(query, key, score_mod, block_mask), scale, num_splits, arch)
    if _tensors.is_traced(query):
        return _operators().flex_attention(query, key, value, given, out, lse, return_lse)
    call, others = _calls.modified(query, key, value, *given, dtype, stream)
    return attend(call, query, key, value, out=out, lse=lse, return_lse=return_lse, others=others)


#: What torch's kernels are tuned by, and these have no use for: no result depends on it.
_HINTS = {"BACKEND", "BLOCKS_ARE_CONTIGUOUS", "FORCE_USE_FLEX_ATTENTION", "PRESCALE_QK", "ROWS_GUARANTEED_SAFE", "USE_TMA",
          "WRITE_DQ", "kpack", "matrix_instr_nonkdim", "num_stages", "num_warps", "waves_per_eu"} | {
              f"BLOCK_{side}{number}" for side in "MN" for number in ("", 1, 2)}


def _check_options(kernel_options):
    for name in kernel_options or ():
        if name.removeprefix("fwd_").removeprefix("bwd_") not in _HINTS:
            raise Unsupported(f"argument 'kernel_options' has '{name}', which says nothing to these kernels; leave it out")


def _with_aux(request, return_lse, attend_with):
    """torch's AuxRequest of results beside O, and what it gives for it."""
    if return_lse:
        raise InvalidInput("argument 'return_aux' is given with return_lse=True; leave out one of them")
    if getattr(request, "max_scores", False):
        raise Unsupported("argument 'return_aux' asks for 'max_scores', which kernels do not keep; ask for 'lse' alone")
    from torch.nn.attention.flex_attention import AuxOutput

    if not request.lse:
        return attend_with(False), AuxOutput()
    out, lse = attend_with(True)
    return out, AuxOutput(lse=lse)


def _with_leftpad(q, k_cache, v_cache, update, places, options):
    """O and LSE of a cache as packed sequences. New keys are written by a call of their own."""
    lengths, batch_idx, leftpad = places
    rows = _gathered.Leftpad(q, k_cache, v_cache, lengths, batch_idx, leftpad)
    if update is not None:
        k, v, cos, sin, interleaved = update
        flash_attn_with_kvcache(q, k_cache, v_cache, k, v, cos, sin, lengths, batch_idx, rotary_interleaved=interleaved,
                                **{name: options[name] for name in ("dtype", "arch", "stream")})
        rows = _gathered.Leftpad(q, k_cache, v_cache, lengths, batch_idx, leftpad)
        rows.turn(cos, sin, interleaved, options["causal"] or tuple(options["window_size"]) != (-1, -1), k.shape[1])
    arguments, used = rows.arguments()
    return rows.as_dense(*flash_attn_varlen_func(*arguments, seqused_k=used, return_lse=True, **options))


def _into(made, out, lse, return_lse):
    """O, and if it is wanted LSE, in the caller's tensors where those are given."""
    results = []
    for given, own in zip((out, lse), made):
        if given is not None:
            given[...] = own
        results.append(own if given is None else given)
    return tuple(results) if return_lse else results[0]


def _modifications(query, key, score_mod, block_mask):
    """The texts of both functions and the tensors that each reads, the lists of blocks, and their sizes."""
    shapes = [tuple(getattr(tensor, "shape", ())) for tensor in (query, key)]
    if any(len(shape) != 4 for shape in shapes):
        return "", [], "", [], [], []  # which is refused
    sizes = {"batch": shapes[0][0], "heads": shapes[0][1], "seq_kv": shapes[1][2], "seq_q": shapes[0][2]}
    score, mask, lists, block_sizes = flex.Modification("", []), flex.Modification("", []), [], []
    if score_mod is not None:
        score = flex.trace(score_mod, "score_mod", False, sizes, "score_")
    if block_mask is not None:
        block_mask = block_masks.BlockMask.of(block_mask)
        block_mask.check(sizes)
        block_mask = block_mask.in_whole_tiles(sizes)
        lists, block_sizes = list(block_mask.tensors().values()), list(block_mask.block_sizes(sizes) or ())
        if block_mask.mask_mod is not None:
            mask = flex.trace(block_mask.mask_mod, "mask_mod", True, sizes, "mask_")
    return score.text, score.tensors, mask.text, mask.tensors, lists, block_sizes


def _refuse_probabilities(return_attn_probs):
    _calls.refuse(bool(return_attn_probs), False, "return_attn_probs", "return_lse=True gives the log-sum-exp")


def _refuse_traced(deterministic_lengths, descales=(), kv_cache_dtype=None, scales=(), output_scale=None):
    for name, is_given in (("deterministic_lengths", deterministic_lengths), *zip(("q_descale", "k_descale", "v_descale"), (
            descale is not None for descale in descales)), *zip(("q_scale", "k_scale", "v_scale"), (scale is not None for scale in scales)),
            ("kv_cache_dtype", kv_cache_dtype), ("output_scale", output_scale is not None)):
        if is_given:
            raise Unsupported(f"argument '{name}' is given while torch traces, whose operators do not have it; call the function "
                              f"outside of what is compiled, or leave it out")


def _operators():
    """The same as operators of torch's, which torch traces."""
    from . import _operators

    return _operators
