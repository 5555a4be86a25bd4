"""torch's shapes, [..., heads, seq, head_dim] with batches and masks that broadcast, as four dimensions."""
from . import _tensors
from ._errors import InvalidInput


def _shape(tensor):
    return tuple(getattr(tensor, "shape", ()))


def _expanded(tensor, shape):
    if _shape(tensor) == tuple(shape):
        return tensor
    return tensor.expand(shape) if _tensors.is_torch(tensor) else _tensors.numpy_of(tensor).broadcast_to(tensor, shape)


def _broadcast_shape(shapes):
    """The shape that all broadcast to; None: there is none."""
    rank = max(map(len, shapes))
    result = []
    for extents in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes)):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            return None
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def to_batch_of(query, tensor):
    """Keys or values of a batch of 1 for all batches of the queries."""
    if not _tensors.can_pad(tensor) or len(_shape(tensor)) != 4 or len(_shape(query)) != 4:
        return tensor
    return _expanded(tensor, (query.shape[0], *tensor.shape[1:])) if tensor.shape[0] == 1 else tensor


def to_same_heads(*tensors):
    """Views of queries, keys and values, each of one head or of as many as the others have, with as many."""
    if not all(_tensors.can_pad(tensor) and len(_shape(tensor)) == 4 for tensor in tensors):
        return tensors
    heads = _broadcast_shape([_shape(tensor)[1:2] for tensor in tensors])
    return tensors if heads is None else tuple(_expanded(t, (t.shape[0], *heads, *t.shape[2:])) for t in tensors)


class Batches:
    """How many dimensions the tensors of a call have, and the batch that they broadcast to."""

    def __init__(self, query, key, value):
        self.rank = max(len(_shape(tensor)) for tensor in (query, key, value))
        self.batch = None
        known = all(_tensors.can_pad(tensor) for tensor in (query, key, value))
        if known and self.rank >= 4:
            self.batch = _broadcast_shape([_shape(tensor)[:-3] for tensor in (query, key, value)])
            if self.batch is None:
                shapes = ", ".join(f"'{name}' {_shape(t)}" for name, t in (("query", query), ("key", key), ("value", value)))
                raise InvalidInput(f"the batches do not broadcast: {shapes}; wanted [..., heads, seq, head_dim]")

    def four(self, tensor, name):
        """A view, or where batches of several dimensions do not follow one another in memory a copy."""
        shape = _shape(tensor)
        if len(shape) < 2 and hasattr(tensor, "shape"):
            raise InvalidInput(f"argument '{name}' has {len(shape)} dimensions, wanted 2 at least: [..., heads, seq, head_dim]")
        if self.batch is None:
            return tensor[(None,) * (4 - len(shape))] if len(shape) in (2, 3) else tensor
        rows = (1,) * (3 - len(shape)) + shape[-3:]
        tensor = _expanded(tensor, (*self.batch, *rows))
        return tensor if len(self.batch) == 1 else tensor.reshape(-1, *rows)

    def four_of_rows(self, lse):
        if self.rank < 4:
            return lse[(None,) * (4 - self.rank)]
        return lse if self.batch is None or len(self.batch) == 1 else lse.reshape(-1, *lse.shape[-2:])

    def back(self, made):
        """A result with the dimensions that the arguments have."""
        if self.rank < 4:
            return made[(0,) * (4 - self.rank)]
        return made if self.batch is None or len(self.batch) == 1 else made.reshape(*self.batch, *made.shape[1:])

    def mask(self, mask, query, key):
        """A mask with the batch in one dimension, and all keys in its last one."""
        shape = _shape(mask)
        if mask is None or not _tensors.can_pad(mask):
            return mask
        keys = key.shape[2]
        if not shape or shape[-1] == 1 != keys:
            mask = _expanded(mask, (*shape[:-1], keys) if shape else (1, keys))
            shape = _shape(mask)
        if len(shape) > 4 and self.batch is not None and len(self.batch) == len(shape) - 3:
            batch = self.batch if any(extent != 1 for extent in shape[:-3]) else (1,) * len(self.batch)
            mask = _expanded(mask, (*batch, *shape[-3:])).reshape(-1, *shape[-3:])
        return mask
