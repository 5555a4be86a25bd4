"""Calls that no kernel computes as they are, computed as packed sequences: gradients through keys in pages, and caches whose
sequences begin behind their first row."""
import operator

from . import _tensors
from ._errors import InvalidInput, Unsupported
from ._sequences import lengths_in_pages


def needs_rows(q, k, v, block_table):
    """Whether keys in pages are wanted with gradients, which kernels give for packed rows alone."""
    in_pages = block_table is not None and len(getattr(k, "shape", ())) == len(getattr(v, "shape", ())) == 4
    return in_pages and any(_tensors.wants_gradient(tensor) for tensor in (q, k, v))


def rows_of(k, v, cu_seqlens_k, seqused_k, block_table):
    """torch's pages as packed rows, where each sequence has room for all of its entries: k, v, where sequences begin, and how
    many rows they use. torch takes the gradients back to the pages."""
    torch = _tensors.torch_of(k)
    used = lengths_in_pages(cu_seqlens_k, seqused_k, block_table)
    pages = block_table.long().clamp(0, k.shape[0] - 1)  # entries that are not used may hold anything
    batch, room = pages.shape[0], pages.shape[1] * k.shape[1]
    starts = torch.arange(batch + 1, dtype=torch.int32, device=k.device) * room
    return *(pool[pages].flatten(0, 2) for pool in (k, v)), starts, used


class Leftpad:
    """A cache whose sequences begin at rows of their own, `leftpad`, and end at `lengths`, as packed rows."""

    def __init__(self, q, k_cache, v_cache, lengths, batch_idx, leftpad):
        if not (_tensors.can_pad(q) and _tensors.can_pad(leftpad)):
            raise Unsupported("argument 'cache_leftpad' is for numpy's and torch's tensors; give such")
        if tuple(leftpad.shape) != (q.shape[0],):
            raise InvalidInput(f"argument 'cache_leftpad' has the shape {tuple(leftpad.shape)}, wanted {(q.shape[0],)}")
        self.q, self._leftpad = q, leftpad
        if getattr(getattr(leftpad, "device", "cpu"), "type", "cpu") == "cpu":  # what a GPU holds is not waited for
            self._check_leftpad(k_cache.shape[1])
        caches = [cache if batch_idx is None else cache[batch_idx] for cache in (k_cache, v_cache)]
        self.rows = caches[0].shape[1]
        self.k, self.v = (cache.reshape(-1, *cache.shape[2:]) for cache in caches)
        self._lengths = self.rows if lengths is None else lengths
        if not hasattr(self._lengths, "shape"):
            self._lengths = _tensors.filled_like(q, "q", (q.shape[0],), operator.index(self._lengths))

    def _check_leftpad(self, rows):
        for sequence, begin in enumerate(self._leftpad.tolist()):
            if not 0 <= begin <= rows:
                raise InvalidInput(f"argument 'cache_leftpad' has {begin} at {sequence}, wanted 0 to {rows}, the rows of a cache")

    def turn(self, cos, sin, interleaved, in_order, added):
        """Queries by their angles, in order or all at the first new position, and `added` new keys beside the cached ones."""
        if cos is not None:
            if not _tensors.is_torch(self.q):
                raise Unsupported("argument 'cache_leftpad' is given with 'rotary_cos', which turns torch's queries alone; give "
                                  "torch's tensors, or turn the queries before")
            from .flash_attn.layers.rotary import apply_rotary_emb

            batch, seq = self.q.shape[:2]
            rows = self.q if in_order else self.q.flatten(1, 2)[:, None]
            turned = apply_rotary_emb(rows, cos, sin, interleaved, seqlen_offsets=self._lengths)
            self.q = turned if in_order else turned.reshape(batch, seq, *self.q.shape[2:])
        self._lengths = self._lengths + added

    def arguments(self):
        """Of flash_attn_varlen_func: the positional ones, and how many keys are used."""
        batch, seq = self.q.shape[:2]
        begins = self._list(range(0, batch * self.rows, self.rows)) + self._leftpad
        torch = _tensors.torch_of(self.q)
        end = self._list([batch * self.rows])
        starts = _tensors.numpy_of(self.q).concatenate([begins, end]).astype("int32") if torch is None else torch.cat([begins, end]).int()
        queries = self._list(range(0, (batch + 1) * seq, seq))
        used = (self._lengths - self._leftpad).clip(0)
        used = used.astype("int32") if torch is None else used.int()
        return (self.q.reshape(-1, *self.q.shape[2:]), self.k, self.v, queries, starts, seq, self.rows), used

    def _list(self, numbers):
        torch = _tensors.torch_of(self.q)
        if torch is not None:
            return torch.tensor(list(numbers), dtype=torch.int32, device=self.q.device)
        return _tensors.numpy_of(self.q).array(list(numbers), dtype="int32")

    def as_dense(self, out, lse):
        """Results as those of dense queries."""
        batch, seq = self.q.shape[:2]
        lse = lse.reshape(lse.shape[0], batch, seq)
        return out.reshape(batch, seq, *out.shape[1:]), lse.swapaxes(0, 1)
