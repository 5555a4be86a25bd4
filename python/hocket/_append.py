"""New keys and values for caches, and rotary embedding, as the arguments of one call say."""
from . import _tensors
from ._call import check_rows, check_tensor, each_type, join_vectors, output_type, wide_output
from ._errors import InvalidInput


class Appended:
    """New keys and values, which are written behind those of a cache, and the angles of them and of queries.

    Called with the memory of the queries it gives the tensors by the names of the problem, and what that says of them.
    """

    def __init__(self, k, v, cos, sin, interleaved, caches, rows, dtype, most=None):
        """`caches`: k_cache and v_cache, of `rows` rows for each sequence. With `most` queries are packed, at most so many of
        a sequence, and new keys like them."""
        for name, given, other in (("k", k, "v"), ("v", v, "k")):
            if given is None:
                needed = f"'{other}'" if (v if other == "v" else k) is not None else "'rotary_cos'"
                raise InvalidInput(f"argument '{name}' is missing, which {needed} goes with")
        if (cos is None) != (sin is None):
            missing, given = ("rotary_cos", "rotary_sin") if cos is None else ("rotary_sin", "rotary_cos")
            raise InvalidInput(f"argument '{missing}' is missing, which '{given}' goes with")
        self._fresh, self._caches, self._rows, self._dtype = (k, v), caches, rows, dtype
        self._angles = () if cos is None else (cos, sin)
        self._interleaved, self._most = interleaved, most

    def _view(self, tensor, name, first, stream, pool=None):
        """A tensor of the type that O has where it has not 8 bits, or of `pool`'s where that has 8 bits."""
        _tensors.refuse_gradient(tensor, name)
        of_bytes = ("u8", *_tensors.SMALL)
        is_stored = pool is not None and pool.dtype in of_bytes and _tensors.read(tensor, name, None, stream).dtype in of_bytes
        view = _tensors.read(tensor, name, pool.dtype if is_stored else wide_output(self._dtype), stream)
        wanted = pool.dtype if is_stored else output_type(first.dtype, None)
        # What O is of queries of 8 bits is known when there is one.
        check_tensor(view, view.dtype if first.dtype in _tensors.SMALL and view.dtype in ("bf16", "f16") else wanted,
                     first.device, first.argument)
        return view

    def _view_cache(self, cache, name, first, stream):
        _tensors.refuse_gradient(cache, name)
        view = _tensors.read(cache, name, each_type(self._dtype)[name[0]], stream)
        check_tensor(view, view.dtype, first.device, first.argument)
        return view

    def _read_rows(self, first, stream):
        views = {}
        pools = [self._view_cache(cache, f"{name}_cache", first, stream) for name, cache in zip("kv", self._caches)]
        join_vectors(*pools)
        for name, tensor, pool in zip("kv", self._fresh, pools):
            view = self._view(tensor, name, first, stream, pool)
            check_rows(view, "packed" if self._most else "bshd")
            check_rows(pool, "pages")
            rows = () if self._most else (views["k_new"].shape[1] if views else view.shape[1],)
            wanted = (first.shape[0], *rows, pool.shape[2], pool.shape[3])
            if view.shape != wanted:
                raise InvalidInput(f"argument '{name}' has the shape {view.shape}, wanted {wanted}")
            if pool.read_only:
                raise InvalidInput(f"argument '{name}_cache' is read-only, '{name}' is written to it")
            views[f"{name}_new"] = view
        are_stored = [views[f"{name}_new"].dtype in _tensors.SMALL for name in "kv"]
        if are_stored[0] != are_stored[1]:
            raise InvalidInput(f"argument 'v' has elements of {views['v_new'].dtype}, 'k' of {views['k_new'].dtype}; give both as "
                               f"the caches have them, or none")
        return views, are_stored[0]

    def _read_angles(self, first, stream, more):
        """Of the positions of the cache's rows, and of as many `more`, which queries may be at: NaN where the caller gives none."""
        views = {}
        for name, tensor in zip(("rotary_cos", "rotary_sin"), self._angles):
            view = views[name] = self._view(tensor, name, first, stream)
            if len(view.shape) != 2 or view.shape != views["rotary_cos"].shape or not view.is_contiguous:
                raise InvalidInput(f"argument '{name}' has the shape {view.shape}, wanted two contiguous dimensions: "
                                   f"[positions, half of the rotated elements]")
            rotated, head = 2 * view.shape[1], first.shape[-1]
            if rotated % 16 or not 16 <= rotated <= head:
                raise InvalidInput(f"argument '{name}' is for {rotated} elements of a head, wanted a multiple of 16 "
                                   f"up to the {head} that there are")
            if view.shape[0] < self._rows:
                raise InvalidInput(f"argument '{name}' has {view.shape[0]} positions, the cache has {self._rows} rows; "
                                   f"give more")
        missing = self._rows + more - views["rotary_cos"].shape[0] if views else 0
        if missing > 0 and all(_tensors.can_pad(tensor) for tensor in self._angles):
            views = {name: self._view(_tensors.with_nan_rows(tensor, missing), name, first, stream)
                     for name, tensor in zip(views, self._angles)}
        return views

    def __call__(self, first, stream):
        views, are_stored = self._read_rows(first, stream)
        rows, rotary = self._most or views["k_new"].shape[1], ("none", 0, 1)
        # Queries have positions from the first new key's on, and may be more than new keys.
        angles = self._read_angles(first, stream, 0 if self._most else max(first.shape[1] - rows, 0)) if self._angles else {}
        if angles:
            positions, half = angles["rotary_cos"].shape
            rotary = ("interleaved" if self._interleaved else "half", 2 * half, positions)
        return {**views, **angles}, {"update": (rows, are_stored, *rotary)}
