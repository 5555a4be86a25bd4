"""flash-attn 2's helpers for padded batches: rows that a mask keeps, packed, and back."""
import torch


def index_first_axis(input, indices):  # noqa: A002
    """Rows of the first dimension."""
    return input[indices]


def index_put_first_axis(values, indices, first_axis_dim):
    """`values` as rows `indices` of `first_axis_dim` rows, the others 0."""
    made = values.new_zeros((first_axis_dim, *values.shape[1:]))
    return made.index_put((indices,), values)


def unpad_input(hidden_states, attention_mask, unused_mask=None):
    """The rows of [batch, seq, ...] that `attention_mask` [batch, seq] keeps, with those of `unused_mask`, which sequences have
    and do not use. Returns rows, their places, where sequences begin, the longest one, and how many rows each uses."""
    kept = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = kept.sum(-1, dtype=torch.int32)
    used = attention_mask.sum(-1, dtype=torch.int32)
    indices = kept.flatten().nonzero().flatten()
    starts = _starts(lengths)
    longest = int(lengths.max()) if lengths.numel() else 0
    return index_first_axis(hidden_states.flatten(0, 1), indices), indices, starts, longest, used


def unpad_input_for_concatenated_sequences(hidden_states, attention_mask_in_length):
    """The same where a row of the batch has several sequences: `attention_mask_in_length` [batch, seq] has their lengths, then
    zeros."""
    lengths = attention_mask_in_length.flatten()
    lengths = lengths[lengths > 0].to(torch.int32)
    places = torch.arange(attention_mask_in_length.shape[-1], device=hidden_states.device)
    kept = places < attention_mask_in_length.sum(-1, keepdim=True)
    indices = kept.flatten().nonzero().flatten()
    longest = int(lengths.max()) if lengths.numel() else 0
    return index_first_axis(hidden_states.flatten(0, 1), indices), indices, _starts(lengths), longest


def pad_input(hidden_states, indices, batch, seqlen):
    """What `unpad_input` took apart: [batch, seqlen, ...] with `hidden_states` as rows `indices`."""
    made = index_put_first_axis(hidden_states, indices, batch * seqlen)
    return made.reshape(batch, seqlen, *made.shape[1:])


def _starts(lengths):
    return torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
