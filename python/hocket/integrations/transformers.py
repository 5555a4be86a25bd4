"""Transformers' attention by Hocket: call `register()` once, then `attn_implementation="hocket"`.

Masks that are causal, of a sliding window or of padding become arguments of kernels; any other is a tensor of booleans, which
kernels read. Nothing is left out: what neither can say raises an error.
"""
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers import masking_utils

from .. import attention
from .._errors import Unsupported
from ..flash_attn.bert_padding import pad_input, unpad_input

#: What models pass that says nothing to attention, or is said by the mask.
_KNOWN = {"cache_position", "output_attentions", "output_hidden_states", "position_ids", "use_cache", "deterministic",
          "target_dtype", "attn_implementation", "layer_idx", "logits_to_keep", "return_dict", "num_items_in_batch"}


def register(name="hocket"):
    """Makes `name` an attention implementation of Transformers, with its masks."""
    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, mask)


def attend(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, sliding_window=None,
           softcap=None, s_aux=None, **more):
    """What Transformers calls an attention function: tensors [batch, heads, seq, head_dim] to [batch, seq, heads, head_dim].
    `attention_mask` is what `mask` gives, or None for what `is_causal` and `sliding_window` say."""
    starts = _packed_starts(more)
    _refuse_unknown(more)
    if attention_mask is not None and attention_mask.dim() == 4:
        return _attend_masked(query, key, value, attention_mask, scaling, dropout, softcap, s_aux), None
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    options = {"softmax_scale": scaling, "dropout_p": dropout, "causal": causal, "softcap": softcap or 0.0, "sink": _sink(s_aux),
               "window_size": _window(sliding_window, causal, key.shape[2])}
    q, k, v = (tensor.transpose(1, 2) for tensor in (query, key, value))
    if starts is not None:
        rows = attention.flash_attn_varlen_func(*(tensor.flatten(0, 1) for tensor in (q, k, v)), *starts, **options)
        return rows.reshape(*q.shape[:-1], v.shape[-1]), None
    if attention_mask is None:
        return attention.flash_attn_func(q, k, v, **options), None
    return _attend_padded(q, k, v, attention_mask, options), None


def _sink(s_aux):
    return None if s_aux is None else s_aux.float()


def _window(sliding_window, causal, keys):
    if sliding_window is None or sliding_window >= keys:
        return -1, -1
    if not causal:
        raise Unsupported("argument 'sliding_window' is given without a mask and without a causal one, and models differ in what "
                          "that hides; register hocket.integrations.transformers.mask with it")
    return sliding_window - 1, 0


def _packed_starts(more):
    """The lists of packed sequences, as DataCollatorWithFlattening gives them."""
    given = [more.pop(name, None) for name in ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k")]
    return given if all(part is not None for part in given) else None


def _refuse_unknown(more):
    for name, value in more.items():
        if value is not None and name not in _KNOWN and isinstance(value, torch.Tensor):
            raise Unsupported(f"argument '{name}' is a tensor that this model gives to attention, and hocket knows no meaning of; "
                              f"take attn_implementation='eager' for it")


def _attend_masked(query, key, value, mask, scaling, dropout, softcap, s_aux):
    """With a tensor of booleans, or one that is added. A soft cap and a sink go with booleans."""
    mask = mask[..., : key.shape[2]]
    if not (softcap or s_aux is not None):
        made = attention.scaled_dot_product_attention(query, key, value, mask, dropout, scale=scaling, enable_gqa=True)
        return made.transpose(1, 2)
    if dropout:
        raise Unsupported("argument 'dropout' is given with a mask of its own, and a soft cap or a sink; set attention_dropout=0")
    made, lse = attention.flex_attention(query, key, value, _capped(softcap, mask), _seen(mask), scaling, True, return_lse=True)
    made = made.transpose(1, 2)
    if s_aux is None:
        return made
    # The sink is one more term of the sum that weights are divided by.
    share = torch.sigmoid(lse - s_aux.float()[None, :, None])
    return made * share.transpose(1, 2)[..., None].to(made.dtype)


def _capped(softcap, mask):
    """A score_mod: the cap, then what an additive mask adds."""
    added = None if mask.dtype == torch.bool else mask
    if not softcap and added is None:
        return None
    heads = 1 if added is None else added.shape[1]

    def score_mod(score, batch, head, query, key):
        score = torch.tanh(score / softcap) * softcap if softcap else score
        return score if added is None else score + added[batch, head if heads > 1 else 0, query, key]

    return score_mod


def _seen(mask):
    from ..block_mask import create_block_mask

    if mask.dtype != torch.bool:
        return None
    batch, heads, queries, keys = mask.shape

    def mask_mod(batch_index, head, query, key):
        return mask[batch_index if batch > 1 else 0, head if heads > 1 else 0, query, key]

    return create_block_mask(mask_mod, None, None, queries, keys)


def _attend_padded(q, k, v, kept, options):
    """With a mask [batch, keys] of what is no padding: what is left is packed."""
    batch, queries = q.shape[:2]
    kept = kept[:, -k.shape[1]:].bool()
    k, _, starts_k, longest_k, _ = unpad_input(k, kept)
    v = unpad_input(v, kept)[0]
    kept_q = kept[:, -queries:] if queries > 1 else torch.ones_like(kept[:, :1])
    q, places, starts_q, longest_q, _ = unpad_input(q, kept_q)
    made = attention.flash_attn_varlen_func(q, k, v, starts_q, starts_k, longest_q, longest_k, **options)
    return pad_input(made, places, batch, queries)


def mask(batch_size, q_length=None, kv_length=None, q_offset=0, kv_offset=0, mask_function=masking_utils.causal_mask_function,
         attention_mask=None, cache_position=None, **more):
    """What Transformers calls a mask function: None where arguments of kernels say it all, [batch, keys] for padding beside
    them, else [batch, heads, queries, keys] of booleans."""
    if cache_position is not None and q_length is None:  # before Transformers 5
        q_length, q_offset = cache_position.shape[0], cache_position[0]
    if not _is_traced() and _is_known(mask_function) and _ends_together(q_length, q_offset, kv_length, kv_offset, mask_function):
        if attention_mask is None:
            return None
        if attention_mask.shape[-1] == kv_offset + kv_length:
            kept = attention_mask[:, kv_offset:]
            return None if bool(kept.all()) else kept
    own = {"q_length": q_length, "q_offset": q_offset} if cache_position is None else {"cache_position": cache_position}
    more.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
    return masking_utils.sdpa_mask(batch_size=batch_size, kv_length=kv_length, kv_offset=kv_offset, mask_function=mask_function,
                                   attention_mask=attention_mask, **own, **more)


def _is_known(function):
    """Whether it is causal, hides nothing, or is causal with a window."""
    if function in (masking_utils.causal_mask_function, getattr(masking_utils, "bidirectional_mask_function", None)):
        return True
    parts = _closed_over(function, "and_masks.<locals>.and_mask")
    if not (isinstance(parts, tuple) and len(parts) == 2 and parts[1] is masking_utils.causal_mask_function):
        return False
    return isinstance(_closed_over(parts[0], "sliding_window_overlay.<locals>.inner_mask"), int)


def _closed_over(function, name):
    """The one value that a function of Transformers called `name` has captured; None: it is another function."""
    cells = getattr(function, "__closure__", None) or ()
    is_it = getattr(function, "__qualname__", "") == name and len(cells) == 1
    return cells[0].cell_contents if is_it else None


def _ends_together(q_length, q_offset, kv_length, kv_offset, mask_function):
    """Whether the last query is at the last key, where kernels have the end of a causal diagonal."""
    if mask_function is getattr(masking_utils, "bidirectional_mask_function", None):
        return True
    return int(q_offset) + q_length == int(kv_offset) + kv_length


def _is_traced():
    """Whether torch.compile records, to which the contents of masks are not known."""
    return hasattr(torch, "compiler") and torch.compiler.is_compiling()
