"""Which keys queries see: a predicate, lists of blocks, or both, as torch's BlockMask has them."""
from . import _evaluate, _reblocked, flex
from ._arguments import integer
from ._errors import InvalidInput, Unsupported

_WORDS = ("batch", "heads", "seq_q", "seq_kv")
#: A block that is cut has whole workgroups of queries, and whole tiles of keys.
_LEAST = (256, 128)
#: torch's size of a block that has everything.
_LARGEST = 1 << 30
_NAMES = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")


def _pair(size, name="BLOCK_SIZE"):
    """(queries, keys) of a block."""
    pair = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    if len(pair) != 2 or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in pair):
        raise InvalidInput(f"argument '{name}' is {size!r}, wanted a positive integer or two")
    return pair


class BlockMask:
    """Which keys queries see, for a batch, heads and lengths; None: for any.

    Without lists the compiler derives from the predicate which tiles a block of rows visits. With lists, int32 as torch's
    ([batch or 1, heads or 1, blocks of queries] and [.., blocks of keys]), blocks of none are not visited, and the
    predicate, if there is one, counts in the blocks of `kv_indices` alone.
    """

    def __init__(self, mask_mod, B, H, Q_LEN, KV_LEN, lists=None, BLOCK_SIZE=None):
        self.mask_mod, self.shape = mask_mod, (B, H, Q_LEN, KV_LEN)
        self.BLOCK_SIZE = None if lists is None else _pair(BLOCK_SIZE)
        for name in _NAMES:
            setattr(self, name, None if lists is None else lists[name])

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=128,
                       mask_mod=None, seq_lengths=None):
        """Lists that the caller has made."""
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise InvalidInput("arguments 'full_kv_num_blocks' and 'full_kv_indices' belong together; give both or none")
        lists = dict(zip(_NAMES, (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)))
        for name, tensor in lists.items():
            if tensor is not None and len(getattr(tensor, "shape", ())) != (4 if name.endswith("indices") else 3):
                raise InvalidInput(f"argument '{name}' is no tensor of {4 if name.endswith('indices') else 3} dimensions")
        return cls(mask_mod, None, None, *(seq_lengths or (None, None)), lists=lists, BLOCK_SIZE=BLOCK_SIZE)

    @classmethod
    def of(cls, given):
        """`given`, or what torch's BlockMask says."""
        if isinstance(given, cls):
            return given
        if not all(hasattr(given, name) for name in (*_NAMES, "BLOCK_SIZE", "mask_mod")):
            raise InvalidInput(f"argument 'block_mask' is a '{type(given).__name__}', wanted what "
                               f"hocket.create_block_mask gives, or torch's")
        mask_mod = None if getattr(given.mask_mod, "__name__", "") == "noop_mask" else given.mask_mod
        # torch's mask that hides nothing, for any lengths.
        is_empty = mask_mod is None and min(_pair(given.BLOCK_SIZE)) >= _LARGEST
        lengths = None if is_empty else getattr(given, "seq_lengths", None)
        return cls.from_kv_blocks(*(getattr(given, name) for name in _NAMES), BLOCK_SIZE=given.BLOCK_SIZE, mask_mod=mask_mod,
                                  seq_lengths=lengths)

    def check(self, sizes):
        for given, word in zip(self.shape, _WORDS):
            if given is not None and given != sizes[word] and not (given == 1 and word in ("batch", "heads")):
                raise InvalidInput(f"argument 'block_mask' is for {word} {given}, the tensors have {sizes[word]}")
        if self.kv_indices is None:
            return
        rows, columns = (-(-sizes[word] // size) for word, size in zip(_WORDS[2:], self.BLOCK_SIZE))
        for name in _NAMES:
            tensor = getattr(self, name)
            if tensor is None:
                continue
            wanted = (sizes["batch"], sizes["heads"], rows, columns)[: len(tensor.shape)]
            fits = all(a == b or (a == 1 and i < 2) for i, (a, b) in enumerate(zip(tensor.shape, wanted)))
            if not fits:
                raise InvalidInput(f"'{name}' of argument 'block_mask' has the shape {tuple(tensor.shape)}, wanted "
                                   f"{wanted}, or 1 for the batch and the heads")
            element = str(getattr(tensor, "dtype", "")).rpartition(".")[2]
            if element != "int32":
                raise InvalidInput(f"'{name}' of argument 'block_mask' has elements of {element}, wanted int32")

    def block_sizes(self, sizes):
        """(queries, keys) of a block, no larger than what there is to be in it: kernels go through all tiles of a block."""
        if self.BLOCK_SIZE is None:
            return None
        pairs = zip(self.BLOCK_SIZE, _WORDS[2:], _LEAST)
        return tuple(min(size, max(least, 1 << (sizes[word] - 1).bit_length())) for size, word, least in pairs)

    def in_whole_tiles(self, sizes):
        """The same with blocks that kernels go through."""
        size = self.block_sizes(sizes)
        if size is None or _reblocked.fits(size) or not _reblocked.can_be(self.tensors()):
            return self
        kinds, size, mask_mod = _reblocked.made_of(self.tensors(), size, self.mask_mod, [sizes[word] for word in _WORDS[2:]])
        return BlockMask(mask_mod, *self.shape, lists=_lists(kinds), BLOCK_SIZE=size)

    def tensors(self):
        """The lists by their names; nothing without lists."""
        return {name: getattr(self, name) for name in _NAMES if getattr(self, name) is not None}

    def _parts_of_key(self):
        """What is looked at where a call is compared with earlier ones."""
        return self.shape, self.BLOCK_SIZE, self.mask_mod, *(getattr(self, name) for name in _NAMES)

    def sparsity(self):
        """Percent of the blocks that are not visited."""
        if self.kv_indices is None:
            raise Unsupported("a mask without lists of blocks does not know; give create_block_mask a BLOCK_SIZE")
        import numpy

        visited = sum(int(numpy.asarray(t).sum()) for t in (self.kv_num_blocks, self.full_kv_num_blocks) if t is not None)
        blocks = 1
        for extent in self.kv_indices.shape:
            blocks *= extent
        return 100 * (1 - visited / blocks)


def _kinds(mask_mod, shape, size):
    """0, 1 or 2 for each block, hidden, partial or full, by a look at each element."""
    import numpy

    batch, heads, queries, keys = shape
    traced, result = flex.record(mask_mod, "mask_mod", True, dict(zip(_WORDS, shape)))
    rows, columns = -(-queries // size[0]), -(-keys // size[1])
    kinds = numpy.zeros((batch, heads, rows, columns), numpy.int8)
    place = lambda count, *after: numpy.arange(count, dtype=numpy.int32).reshape(-1, *(1,) * len(after))  # noqa: E731
    own = {"batch": place(batch, 1, 2, 3), "head": place(heads, 1, 2), "key": place(keys)}
    starts = numpy.arange(columns) * size[1]
    for row in range(rows):
        q = numpy.arange(row * size[0], min((row + 1) * size[0], queries), dtype=numpy.int32)[:, None]
        seen = numpy.broadcast_to(_evaluate.evaluate(traced, result, {**own, "query": q}), (batch, heads, len(q), keys))
        some = numpy.logical_or.reduceat(seen.any(2), starts, axis=-1)
        all_seen = numpy.logical_and.reduceat(seen.all(2), starts, axis=-1)
        kinds[:, :, row] = some.astype(numpy.int8) + all_seen
    return kinds


def _lists(kinds):
    import numpy

    lists = {}
    for kind, prefix in ((1, ""), (2, "full_")):
        chosen = kinds == kind
        lists[prefix + "kv_num_blocks"] = chosen.sum(-1).astype(numpy.int32)
        # Those chosen first, in order.
        lists[prefix + "kv_indices"] = numpy.argsort(~chosen, axis=-1, kind="stable").astype(numpy.int32)
    return lists


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=None, _compile=False):
    """As torch's. With a BLOCK_SIZE, an integer or (queries, keys), lists of blocks are made, on the host, by a look at each
    element; without, the compiler finds out from the predicate. `_compile` makes no difference."""
    if not callable(mask_mod) and not isinstance(mask_mod, flex.Traced):
        raise InvalidInput(f"argument 'mask_mod' is a '{type(mask_mod).__name__}', wanted a function")
    for name, extent in (("B", B), ("H", H), ("Q_LEN", Q_LEN), ("KV_LEN", KV_LEN)):
        if extent is not None or name.endswith("LEN"):
            integer(extent, name, 1)
    if BLOCK_SIZE is None:
        return BlockMask(mask_mod, B, H, Q_LEN, KV_LEN)
    if device is not None and str(device) != "cpu":
        raise Unsupported(f"argument 'device' is {device!r}, lists of blocks are made on the host; move them with "
                          f"from_kv_blocks, or leave BLOCK_SIZE out")
    size = _pair(BLOCK_SIZE)
    lists = _lists(_kinds(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), size))
    return BlockMask(mask_mod, B, H, Q_LEN, KV_LEN, lists=lists, BLOCK_SIZE=size)
