"""Sequences of lengths of their own, as the lists say that a caller gives."""
import numbers

from . import _tensors
from ._arguments import integer
from ._errors import InvalidInput


class Sequences:
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
            longest[key] = integer(value, name, 0)
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
        of = f"'{first.argument}' has" if batch is not None else "'cu_seqlens_q' those of"
        for name, tensor in self.lists.items():
            argument = self.arguments.get(name, name)
            view = self._read(tensor, argument, 1, first, stream)
            count = view.shape[0] - name.startswith("cu_")
            if count < 0 or count != (count if batch is None else batch):
                raise InvalidInput(
                    f"argument '{argument}' has {view.shape[0]} numbers, which are those of {count} sequences, "
                    + (f"{of} {batch}" if batch is not None else "wanted [batch + 1]")
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


def check_starts(cu_seqlens_q, cu_seqlens_k, seqused_k, block_table):
    """Packed rows need lists that say where sequences begin; keys in pages are as many as either of two lists says."""
    if cu_seqlens_q is None:
        raise InvalidInput("argument 'cu_seqlens_q' is missing, which says where sequences begin")
    if cu_seqlens_k is None and (block_table is None or seqused_k is None):
        way = "" if block_table is None else "; with 'block_table' give it, or 'seqused_k'"
        raise InvalidInput(f"argument 'cu_seqlens_k' is missing, which says how many keys sequences have{way}")


def lengths_in_pages(cu_seqlens_k, seqused_k, block_table):
    """How many keys each sequence has: where they are in pages, from where they would begin without."""
    if block_table is None or seqused_k is not None:
        return seqused_k
    if len(getattr(cu_seqlens_k, "shape", ())) != 1:
        raise InvalidInput(f"argument 'cu_seqlens_k' is {cu_seqlens_k!r}, wanted a tensor [batch + 1], or 'seqused_k'")
    return cu_seqlens_k[1:] - cu_seqlens_k[:-1]


def cache_lengths(cache_seqlens, q, batch, rows):
    """A list of `batch` lengths."""
    if cache_seqlens is None:
        cache_seqlens = rows
    if not isinstance(cache_seqlens, numbers.Integral):
        return cache_seqlens
    if not 0 <= cache_seqlens <= rows:
        raise InvalidInput(f"argument 'cache_seqlens' is {cache_seqlens}, wanted a number from 0 to {rows}, the cache's rows")
    return _tensors.filled_like(q, "q", (batch,), int(cache_seqlens))
