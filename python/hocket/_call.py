"""One call of attention: its arguments read and checked, its problem, the forward and the backward of it.

What the library cannot do is refused by an exception that names the argument; nothing is ignored.
"""
import math

from . import _hocket, _large, _ready, _tensors
from ._arguments import architecture, integer, text
from ._errors import InvalidInput, Unsupported

#: What messages call the dimensions of a tensor, by layout.
LAYOUTS = {
    "packed": "[rows, heads, head_dim]",
    "pages": "[pages, rows of a page, heads, head_dim]",
    "bshd": "[batch, seq, heads, head_dim]",
    "bhsd": "[batch, heads, seq, head_dim]",
}


def plan_of(function, /, *args, **kwargs):
    """What `function(*args, **kwargs)` would launch, as a dict; nothing runs, and what the call returns is not filled."""
    plans = []
    token = _ready.plans.set(plans)
    try:
        function(*args, **kwargs)
    finally:
        _ready.plans.reset(token)
    if not plans:
        raise InvalidInput(f"argument 'function' is {function!r}, which launches no attention; give a function of hocket")
    return plans[0]


def _run(name, *arguments):
    """Runs `_hocket.forward` or `backward`, or keeps its plan for `plan_of`. Returns whether it ran."""
    plans = _ready.plans.get()
    if plans is None:
        getattr(_hocket, name)(*arguments)
    else:
        import json

        plans.append(json.loads(getattr(_hocket, f"{name}_plan")(*arguments)))
    return plans is None


class Names:
    """What the caller's function calls the tensors."""

    def __init__(self, q, k, v):
        self.q, self.k, self.v = q, k, v

    def zip(self, *tensors):
        """(key, name, tensor) of q, k and v."""
        return tuple(zip("qkv", (self.q, self.k, self.v), tensors))


def join_vectors(k, v):
    """Whether pools of pages have vectors of 16 bytes, five dimensions, which then become four."""
    tensors = (k, v)
    if not any(len(tensor.shape) == 5 for tensor in tensors):
        return False
    for tensor, of_keys in zip(tensors, (True, False)):
        tensor.join_vectors(of_keys)
    return True


def check_tensor(tensor, dtype, device, like, has_own_type=False):
    """Refuses a tensor that is not of `dtype`, that of argument `like` or its own, or not on `device`, where `like` is."""
    if tensor.dtype != dtype:
        wanted = f"wanted {dtype}" if has_own_type else f"'{like}' of {dtype}"
        raise InvalidInput(f"argument '{tensor.argument}' has elements of {tensor.dtype}, {wanted}")
    if tensor.device != device:
        raise InvalidInput(f"argument '{tensor.argument}' is on {tensor.device}, '{like}' on {device}")


def _option_name(dtype):
    return "fp16" if dtype == "f16" else dtype


def types_of(q, k, v, o=None):
    """The types of the tensors, as problems call them: "bf16", "f8e4m3_o_fp16", "bf16_k_f8e4m3_v_f8e4m3"."""
    text = _option_name(q)
    for name, dtype in (("k", k), ("v", v)):
        if dtype != q:
            text += f"_{name}_{_option_name(dtype)}"
    return text if o is None else f"{text}_o_{_option_name(o)}"


def each_type(text):
    """What the argument `dtype` says of each of q, k, v and o: one type of all, or several as in "bf16_kv_f8e4m3"; without
    a first one nothing of those that are not named."""
    if text is None:
        return dict.fromkeys("qkvo")
    first, *words = text.split("_")
    types = dict.fromkeys("qkvo", first or None)
    if len(words) % 2 or any(set(names) - set("kvo") for names in words[::2]):
        raise InvalidInput(f"argument 'dtype' is '{text}', wanted a type such as 'bf16', or several as in 'bf16_kv_f8e4m3'")
    for names, dtype in zip(words[::2], words[1::2]):
        types.update(dict.fromkeys(names, dtype))
    if first in _tensors.SMALL and "o" not in words[::2]:
        types["o"] = output_type(first, types["v"])
    return types


def output_type(q, v):
    """What O is of queries and values of these types, where nothing is said."""
    if q not in _tensors.SMALL:
        return q
    return v if v in ("bf16", "fp16", "f16") else "bf16"


def wide_output(text):
    """What the argument `dtype` says of O, or, where it gives that 8 bits, of what it would be otherwise; None: nothing."""
    types = each_type(text)
    return types["o"] if types["o"] not in _tensors.SMALL_FLOATS else output_type(types["q"], types["v"])


def check_types(q, k, v):
    """Refuses types that do not go together: of 16 bits there is one, keys of 8 bits go with any queries, and i8 with i8 alone,
    beside values that are floats of 8 or 16 bits."""
    if "i8" in (q.dtype, k.dtype):
        if q.dtype != k.dtype:
            raise InvalidInput(f"argument '{k.argument}' has elements of {k.dtype}, '{q.argument}' of {q.dtype}; give both i8")
        if v.dtype not in ("bf16", "f16", *_tensors.SMALL_FLOATS):
            raise InvalidInput(f"argument '{v.argument}' has elements of {v.dtype} beside '{k.argument}' of i8, wanted bf16, f16 or a "
                               f"float of 8 bits")
        return
    for tensor, other in ((k, q), (v, k)):
        if tensor.dtype != other.dtype and (tensor is v or tensor.dtype not in _tensors.SMALL_FLOATS) and not (
                tensor.dtype in _tensors.SMALL_FLOATS and other.dtype in _tensors.SMALL_FLOATS):
            raise InvalidInput(f"argument '{tensor.argument}' has elements of {tensor.dtype}, '{other.argument}' of {other.dtype}")


def check_packed(views, types):
    """Refuses what does not go with operands of 4 bits: others of more than 8."""
    allowed = _tensors.PACKED, *_tensors.SMALL_FLOATS
    for key in "qkv":
        if types[key] not in allowed:
            raise InvalidInput(f"argument '{views[key].argument}' has elements of {types[key]} beside f4e2m1, wanted one of "
                               f"{', '.join(allowed)}; for the bits of such say dtype='f4e2m1_v_f8e4m3'")


def check_rows(tensor, layout):
    name = tensor.argument
    rank = 3 if layout == "packed" else 4
    if len(tensor.shape) != rank:
        raise InvalidInput(
            f"argument '{name}' has {len(tensor.shape)} dimensions, wanted {rank}: {LAYOUTS[layout]}"
        )
    heads = 1 if layout in ("packed", "bhsd") else 2
    for extent in (tensor.shape[heads], tensor.shape[-1]):
        if extent < 1:
            raise InvalidInput(f"argument '{name}' has the shape {tensor.shape}, wanted a head, and an element of it, at least")
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


def _accumulation(accumulate):
    """The name of a way to add up dQ."""
    if accumulate is None:
        return "none"
    if text(accumulate, "accumulate", "a name such as 'f32'") not in ("none", "f32", "packed"):
        raise InvalidInput(f"argument 'accumulate' is '{accumulate}', wanted None, 'none', 'f32' or 'packed'")
    return accumulate


def _check_shape(tensor, shape):
    if tensor.shape != tuple(shape):
        raise InvalidInput(
            f"argument '{tensor.argument}' has the shape {tensor.shape}, wanted {tuple(shape)}"
        )


def _check_writable(tensor):
    if tensor.read_only:
        raise InvalidInput(f"argument '{tensor.argument}' is read-only, the result is written to it")


def _is_same(a, b):
    return (a.address, a.shape, a.strides) == (b.address, b.shape, b.strides)


def _meet(a, b):
    """Whether two tensors have memory in common. Rows of one may lie between those of another."""
    apart = a.device != b.device or a.address + a.span_bytes <= b.address or b.address + b.span_bytes <= a.address
    return not apart and (a.address == b.address or a.is_contiguous or b.is_contiguous)


def _check_apart(views, written, in_place=()):
    """Refuses what is `written` to the memory of something else; pairs of names `in_place` may be one tensor."""
    for key in written:
        for name, other in views.items():
            view = views[key]
            if name == key or ((key, name) in in_place and _is_same(view, other)) or not _meet(view, other):
                continue
            raise InvalidInput(f"argument '{view.argument}' shares memory with '{other.argument}', and is written "
                               f"while that is in use; give it memory of its own")


def _problem(q, k, v, types, layout, of_keys, mask, scale, num_splits, sequences):
    """The shapes as a problem, after checking that they fit. `types` are those of q, k and v, `of_keys` the layout of k and v."""
    dim_q, dim_k, dim_v = (tensor.shape[-1] * (2 if types[key] == _tensors.PACKED else 1) for key, tensor in zip("qkv", (q, k, v)))
    paged = of_keys == "pages"
    places = {"packed": (0, 1), "bshd": (1, 2), "bhsd": (2, 1), "pages": (1, 2)}
    (seq, heads), (keys, kv_heads) = places[layout], places[of_keys]
    batch = sequences["batch"] if layout == "packed" else q.shape[0]
    for tensor in (k, v):
        if of_keys not in ("packed", "pages") and tensor.shape[0] != batch:
            of = f"'cu_seqlens_q' is of {batch} sequences" if layout == "packed" else f"'{q.argument}' of {batch}"
            raise InvalidInput(f"argument '{tensor.argument}' has a batch of {tensor.shape[0]}, {of}")
    compared = [(keys, "keys"), (kv_heads, "heads")]
    if paged:
        compared = [(0, "pages"), (keys, "rows of a page"), (kv_heads, "heads")]
    for dimension, what in compared:
        if k.shape[dimension] != v.shape[dimension]:
            raise InvalidInput(
                f"argument '{v.argument}' has {v.shape[dimension]} {what}, '{k.argument}' has {k.shape[dimension]}"
            )
    if dim_k != dim_q:
        raise InvalidInput(f"argument '{k.argument}' has heads of {dim_k} elements, '{q.argument}' of {dim_q}")
    if q.shape[heads] % k.shape[kv_heads]:
        raise InvalidInput(
            f"argument '{k.argument}' has {k.shape[kv_heads]} heads, wanted a divisor of the "
            f"{q.shape[heads]} of '{q.argument}'"
        )
    return {
        "dtype": types_of(*types.values()),
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
        "head_dim": dim_q,
        "head_dim_v": dim_v,
        "scaled_values": types["v"] == _tensors.PACKED,
        "mask": mask,
        "scale": scale,
        "num_splits": integer(num_splits, "num_splits", 0, _hocket.most_splits),
        **(sequences or {}),
    }


class Modifications:
    """What changes the scores or hides keys: shipped ones by name or traced text, the numbers and tensors they take."""

    def __init__(self):
        self.texts, self.numbers, self.tensors = [], {}, []
        self.sink = self.blocks = None
        self.descales = []  # (the problem's name, tensor) of Q, K and V, or nothing
        self.scales = []  # the same of the scales of blocks of Q and K
        self.strided = []  # the same of those of pages' keys, which lie anywhere
        self.descale_blocks = {}  # whose numbers they are, as the problem says it
        self.output_scale = None

    def add(self, name, **numbers):
        self.texts.append((name, ""))
        self.numbers.update(numbers)

    def capture(self, name, argument, tensor, extents):
        """`tensor`, given as `argument`, is what the modification calls `name`; `extents` may pad its shape."""
        self.tensors.append((name, argument, tensor, tuple(extents)))

    def add_text(self, text, argument):
        self.texts.append((argument, text))

    def _all(self):
        own = [(name, name, tensor, ()) for name, tensor in (("sink", self.sink), ("output_scale", self.output_scale))
               if tensor is not None]
        return self.tensors + own + [(name, name, tensor, ()) for name, tensor in self.descales + self.strided + self.scales]

    def read(self, first, stream, differentiable):
        """The tensors' memory by their names, and their extents; refuses gradients but those of `differentiable`."""
        views, extents = {}, {}
        for name, argument, tensor, shape in self._all():
            if name not in differentiable:
                _tensors.refuse_gradient(tensor, argument)
            is_strided = any(tensor is own for _, own in self.strided)
            view = _tensors.read(tensor if is_strided else _tensors.contiguous(tensor), argument, None, stream)
            if view.device != first.device:
                raise InvalidInput(f"argument '{argument}' is on {view.device}, '{first.argument}' on {first.device}")
            if not (is_strided or view.is_contiguous):
                raise InvalidInput(f"argument '{argument}' is not contiguous, which it has to be; give a copy")
            views[name] = view
            if shape:
                extents[name] = list(shape)
        return views, extents

    def given(self):
        """The tensors as the caller, or who copied them, has them."""
        return [tensor for _, _, tensor, _ in self._all()]


class Call:
    """How attention is asked for; with the first tensors also its problem, and what is read beside them.

    `modify` gives the modifications for a problem. `sequences`, of packed tensors, reads its lists and gives what the
    problem says of them; `update` does so with what is appended to a cache. `of_keys` is the layout of dense k and v where it
    is another one than `layout`. `others` are the tensors beside q, k and v whose gradients the backward gives, by the
    problem's names.
    """

    def __init__(
        self, names, *, layout, mask, scale, dtype, arch, stream, num_splits=0, modify=None,
        dropout=None, sequences=None, update=None, of_keys=None,
    ):
        if dtype is not None:
            text(dtype, "dtype", "a name such as 'bf16'")
        self.names, self.layout, self.dtype, self.arch, self.stream = names, layout, dtype, architecture(arch), stream
        self._options = {"mask": mask, "scale": scale, "num_splits": num_splits}
        self._modify, self._dropout, self._sequences, self._update = modify, dropout, sequences, update
        self.others, self._adding = (), {"accumulate": "none", "deterministic": False}
        self._paged = sequences is not None and sequences.table is not None
        self._of_keys = "pages" if self._paged else of_keys or layout
        self._in_vectors = self.is_empty = False
        self.deterministic_lengths = False  # whether one kernel serves all lengths
        self.asked_stream = stream
        self.problem, self._beside, self.captured = None, {}, []

    def add_up(self, others, accumulate, deterministic):
        """Of a backward: which gradients there are beside those of q, k and v, and how dQ is added up."""
        self.others = others
        self._adding = {"accumulate": _accumulation(accumulate), "deterministic": bool(deterministic)}

    @property
    def dropout(self):
        """The probability of dropping; None where nothing is dropped."""
        return None if self._dropout is None else self._dropout[0]

    def drop(self, seed, offset):
        """Drops by another seed and offset."""
        self._dropout = self.dropout, seed, offset
        if self.problem is not None:
            self.problem = {**self.problem, "dropout": self._dropout}

    @property
    def sequences_differ(self):
        """Whether there may be rows that no sequence uses."""
        return self._sequences is not None

    def _describe(self, q, k, v):
        """The three, read and checked; they say the problem."""
        self.stream = _tensors.stream_of(q, self.stream)
        # Pools, and caches that are written to, are used where they are.
        copies = lambda key: key == "q" or not (self._paged or self._update)  # noqa: E731
        types = each_type(self.dtype)
        packed = {key for key, _, tensor in self.names.zip(q, k, v) if _tensors.is_packed(tensor, types[key])}
        views = {key: _tensors.read(_tensors.loaded(tensor) if copies(key) else tensor, name,
                                    "u8" if key in packed else types[key], self.stream)
                 for key, name, tensor in self.names.zip(q, k, v)}
        first = views["q"]
        self._types = {key: _tensors.PACKED if key in packed else view.dtype for key, view in views.items()}
        if self._types["q"] not in ("bf16", "f16", "f32", *_tensors.SMALL):
            raise InvalidInput(
                f"argument '{self.names.q}' has elements of {first.dtype}, wanted bf16, f16, f32, i8 or a float of 8 bits"
                + ("; for the bits of bf16 say dtype='bf16'" if first.dtype in ("u16", "i16") else "")
                + ("; for the bits of such say dtype='f8e4m3'" if first.dtype == "u8" else "")
            )
        if packed:
            check_packed(views, self._types)
        else:
            check_types(*(views[key] for key in "qkv"))
        if self._paged:
            self._in_vectors = join_vectors(views["k"], views["v"])
        for key, tensor in views.items():
            check_rows(tensor, self.layout if key == "q" else self._of_keys)
            check_tensor(tensor, tensor.dtype, first.device, self.names.q)
        if self.problem is None:
            self._know(views)
        return views

    def _know(self, views):
        lists, known = self._sequences(views["q"], self.stream) if self._sequences else ({}, None)
        problem = _problem(views["q"], views["k"], views["v"], self._types, self.layout, self._of_keys, sequences=known,
                           **self._options)
        self.is_empty = not all(problem[name] for name in ("batch", "seq_q", "seq_kv", "total_q", "total_kv"))
        if self.is_empty and self._update and problem["batch"]:
            raise InvalidInput(f"argument '{self.names.q}' has no rows, and new keys go with queries; give at least one")
        problem["dropout"], problem["in_vectors"] = self._dropout, self._in_vectors
        problem.update(self._adding)
        problem["deterministic_lengths"] = self.deterministic_lengths
        if self.deterministic_lengths and problem["num_splits"] > 1:
            raise InvalidInput(f"argument 'num_splits' is {problem['num_splits']} with deterministic_lengths, and where keys are "
                               f"split depends on how many there are; leave one of them out")
        updated, known = self._update(views["q"], self.stream) if self._update else ({}, {"update": None})
        problem.update(known)
        modifications = self._modify(problem) if self._modify else Modifications()
        self._check_scales(views, modifications)
        captured, problem["extents"] = modifications.read(views["q"], self.stream, self.others)
        problem["modifications"], problem["numbers"] = modifications.texts, modifications.numbers
        problem["blocks"], problem["gradients"] = modifications.blocks, list(self.others)
        problem["descale"] = bool(modifications.descales or modifications.strided)
        problem["mx_scales"], problem["output_scale"] = bool(modifications.scales), modifications.output_scale is not None
        problem.update(modifications.descale_blocks)
        self.problem, self._beside, self.captured = problem, {**captured, **lists, **updated}, modifications.given()
        self.sink = modifications.sink
        if self._sequences is not None:
            self.captured = self.captured + list(self._sequences.lists.values())

    def _check_scales(self, views, modifications):
        """Refuses operands of 4 bits without the scales of their blocks, which not all functions have arguments for."""
        packed = [views[key].argument for key in "qkv" if self._types[key] == _tensors.PACKED]
        if packed and not modifications.scales:
            raise InvalidInput(f"argument '{packed[0]}' has elements of {_tensors.PACKED}, whose blocks have scales; give these to "
                               f"flash_attn_func or flash_attn_varlen_func, as q_scale and k_scale, and v_scale of v")

    def _read_like(self, tensor, name, shape, first, is_written=False, narrow=None):
        """A tensor of rows of heads, of the queries' type and place; of bf16 or f16 where they have 8 bits; or of the type
        `narrow`."""
        if narrow is not None:
            view = _tensors.read(tensor, name, narrow, self.stream)
            _check_shape(view, shape)
            check_rows(view, self.layout)
            check_tensor(view, narrow, first.device, self.names.q, has_own_type=True)
            return view
        is_small = self._types["q"] in _tensors.SMALL
        view = _tensors.read(tensor if is_written else _tensors.loaded(tensor), name, each_type(self.dtype)["o"], self.stream)
        _check_shape(view, shape)
        check_rows(view, self.layout)
        check_tensor(view, "bf16" if is_small and view.dtype != "f16" else view.dtype if is_small else first.dtype, first.device,
                     self.names.q, has_own_type=is_small)
        return view

    @property
    def make_output(self):
        """What makes O: of torch's functions in the order of the queries' dimensions, which are views as often as not."""
        return _tensors.empty_in_order_of if self.layout == "bhsd" else _tensors.empty_like

    def _new(self, like, shape, dtype, unused=0, make=_tensors.empty_like):
        """A tensor like `like`. Kernels write no rows that no sequence uses: those are `unused`."""
        tensor = make(like, self.names.q, shape, dtype)
        if self._sequences is not None or self.is_empty:
            _tensors.fill(tensor, unused)
        return tensor

    def _narrow_output(self, out):
        """The type of O where that has 8 bits: as `dtype` or `out` says, else e4m3 where it has a scale; None: it has more."""
        if self.dtype is not None and "o" in self.dtype.split("_")[1::2]:
            named = each_type(self.dtype)["o"]
            return named if named in _tensors.SMALL_FLOATS else None
        own = _tensors.small_float_of(out)
        if own is not None or not self.problem["output_scale"]:
            return own
        return "f8e4m3fnuz" if self.arch == "gfx942" else "f8e4m3"

    def _output(self, tensor, name, shape, like, first, narrow=None, make=_tensors.empty_like):
        """`tensor`, which is written, or a new one that `make` makes like `like`; and its memory."""
        if tensor is None:
            tensor = self._new(like, shape, narrow or output_type(self._types["q"], self._types["v"]), make=make)
        view = self._read_like(tensor, name, shape, first, is_written=True, narrow=narrow)
        _check_writable(view)
        return tensor, view

    def _rows(self):
        """The shape of LSE."""
        problem = self.problem
        if self.layout == "packed":
            return problem["heads"], problem["total_q"]
        return problem["batch"], problem["heads"], problem["seq_q"]

    def _read_lse(self, lse, name, first, is_written=False):
        view = _tensors.read(lse if is_written else _tensors.contiguous(lse), name, None, self.stream)
        _check_shape(view, self._rows())
        check_tensor(view, "f32", first.device, self.names.q, has_own_type=True)
        if not view.is_contiguous:
            raise InvalidInput(f"argument '{name}' is not contiguous, which it has to be")
        return view

    def forward(self, q, k, v, out=None, lse=None, want_lse=False):
        """Computes into `out` and `lse`, or new tensors. Returns both; the latter is None if nobody wants it."""
        views = self._describe(q, k, v)
        first = views["q"]
        shape, is_new = (*first.shape[:-1], self.problem["head_dim_v"]), (out is None, lse is None)
        out, views["o"] = self._output(out, "out", shape, q, first, self._narrow_output(out), self.make_output)
        self.problem["dtype"] = types_of(*self._types.values(), views["o"].dtype)
        self._check_appended(views["o"])
        may_be_large = not self.is_empty and _large.may_be(self.problem)
        if want_lse or lse is not None or may_be_large:
            if lse is None:
                lse = self._new(q, self._rows(), "f32", -math.inf)
            views["lse"] = self._read_lse(lse, "lse", first, is_written=True)
            _check_writable(views["lse"])
        if self.is_empty:
            return self._without_keys(out, lse)
        views = {**views, **self._beside}
        # A block's queries are read before its rows of O are written, by the same workgroup.
        _check_apart(views, [key for key in ("o", "lse") if key in views], in_place={("o", "q")})
        ran = _run("forward", self.problem, views, self.arch, self.stream)
        rows = _large.shifts(lse) if ran and may_be_large else None
        if ran and rows is None:
            _ready.note(self, views, out, lse, is_new)
        if rows is not None:
            self._forward_shifted(rows, views)
            lse += rows
        return out, lse

    def _check_appended(self, out):
        """New keys and angles have O's type, or new keys the cache's."""
        if out.dtype in _tensors.SMALL_FLOATS:
            return
        for name in ("k_new", "v_new", "rotary_cos", "rotary_sin"):
            view = self._beside.get(name)
            if view is not None and view.dtype not in _tensors.SMALL:
                check_tensor(view, out.dtype, out.device, out.argument)

    def _forward_shifted(self, rows, views):
        """The same with `rows` subtracted from scores, and so from LSE. Returns the problem and its tensors."""
        problem, beside = _large.shifted(self.problem, self._beside, rows, self.stream)
        _hocket.forward(problem, {**views, **beside}, self.arch, self.stream)
        return problem, beside

    def _without_keys(self, out, lse):
        """The results where there are no queries, or no keys: 0, and LSE of nothing, or of the sink."""
        _tensors.fill(out, 0)
        if lse is not None:
            _tensors.fill(lse, -math.inf)
        if lse is not None and self.sink is not None:
            sink = self.sink.detach() if _tensors.is_torch(self.sink) else self.sink
            lse[...] = sink[:, None]
        return out, lse

    def plan_backward(self, q, k, v):
        """Makes the kernels of the backward; refuses what has none."""
        views = self._describe(q, k, v)
        if self.is_empty:
            return
        _hocket.plan_backward(self.problem, {**views, **self._beside}, self.arch, self.stream)

    def _other_gradient(self, tensor, name, like, first):
        """The gradient of tensor `name` beside q, k and v, of its type: `tensor`, or a new one like `like`; and its memory."""
        shape, dtype = self._beside[name].shape, self._beside[name].dtype
        if tensor is None:
            tensor = self._new(like, shape, dtype)
        view = _tensors.read(tensor, f"d{name}", None, self.stream)
        _check_shape(view, shape)
        check_tensor(view, dtype, first.device, self.names.q, has_own_type=True)
        if not view.is_contiguous:
            raise InvalidInput(f"argument 'd{name}' is not contiguous, which it has to be")
        _check_writable(view)
        return tensor, view

    def backward(self, dout, q, k, v, out, lse, gradients=(None, None, None), lse_name="lse", others=None, dlse=None):
        """The gradients of q, k and v, into `gradients`, and of the others, into those of `others` by name; new tensors
        where there are none. `dlse` is LSE's gradient, or None."""
        views = self._describe(q, k, v)
        first = views["q"]
        shape = (*first.shape[:-1], views["v"].shape[-1])
        views["o"] = self._read_like(out, "out", shape, first)
        views["do"] = self._read_like(dout, "dout", shape, first)
        views["lse"] = self._read_lse(lse, lse_name, first)
        if dlse is not None:
            views["dlse"] = self._read_lse(dlse, "dlse", first)
        made = []
        for key, gradient in zip("qkv", gradients):
            gradient, views[f"d{key}"] = self._output(gradient, f"d{key}", views[key].shape, q, first)
            made.append(gradient)
        for name in self.others:
            gradient, views[f"d_{name}"] = self._other_gradient((others or {}).get(name), name, q, first)
            made.append(gradient)
        if self.is_empty:
            for gradient in made:
                _tensors.fill(gradient, 0)
            return tuple(made)
        written = [f"d{key}" for key in "qkv"] + [f"d_{name}" for name in self.others]
        views = {**views, **self._beside}
        _check_apart(views, written)
        rows = _large.shifts(lse) if _large.may_be(self.problem) else None
        if rows is not None:
            self._backward_shifted(rows, views, q)
        elif _run("backward", self.problem, views, self.arch, self.stream):
            _ready.note_backward(self, views, made)
        return tuple(made)

    def _backward_shifted(self, rows, views, like):
        """LSE without `rows` is computed again: the one that is given does not have it."""
        first = views["q"]
        out = _tensors.empty_like(like, self.names.q, views["o"].shape, first.dtype)
        lse = _tensors.empty_like(like, self.names.q, self._rows(), "f32")
        made = {key: views[key] for key in "qkv"}
        made["o"] = self._read_like(out, "out", views["o"].shape, first, is_written=True)
        made["lse"] = self._read_lse(lse, "lse", first, is_written=True)
        problem, beside = self._forward_shifted(rows, made)
        _hocket.backward(problem, {**views, **beside, "lse": made["lse"]}, self.arch, self.stream)


def attend(call, q, k, v, *, out, lse, return_lse, others=()):
    """`call`'s forward; with torch's tensors that require a gradient, one that has a backward. Returns out, or out and lse.

    `others` are tensors beside q, k and v that may have a gradient: (the problem's name, the argument's, the tensor).
    """
    for name, tensor in (("out", out), ("lse", lse)):
        _tensors.refuse_gradient(tensor, name)
    others = [other for other in others if _tensors.wants_gradient(other[2])]
    call.others = [key for key, _, _ in others]
    wanting = [name for _, name, tensor in (*call.names.zip(q, k, v), *others) if _tensors.wants_gradient(tensor)]
    if wanting:
        if call.deterministic_lengths:
            raise Unsupported(f"argument 'deterministic_lengths' is True, and argument '{wanting[0]}' requires a gradient, whose "
                              f"kernels follow the lengths; leave it out, or call under torch.no_grad()")
        for name, tensor in (("out", out), ("lse", lse)):
            if tensor is not None:
                raise Unsupported(
                    f"argument '{name}' is given, and argument '{wanting[0]}' requires a gradient, for which the results "
                    f"are kept; leave '{name}' out, or call under torch.no_grad()"
                )
        from . import _autograd

        out, lse = _autograd.attend(call, q, k, v, [tensor for _, _, tensor in others])
    else:
        out, lse = call.forward(q, k, v, out, lse, return_lse)
    return (out, lse) if return_lse else out
