"""Pages as other libraries keep them: lists by request, and pools whose rows are not the rows of heads."""
import torch

from .._errors import InvalidInput


class Pages:
    """CSR lists of pages as a table [batch, entries] of them, and how many keys each request has. `names` are the arguments'."""

    def __init__(self, indptr, indices, last_page_len, page_size, names=("paged_kv_indptr", "paged_kv_last_page_len")):
        if indptr.dim() != 1 or last_page_len.shape[0] != indptr.shape[0] - 1:
            raise InvalidInput(f"argument '{names[0]}' has the shape {tuple(indptr.shape)} and '{names[1]}' "
                               f"{tuple(last_page_len.shape)}, wanted [batch + 1] and [batch]")
        begins, counts = indptr[:-1].cpu().long(), indptr.cpu().long().diff()
        if bool((counts < 0).any()) or int(indptr[-1]) > indices.shape[0]:
            raise InvalidInput(f"argument '{names[0]}' is not ascending, or ends behind the {indices.shape[0]} indices")
        entries = torch.arange(max(counts.tolist(), default=1) or 1)
        places = (begins[:, None] + entries).clamp(max=max(indices.shape[0] - 1, 0))
        table = torch.where(entries < counts[:, None], indices.cpu().int()[places], torch.zeros((), dtype=torch.int32))
        lengths = torch.where(counts > 0, (counts - 1) * page_size + last_page_len.cpu().long(), counts)
        self.longest, self.counts = entries.shape[0] * page_size, lengths.tolist()
        self.table, self.lengths = table.to(indices.device), lengths.int().to(indices.device)


def rows_of(pool, table):
    """A copy of the pages of `table` as rows [batch, entries * page_size, kv_heads, head_dim], of a pool of such rows."""
    return pool[table.long().clamp(0, max(pool.shape[0] - 1, 0))].flatten(1, 2)


def turned_around(k, v):
    """Views of vLLM's pools, k [pages, kv_heads, head_dim / x, page_size, x] and v [pages, kv_heads, head_dim, page_size]: k with its
    heads in two dimensions [pages, page_size, kv_heads, head_dim / x, x], v [pages, page_size, kv_heads, head_dim]."""
    return k.permute(0, 3, 1, 2, 4), v.permute(0, 3, 1, 2)
