"""Masks of FlashInfer's batches: what each query sees, as a tensor that kernels read, and the modification that reads it."""
import torch

from .._errors import InvalidInput

#: Places are those of the query and the key alone, so that kernels load whole lines.
_SEEN = """attn.mask_mod @custom_mask(%batch: i32, %head: i32, %query: i32, %key: i32,
    %seen_keys: tensor<?x?x?xi1> {attn.sizes = ["batch", "seq_q", "seq_kv"]}) {
  %seen = attn.read %seen_keys[%batch, %query, %key] : tensor<?x?x?xi1> -> i1
  attn.yield %seen : i1
}
"""


class Lengths:
    """How many queries and keys each sequence has, as lists, and the most that a call names."""

    def __init__(self, queries, keys, most, longest):
        self.queries, self.keys, self._most, self._longest = queries, keys, most, longest
        if len(queries) != len(keys):
            raise InvalidInput(f"argument 'qo_indptr' is of {len(queries)} sequences, the keys are of {len(keys)}")

    def rows(self, device):
        """Zeros for each query and key that a sequence may have, and for each sequence those that it has."""
        made = torch.zeros(len(self.queries), self._most, self._longest, dtype=torch.uint8, device=device)
        return made, [part[:queries, :keys] for part, queries, keys in zip(made, self.queries, self.keys)]


def modification(name, seen):
    """The one that argument `name` asks for, of what is `seen`: [batch, queries, keys]."""
    return name, _SEEN, ("seen_keys", seen)


def custom(mask, lengths):
    """Rows of booleans that are one behind the other, [queries, keys] of each sequence in turn."""
    sizes = [queries * keys for queries, keys in zip(lengths.queries, lengths.keys)]
    flat = mask.reshape(-1)
    if flat.shape[0] != sum(sizes):
        raise InvalidInput(f"argument 'custom_mask' has {flat.shape[0]} elements, wanted {sum(sizes)}: queries times keys of each sequence")
    seen, parts = lengths.rows(mask.device)
    for part, own in zip(parts, flat.ne(0).split(sizes)):
        part.copy_(own.view(part.shape))
    return seen


def packed(mask, lengths):
    """The same of bits, the lowest of a byte first; each sequence begins at a byte."""
    sizes = [queries * keys for queries, keys in zip(lengths.queries, lengths.keys)]
    wanted = [-(-size // 8) for size in sizes]
    if mask.dtype != torch.uint8 or tuple(mask.shape) != (sum(wanted),):
        raise InvalidInput(f"argument 'packed_custom_mask' is {mask.dtype} of the shape {tuple(mask.shape)}, wanted uint8 of "
                           f"({sum(wanted)},): bits of queries times keys of each sequence, in whole bytes")
    seen, parts = lengths.rows(mask.device)
    bits = torch.arange(8, dtype=torch.uint8, device=mask.device)
    for part, own, size in zip(parts, mask.split(wanted), sizes):
        part.copy_((own[:, None].bitwise_right_shift(bits) & 1).view(-1)[:size].view(part.shape))
    return seen


def items(prefixes, places, width, lengths):
    """Several items behind one prefix, of which none sees another: `prefixes` are the prefixes' lengths, `places` the place of
    each token behind the prefix in its item, those of the next sequence `width` further on."""
    prefixes, places = prefixes.reshape(-1).tolist(), places.reshape(-1).long()
    if len(prefixes) != len(lengths.queries):
        raise InvalidInput(f"argument 'prefix_len_ptr' has {len(prefixes)} numbers, wanted {len(lengths.queries)}, one of each sequence")
    seen, parts = lengths.rows(places.device)
    for number, (part, prefix) in enumerate(zip(parts, prefixes)):
        queries, keys = part.shape
        own = places[number * width:][:max(keys - prefix, 0)]
        if queries and own.shape[0] < keys - prefix:
            raise InvalidInput(f"argument 'token_pos_in_items_ptr' has {own.shape[0]} numbers of sequence {number}, wanted "
                               f"{keys - prefix}: one of each token behind its prefix, sequences token_pos_in_items_len, {width}, apart")
        at = torch.arange(keys - queries, keys, device=places.device)[:, None]
        key = torch.arange(keys, device=places.device)
        place = own[(at - prefix).clamp(min=0)] if keys > prefix else at
        part.copy_((key <= at) & ((at < prefix) | (key < prefix) | (at < key + place)))
    return seen
