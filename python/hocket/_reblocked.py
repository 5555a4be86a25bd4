"""Lists of blocks of any size, as lists of blocks that kernels go through, and a predicate that says the rest."""
from . import _tensors, flex
from ._errors import InvalidInput

#: Queries and keys that blocks have multiples of.
_UNITS = (64, 32)
#: What is made of others: (queries, keys).
_SIZE = (128, 64)
_HIDDEN, _PARTIAL, _WHOLE = 0, 1, 2


def fits(size):
    return all(extent % unit == 0 for extent, unit in zip(size, _UNITS))


def can_be(lists):
    """Whether lists are on the host, and memory."""
    return all(_tensors.can_pad(tensor) and not _tensors.is_traced(tensor)
               and (not _tensors.is_torch(tensor) or tensor.device.type == "cpu") for tensor in lists.values())


def _kinds(lists):
    """Of each block what it is: [batch or 1, heads or 1, rows, columns]."""
    import numpy

    lists = {name: numpy.asarray(tensor) for name, tensor in lists.items()}
    shapes = [tensor.shape for tensor in lists.values() if tensor.ndim == 4]
    shape = tuple(max(extents) for extents in zip(*shapes))
    kinds = numpy.full(shape, _HIDDEN, numpy.int8)
    for prefix, kind in (("", _PARTIAL), ("full_", _WHOLE)):
        if f"{prefix}kv_indices" not in lists:
            continue
        counts = numpy.broadcast_to(lists[f"{prefix}kv_num_blocks"], shape[:3])
        indices = numpy.broadcast_to(lists[f"{prefix}kv_indices"], shape)
        batch, head, row, at = numpy.nonzero(numpy.arange(shape[3]) < counts[..., None])
        columns = indices[batch, head, row, at]
        if columns.size and not (0 <= columns.min() and columns.max() < shape[3]):
            raise InvalidInput(f"'{prefix}kv_indices' of argument 'block_mask' has block "
                               f"{columns.min() if columns.min() < 0 else columns.max()}, there are {shape[3]}")
        kinds[batch, head, row, columns] = kind
    return kinds


def _spans(extent, own, given):
    """For each block of `own` rows the first and the end of the blocks of `given` rows that it has rows of."""
    return [(at // given, -(-min(at + own, extent) // given)) for at in range(0, extent, own)]


def _joined(kinds, size, lengths):
    """The kinds of blocks of `_SIZE`: whole where all that they are in is."""
    import numpy

    rows, columns = (_spans(length, own, given) for length, own, given in zip(lengths, _SIZE, size))
    made = numpy.zeros((*kinds.shape[:2], len(rows), len(columns)), numpy.int8)
    for r, (top, bottom) in enumerate(rows):
        of_row = kinds[:, :, top:bottom]
        some, every = (of_row != _HIDDEN).any(2), (of_row == _WHOLE).all(2)
        for c, (left, right) in enumerate(columns):
            made[:, :, r, c] = some[..., left:right].any(-1).astype(numpy.int8) + every[..., left:right].all(-1)
    return made


def _predicate(kinds, size, mask_mod):
    seen, whole = kinds != _HIDDEN, kinds == _WHOLE
    batches, heads = kinds.shape[:2]
    mask_mod = mask_mod.function if isinstance(mask_mod, flex.Traced) else mask_mod

    def of_blocks(batch, head, query, key):
        block = batch if batches > 1 else 0, head if heads > 1 else 0, query // size[0], key // size[1]
        if mask_mod is None:
            return seen[block]
        return whole[block] | (seen[block] & mask_mod(batch, head, query, key))

    return of_blocks


def made_of(lists, size, mask_mod, lengths):
    """(kinds of blocks of `_SIZE`, their size, a predicate) for lists of blocks of `size`, of `lengths` queries and keys."""
    kinds = _kinds(lists)
    return _joined(kinds, size, lengths), _SIZE, _predicate(kinds, size, mask_mod)
