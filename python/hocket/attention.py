"""Attention by the names and arguments that people have: flash-attn 2's and torch's.

What the library cannot do is refused by an exception that names the argument; nothing is ignored.
"""
import math
import numbers
import random

from . import _append, _hocket, _tensors, block_mask as block_masks, flex
from ._errors import InvalidInput, Unsupported

#: What messages call the dimensions of a tensor, by layout.
_DIMENSIONS = {
    "packed": "[rows, heads, head_dim]",
    "pages": "[pages, rows of a page, heads, head_dim]",
    "bshd": "[batch, seq, heads, head_dim]",
    "bhsd": "[batch, heads, seq, head_dim]",
}


class _Names:
    """What the caller's function calls the tensors."""

    def __init__(self, q, k, v):
        self.q, self.k, self.v = q, k, v


def _refuse(given, nothing, name, instead):
    """Refuses argument `name` unless it says that nothing is wanted."""
    if given is not None and (nothing is None or given != nothing):
        raise Unsupported(f"argument '{name}' is {given!r}, which no kernel does yet; {instead}")


def _check_tensor(tensor, dtype, device, what):
    if tensor.dtype != dtype:
        raise InvalidInput(
            f"argument '{tensor.argument}' has elements of {tensor.dtype}, {what} of {dtype}"
        )
    if tensor.device != device:
        raise InvalidInput(f"argument '{tensor.argument}' is on {tensor.device}, {what} on {device}")


def _check_rows(tensor, layout):
    name = tensor.argument
    rank = 3 if layout == "packed" else 4
    if len(tensor.shape) != rank:
        raise InvalidInput(
            f"argument '{name}' has {len(tensor.shape)} dimensions, wanted {rank}: {_DIMENSIONS[layout]}"
        )
    for extent in tensor.shape:
        if extent < 1:
            raise InvalidInput(
                f"argument '{name}' has the shape {tensor.shape}, wanted at least 1 of each dimension"
            )
    if tensor.strides[-1] != 1 and tensor.shape[-1] != 1:
        raise InvalidInput(
            f"argument '{name}' has a stride of {tensor.strides[-1]} between elements of its last "
            f"dimension, wanted 1; give a copy that is contiguous there"
        )
    if tensor.address % 16:
        raise InvalidInput(
            f"argument '{name}' begins {tensor.address % 16} bytes behind a multiple of 16, which "
            f"kernels load at a time; give a copy"
        )


def _check_output(tensor, shape):
    if tensor.shape != tuple(shape):
        raise InvalidInput(
            f"argument '{tensor.argument}' has the shape {tensor.shape}, wanted {tuple(shape)}"
        )
    if tensor.read_only:
        raise InvalidInput(f"argument '{tensor.argument}' is read-only, the result is written to it")


def _scale(value, name):
    if value is None:
        return None
    value = float(value)
    if not math.isfinite(value):
        raise InvalidInput(f"argument '{name}' is {value}, wanted a finite number")
    return value


def _problem(q, k, v, layout, mask, scale, num_splits, sequences=None, paged=False):
    """The shapes as a problem, after checking that they fit. `paged`: k and v are pools of pages."""
    places = {"packed": (0, 1), "bshd": (1, 2), "bhsd": (2, 1), "pages": (1, 2)}
    (seq, heads), (keys, kv_heads) = places[layout], places["pages" if paged else layout]
    for tensor in (k, v):
        if layout != "packed" and not paged and tensor.shape[0] != q.shape[0]:
            raise InvalidInput(
                f"argument '{tensor.argument}' has a batch of {tensor.shape[0]}, '{q.argument}' of {q.shape[0]}"
            )
    compared = [(keys, "keys"), (kv_heads, "heads")]
    if paged:
        compared = [(0, "pages"), (keys, "rows of a page"), (kv_heads, "heads")]
    for dimension, what in compared:
        if k.shape[dimension] != v.shape[dimension]:
            raise InvalidInput(
                f"argument '{v.argument}' has {v.shape[dimension]} {what}, '{k.argument}' has {k.shape[dimension]}"
            )
    if k.shape[-1] != q.shape[-1]:
        raise InvalidInput(
            f"argument '{k.argument}' has heads of {k.shape[-1]} elements, '{q.argument}' of {q.shape[-1]}"
        )
    if q.shape[heads] % k.shape[kv_heads]:
        raise InvalidInput(
            f"argument '{k.argument}' has {k.shape[kv_heads]} heads, wanted a divisor of the "
            f"{q.shape[heads]} of '{q.argument}'"
        )
    return {
        "dtype": "fp16" if q.dtype == "f16" else q.dtype,
        "layout": "bshd" if layout == "packed" else layout,
        "lists": [],
        "pages": (k.shape[keys], k.shape[0]) if paged else None,
        "total_q": q.shape[seq],
        "total_kv": k.shape[keys],
        "batch": q.shape[0],
        "heads": q.shape[heads],
        "kv_heads": k.shape[kv_heads],
        "seq_q": q.shape[seq],
        "seq_kv": k.shape[keys],
        "head_dim": q.shape[-1],
        "head_dim_v": v.shape[-1],
        "mask": mask,
        "scale": scale,
        "num_splits": int(num_splits),
        **(sequences or {}),
    }


def _dropout(probability, rng_state, query):
    """(probability, seed, offset), or None where nothing is dropped."""
    probability = float(probability)
    if not 0 <= probability < 1:
        raise InvalidInput(f"argument 'dropout_p' is {probability}, wanted a probability from 0 to less than 1")
    if rng_state is None:
        if probability == 0:
            return None
        return probability, _drawn_seed(query), 0
    try:
        seed, offset = (int(number) for number in rng_state)
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


class _Modifications:
    """What changes the scores or hides keys: shipped ones by name or traced text, the numbers and tensors they take."""

    def __init__(self):
        self.texts, self.numbers, self.tensors = [], {}, []
        self.sink = self.blocks = None

    def add(self, name, **numbers):
        self.texts.append((name, ""))
        self.numbers.update(numbers)

    def capture(self, name, argument, tensor, extents):
        """`tensor`, given as `argument`, is what the modification calls `name`; `extents` may pad its shape."""
        self.tensors.append((name, argument, tensor, tuple(extents)))

    def add_text(self, text, argument):
        self.texts.append((argument, text))

    def read(self, first, stream):
        """The tensors' memory by their names, and their extents."""
        views, extents = {}, {}
        own = [] if self.sink is None else [("sink", "sink", self.sink, ())]
        for name, argument, tensor, shape in self.tensors + own:
            _tensors.refuse_gradient(tensor, argument)
            view = _tensors.read(tensor, argument, None, stream)
            if view.device != first.device:
                raise InvalidInput(f"argument '{argument}' is on {view.device}, '{first.argument}' on {first.device}")
            if not view.is_contiguous:
                raise InvalidInput(f"argument '{argument}' is not contiguous, which it has to be; give a copy")
            views[name] = view
            if shape:
                extents[name] = list(shape)
        return views, extents


def _forward(
    names, q, k, v, *, layout, mask, scale, dtype, out, lse, return_lse, num_splits, arch, stream,
    modify=None, dropout=None, sequences=None,
):
    """Reads, checks, computes. Returns out, or out and lse. `modify` gives the modifications for a problem.

    `sequences`, of tensors with lengths of their own: reads its lists and gives what the problem says of them.
    """
    paged = sequences is not None and sequences.table is not None
    given = {names.q: q, names.k: k, names.v: v}
    for name, tensor in (*given.items(), ("out", out), ("lse", lse)):
        _tensors.refuse_gradient(tensor, name)
    stream = _tensors.stream_of(q, stream)
    views = {key: _tensors.read(given[name], name, dtype, stream)
             for key, name in (("q", names.q), ("k", names.k), ("v", names.v))}
    first = views["q"]
    if first.dtype not in ("bf16", "f16"):
        raise InvalidInput(
            f"argument '{names.q}' has elements of {first.dtype}, wanted bf16 or f16"
            + ("; for the bits of bf16 say dtype='bf16'" if first.dtype in ("u16", "i16") else "")
        )
    for name, tensor in views.items():
        _check_rows(tensor, "pages" if paged and name != "q" else layout)
        _check_tensor(tensor, first.dtype, first.device, f"'{names.q}'")
    lists, known = sequences(first, stream) if sequences else ({}, None)
    problem = _problem(views["q"], views["k"], views["v"], layout, mask, scale, num_splits, known, paged)
    problem["dropout"] = dropout
    shape = (*first.shape[:-1], views["v"].shape[-1])
    if out is None:
        out = _tensors.empty_like(q, names.q, shape, first.dtype)
    views["o"] = _tensors.read(out, "out", dtype, stream)
    _check_output(views["o"], shape)
    _check_rows(views["o"], layout)
    _check_tensor(views["o"], first.dtype, first.device, f"'{names.q}'")
    if return_lse or lse is not None:
        rows = (problem["batch"], problem["heads"], problem["seq_q"])
        if layout == "packed":
            rows = (problem["heads"], problem["total_q"])
        if lse is None:
            lse = _tensors.empty_like(q, names.q, rows, "f32")
        views["lse"] = _tensors.read(lse, "lse", None, stream)
        _check_output(views["lse"], rows)
        _check_tensor(views["lse"], "f32", first.device, f"wanted one of f32 and '{names.q}'")
        if not views["lse"].is_contiguous:
            raise InvalidInput("argument 'lse' is not contiguous, which it has to be")
    modifications = modify(problem) if modify else _Modifications()
    captured, problem["extents"] = modifications.read(first, stream)
    problem["modifications"], problem["numbers"] = modifications.texts, modifications.numbers
    problem["blocks"] = modifications.blocks
    _hocket.forward(problem, {**views, **captured, **lists}, arch, stream)
    return (out, lse) if return_lse else out


def _window(window_size):
    """(left, right), -1 for no limit."""
    try:
        left, right = (int(side) for side in window_size)
    except (TypeError, ValueError):
        raise InvalidInput(f"argument 'window_size' is {window_size!r}, wanted two integers") from None
    if min(left, right) < -1:
        raise InvalidInput(f"argument 'window_size' is {window_size!r}, wanted numbers from 0, or -1 for no limit")
    return left, right


def _soft_cap(softcap):
    cap = float(softcap)
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
             "bfloat16": _BIAS.format(element="bf16")}
    text = texts.get(_element_name(mask))
    if text is None:
        raise InvalidInput(
            f"argument 'attn_mask' has elements of {_element_name(mask)}, wanted bool, float32, float16 or bfloat16"
        )
    wanted = (problem["batch"], problem["heads"], problem["seq_q"], problem["seq_kv"])
    shape = (1,) * (4 - len(mask.shape)) + tuple(mask.shape)
    fits = len(shape) == 4 and shape[3] == wanted[3] and all(a in (1, b) for a, b in zip(shape, wanted))
    if not fits:
        raise InvalidInput(
            f"argument 'attn_mask' has the shape {tuple(mask.shape)}, wanted one that broadcasts to {wanted} with all the keys"
        )
    modifications.add_text(text, "attn_mask")
    modifications.capture("attn_mask", "attn_mask", _tensors.capturable(mask, "attn_mask"), shape)


def _check_gqa(q, k, enable_gqa):
    if not enable_gqa and len(getattr(q, "shape", ())) == len(getattr(k, "shape", ())) == 4 and q.shape[1] != k.shape[1]:
        raise InvalidInput(
            f"argument 'key' has {k.shape[1]} heads, 'query' has {q.shape[1]}; say enable_gqa=True to share them"
        )


def _flash_modifications(window, cap, alibi_slopes, sink=None):
    """What flash-attn's arguments ask for, for a problem."""

    def modify(problem):
        modifications = _Modifications()
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

    return _forward(
        _Names("q", "k", "v"), q, k, v, layout="bshd", mask="causal" if causal else "none",
        scale=_scale(softmax_scale, "softmax_scale"), dtype=dtype, out=out, lse=lse, return_lse=return_lse,
        num_splits=num_splits, arch=arch, stream=stream,
        modify=_flash_modifications(window, cap, alibi_slopes, sink), dropout=dropout,
    )


class _Sequences:
    """Sequences of lengths of their own: the lists that say where each begins and how long it is, and its pages.

    `arguments` says what the caller's function calls lists, where not by their own names; `batch` how many sequences
    there are, where that is known.
    """

    def __init__(self, longest, table=None, arguments=None, batch=None, **lists):
        self.longest = longest
        self.table, self.arguments, self.batch = table, arguments or {}, batch
        self.lists = {name: tensor for name, tensor in lists.items() if tensor is not None}

    @staticmethod
    def longest_of(max_seqlen_q, max_seqlen_k):
        longest = {}
        for key, name, value in (("seq_q", "max_seqlen_q", max_seqlen_q), ("seq_kv", "max_seqlen_k", max_seqlen_k)):
            if int(value) < 1:
                raise InvalidInput(f"argument '{name}' is {value!r}, wanted the length of the longest sequence, 1 at least")
            longest[key] = int(value)
        return longest

    @staticmethod
    def _read(tensor, name, rank, first, stream):
        view = _tensors.read(tensor, name, None, stream)
        if len(view.shape) != rank or not view.is_contiguous:
            wanted = "one contiguous dimension" if rank == 1 else "two contiguous dimensions: [batch, entries]"
            raise InvalidInput(f"argument '{name}' has the shape {view.shape}, wanted {wanted}")
        if view.dtype != "i32":
            raise InvalidInput(f"argument '{name}' has elements of {view.dtype}, wanted i32")
        if view.device != first.device:
            raise InvalidInput(f"argument '{name}' is on {view.device}, '{first.argument}' on {first.device}")
        return view

    def __call__(self, first, stream):
        views, batch = {}, self.batch
        of = f"'{first.argument}' has" if batch else "'cu_seqlens_q' those of"
        for name, tensor in self.lists.items():
            argument = self.arguments.get(name, name)
            view = self._read(tensor, argument, 1, first, stream)
            count = view.shape[0] - name.startswith("cu_")
            if count < 1 or count != (batch or count):
                raise InvalidInput(
                    f"argument '{argument}' has {view.shape[0]} numbers, which are those of {count} sequences, "
                    + (f"{of} {batch}" if batch else "wanted those of one at least")
                )
            batch = count
            views[name] = view
        known = {"batch": batch, "lists": list(views), **self.longest}
        if self.table is not None:
            argument = self.arguments.get("block_table", "block_table")
            view = views["block_table"] = self._read(self.table, argument, len(self.table.shape), first, stream)
            rows, entries = view.shape if len(view.shape) == 2 else (view.shape[0], 1)
            if rows != batch or entries < 1 or len(view.shape) > 2:
                raise InvalidInput(
                    f"argument '{argument}' has the shape {view.shape}, wanted a row of entries for each of the "
                    f"{batch} sequences"
                )
            known["table_pages"] = entries
        return views, known


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
    seqused_q=None,
    seqused_k=None,
    return_lse=False,
    out=None,
    lse=None,
    dtype=None,
    arch="gfx950",
    stream=None,
):
    """Attention of packed sequences with flash-attn 2's arguments; see the stub or docs/PackedAndPaged.md."""
    _refuse(float(dropout_p), 0.0, "dropout_p", "leave it at 0")
    _refuse(bool(return_attn_probs), False, "return_attn_probs", "return_lse=True gives the log-sum-exp")
    return _forward(
        _Names("q", "k", "v"), q, k, v, layout="packed", mask="causal" if causal else "none",
        scale=_scale(softmax_scale, "softmax_scale"), dtype=dtype, out=out, lse=lse, return_lse=return_lse,
        num_splits=0, arch=arch, stream=stream,
        modify=_flash_modifications(_window(window_size), _soft_cap(softcap), alibi_slopes),
        sequences=_Sequences(
            _Sequences.longest_of(max_seqlen_q, max_seqlen_k), block_table, cu_seqlens_q=cu_seqlens_q,
            cu_seqlens_k=cu_seqlens_k if block_table is None else None, seqused_q=seqused_q,
            seqused_k=_lengths_in_pages(cu_seqlens_k, seqused_k, block_table),
        ),
    )


def _lengths_in_pages(cu_seqlens_k, seqused_k, block_table):
    """How many keys each sequence has: where they are in pages, from where they would begin without."""
    if block_table is None or seqused_k is not None:
        return seqused_k
    return cu_seqlens_k[1:] - cu_seqlens_k[:-1]


def _cache_lengths(cache_seqlens, q, batch, rows):
    """A list of `batch` lengths."""
    if cache_seqlens is None:
        cache_seqlens = rows
    if not isinstance(cache_seqlens, numbers.Integral):
        return cache_seqlens
    if not 0 <= cache_seqlens <= rows:
        raise InvalidInput(f"argument 'cache_seqlens' is {cache_seqlens}, wanted a number from 0 to {rows}, the cache's rows")
    return _tensors.filled_like(q, "q", (batch,), int(cache_seqlens))


class _Appended:
    """New keys and values, which are written behind those of a cache, and the angles that they and queries are rotated by."""

    def __init__(self, q, k, v, cos, sin, interleaved, dtype, arch, stream):
        for name, given, other in (("k", k, "v"), ("v", v, "k")):
            if given is None:
                needed = f"'{other}'" if (v if other == "v" else k) is not None else "'rotary_cos'"
                raise InvalidInput(f"argument '{name}' is missing, which {needed} goes with")
        if (cos is None) != (sin is None):
            missing, given = ("rotary_cos", "rotary_sin") if cos is None else ("rotary_sin", "rotary_cos")
            raise InvalidInput(f"argument '{missing}' is missing, which '{given}' goes with")
        self.q, self.k, self.v, self.cos, self.sin = q, k, v, cos, sin
        self.interleaved, self.dtype, self.arch, self.stream = interleaved, dtype, arch, stream
        self.rotary_dim = 0 if cos is None else 2 * cos.shape[-1]

    def _view(self, tensor, name, like=None):
        _tensors.refuse_gradient(tensor, name)
        view = _tensors.read(tensor, name, self.dtype, self.stream)
        if like is not None:
            _check_tensor(view, like.dtype, like.device, f"'{like.argument}'")
        return view

    def check(self, k_cache, v_cache, lengths, rows):
        first = self._view(self.q, "q")
        for name, tensor, cache in (("k", self.k, k_cache), ("v", self.v, v_cache)):
            view, pool = self._view(tensor, name, first), self._view(cache, f"{name}_cache", first)
            _check_rows(view, "bshd")
            _check_rows(pool, "pages")
            wanted = (first.shape[0], self.k.shape[1], pool.shape[2], pool.shape[3])
            if view.shape != wanted:
                raise InvalidInput(f"argument '{name}' has the shape {view.shape}, wanted {wanted}")
            if pool.read_only:
                raise InvalidInput(f"argument '{name}_cache' is read-only, '{name}' is written to it")
        if not hasattr(lengths, "shape") or tuple(lengths.shape) != first.shape[:1]:
            raise InvalidInput(f"argument 'cache_seqlens' is {lengths!r}, wanted a list of {first.shape[0]} lengths")
        if not self.rotary_dim:
            return
        for name, tensor in (("rotary_cos", self.cos), ("rotary_sin", self.sin)):
            view = self._view(tensor, name, first)
            if len(view.shape) != 2 or view.shape[1] * 2 != self.rotary_dim or not view.is_contiguous:
                raise InvalidInput(f"argument '{name}' has the shape {view.shape}, wanted two contiguous dimensions: "
                                   f"[positions, half of the rotated elements]")
            if self.rotary_dim % 16 or not 16 <= self.rotary_dim <= first.shape[3]:
                raise InvalidInput(f"argument '{name}' is for {self.rotary_dim} elements of a head, wanted a multiple of 16 "
                                   f"up to the {first.shape[3]} that there are")
            if view.shape[0] < rows:
                raise InvalidInput(f"argument '{name}' has {view.shape[0]} positions, the cache has {rows} rows; give more")

    def _run(self, source, target, lengths, table, where, rotary_dim, advances):
        element = self._view(self.q, "q").dtype
        kernel = _append.kernel(element, source.shape[3], rotary_dim, self.interleaved, where, advances, self.arch)
        named = {"source": source, "target": target, "lengths": lengths}
        if where == "pages":
            named["table"] = table.reshape(table.shape[0], -1)
        if rotary_dim:
            named.update(cos=self.cos, sin=self.sin)
        kernel.run(named, stream=self.stream)

    def write(self, name, source, cache, lengths, table, rotated):
        where = "rows" if table is None else "pages"
        self._run(source, cache, lengths, table, where, self.rotary_dim if rotated else 0, True)

    def rotated_queries(self, lengths, advances):
        """Of a causal mask or a window each query has a position of its own, else all have the first's."""
        if not self.rotary_dim:
            return self.q
        target = _tensors.empty_like(self.q, "q", tuple(self.q.shape), self._view(self.q, "q").dtype)
        self._run(self.q, target, lengths, None, "queries", self.rotary_dim, advances)
        return target


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
    sink=None,
    out=None,
    lse=None,
    dtype=None,
    arch="gfx950",
    stream=None,
):
    """Attention over a cache of keys and values with flash-attn 2's arguments; see the stub or docs/PackedAndPaged.md."""
    _refuse(cache_leftpad, None, "cache_leftpad", "let sequences begin with the first row of the cache")
    if cache_batch_idx is not None and block_table is not None:
        raise InvalidInput("argument 'cache_batch_idx' is given with 'block_table', which says where keys are; leave one out")
    for name, tensor in (("q", q), ("k_cache", k_cache)):
        if len(getattr(tensor, "shape", ())) != 4:
            layout = "bshd" if name == "q" else "pages" if block_table is not None else "bshd"
            raise InvalidInput(
                f"argument '{name}' has {len(getattr(tensor, 'shape', ()))} dimensions, wanted 4: {_DIMENSIONS[layout]}"
            )
    batch, rows = q.shape[0], k_cache.shape[1]
    # A cache is a pool of pages that hold all of a sequence.
    table, arguments = block_table, {"seqused_k": "cache_seqlens"}
    if cache_batch_idx is not None:
        table, arguments["block_table"] = cache_batch_idx, "cache_batch_idx"
    if block_table is not None:
        shape = tuple(getattr(block_table, "shape", ()))
        if len(shape) != 2:
            raise InvalidInput(f"argument 'block_table' has the shape {shape}, wanted [batch, entries]")
        rows *= shape[1]
    longest = {"seq_q": max(q.shape[1], 1), "seq_kv": max(rows, 1)}
    lengths = _cache_lengths(cache_seqlens, q, batch, rows)
    window = _window(window_size)
    if k is not None or v is not None or rotary_cos is not None or rotary_sin is not None:
        fresh = _Appended(q, k, v, rotary_cos, rotary_sin, bool(rotary_interleaved), dtype, arch, stream)
        fresh.check(k_cache, v_cache, lengths, rows)
        fresh.write("k", k, k_cache, lengths, table, rotated=True)
        fresh.write("v", v, v_cache, lengths, table, rotated=False)
        q = fresh.rotated_queries(lengths, advances=bool(causal) or window != (-1, -1))
        lengths = lengths + k.shape[1]
    return _forward(
        _Names("q", "k_cache", "v_cache"), q, k_cache, v_cache, layout="bshd", mask="causal" if causal else "none",
        scale=_scale(softmax_scale, "softmax_scale"), dtype=dtype, out=out, lse=lse, return_lse=return_softmax_lse,
        num_splits=num_splits, arch=arch, stream=stream,
        modify=_flash_modifications(window, _soft_cap(softcap), alibi_slopes, sink),
        sequences=_Sequences(longest, table, arguments, batch, seqused_k=lengths),
    )


def _as_batches(tensor, name):
    """A view of torch's [..., heads, seq, head_dim] with one dimension for the batch."""
    shape = getattr(tensor, "shape", None)
    if shape is None or len(shape) == 4:
        return tensor  # `_check_rows` says what it is instead
    if len(shape) == 3:
        return tensor[None]
    if len(shape) == 2:
        return tensor[None, None]
    raise InvalidInput(
        f"argument '{name}' has {len(shape)} dimensions, wanted 2 to 4: [batch, heads, seq, head_dim]"
    )


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
    dimensions = len(getattr(query, "shape", (0,) * 4))
    names = _Names("query", "key", "value")
    batches = [_as_batches(t, n) for t, n in ((query, "query"), (key, "key"), (value, "value"))]
    _check_gqa(batches[0], batches[1], enable_gqa)

    def modify(problem):
        modifications = _Modifications()
        if is_causal and problem["seq_q"] != problem["seq_kv"]:
            problem["mask"] = "none"  # torch's diagonal begins at the top left
            modifications.add("causal_top_left")
        if attn_mask is not None:
            _add_mask(modifications, attn_mask, problem)
        return modifications

    results = _forward(
        names, *batches, layout="bhsd", mask="causal" if is_causal else "none", scale=_scale(scale, "scale"),
        dtype=dtype, out=None if out is None else _as_batches(out, "out"),
        lse=lse if lse is None else lse[(None,) * (4 - dimensions)] if dimensions < 4 else lse,
        return_lse=return_lse, num_splits=num_splits, arch=arch, stream=stream, modify=modify,
        dropout=dropout,
    )
    leading = (0,) * (4 - dimensions)
    made, made_lse = results if return_lse else (results, None)
    made = out if out is not None else made[leading] if leading else made
    if not return_lse:
        return made
    return made, lse if lse is not None else made_lse[leading] if leading else made_lse


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
    _check_gqa(query, key, enable_gqa)

    def modify(problem):
        modifications = _Modifications()
        sizes = {name: problem[name] for name in ("batch", "heads", "seq_kv", "seq_q")}
        traced = []
        if score_mod is not None:
            traced.append(flex.trace(score_mod, "score_mod", False, sizes, "score_"))
        if block_mask is not None:
            block_mask.check(sizes)
            for name, tensor in block_mask.tensors().items():
                modifications.capture(name, f"block_mask.{name}", _tensors.capturable(tensor, "block_mask"), tensor.shape)
            modifications.blocks = block_mask.BLOCK_SIZE
        if block_mask is not None and block_mask.mask_mod is not None:
            traced.append(flex.trace(block_mask.mask_mod, "mask_mod", True, sizes, "mask_"))
        for modification, name in zip(traced, ("score_mod", "mask_mod") if score_mod is not None else ("mask_mod",)):
            modifications.add_text(modification.text, name)
            for captured, tensor in modification.tensors.items():
                where = f"{name} (a tensor that it captures)"
                modifications.capture(captured, where, _tensors.capturable(tensor, where), tensor.shape)
        return modifications

    return _forward(
        _Names("query", "key", "value"), query, key, value, layout="bhsd", mask="none", scale=_scale(scale, "scale"),
        dtype=dtype, out=out, lse=lse, return_lse=return_lse, num_splits=num_splits, arch=arch,
        stream=stream, modify=modify,
    )
