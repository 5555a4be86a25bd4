"""The public functions as operators of torch's, which torch.compile, torch.export, vmap and its other transformations know.

An operator takes what is left of a function's arguments after heads, batches and masks have been made ready by torch's own
operations, and gives O and LSE. Its gradient is an operator, too. Shapes are known without computing.
"""
import re

import torch

from . import _again, _autograd, _calls, _tensors, flex
from ._ready import Memory, key_of, remembered, top_names, watched, with_state

# What records a modification is called, not recorded itself.
flex.record = torch.compiler.disable(flex.record)
# A copy of this package by another name, as a kernels hub loads it, has operators of its own.
NAMESPACE = re.sub(r"\W", "_", __package__)
_LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")
_OPS = getattr(torch.ops, NAMESPACE)
_FLASH = ("float dropout_p, float? softmax_scale, bool causal, SymInt[] window_size, float softcap, Tensor? alibi_slopes, ")


class _Operator:
    """A function `name` of `tensors` and further `arguments`, whose calls `build` makes. `gradients` are the arguments
    beside the tensors that may have one."""

    def __init__(self, name, tensors, arguments, build, layout, gradients=()):
        self.name, self.build, self.layout = name, build, layout
        self.tensors = [f"Tensor {tensor}" for tensor in tensors]
        self.arguments = arguments
        names = [argument.split()[-1] for argument in arguments.split(", ")]
        self.forward = remembered(self.forward, [*tensors, *names], with_gradients=False)
        self.at_dropout, self.at_state = (5 + len(tensors) + names.index(name) if name in names else None
                                          for name in ("dropout_p", "rng_state"))
        self.names, self.backwards = ["dout", "dlse", "out", "lse", "wanted", *tensors, *names], Memory()
        self.places = [len(tensors) + names.index(argument) for argument in gradients]

    def define(self):
        schema = f"{', '.join(self.tensors)}, {self.arguments}"
        _LIBRARY.define(f"{self.name}({schema}) -> (Tensor, Tensor)")
        backward = f"{self.name}_backward"
        _LIBRARY.define(f"{backward}(Tensor? dout, Tensor? dlse, Tensor out, Tensor lse, bool[] wanted, {schema}) -> Tensor[]")
        for key in ("CPU", "CUDA"):  # torch calls ROCm CUDA
            _LIBRARY.impl(self.name, self.forward, key)
            _LIBRARY.impl(backward, self.backward, key)
        own, back = f"{NAMESPACE}::{self.name}", f"{NAMESPACE}::{backward}"
        torch.library.register_fake(own, self.shapes, lib=_LIBRARY)
        torch.library.register_fake(back, self.backward_shapes, lib=_LIBRARY)
        torch.library.register_autograd(own, self.differentiate, setup_context=self.keep, lib=_LIBRARY)
        if hasattr(torch.library, "register_vmap"):
            torch.library.register_vmap(own, self.over_batches, lib=_LIBRARY)
            torch.library.register_vmap(back, self.backward_over_batches, lib=_LIBRARY)

    def forward(self, *arguments):
        call, _ = self.build(*arguments)
        return call.forward(*arguments[:3], want_lse=True)

    def shapes(self, *arguments):
        q, v = arguments[0], arguments[2]
        if self.rows_are_packed(arguments):
            rows = q.shape[1], q.shape[0]
        elif self.layout == "bhsd":
            rows = q.shape[:-1]
        else:
            rows = q.shape[0], q.shape[2], q.shape[1]
        shape = (*q.shape[:-1], v.shape[-1])
        out = _tensors.in_order_of(q, shape, q.new_empty) if self.layout == "bhsd" else q.new_empty(shape)
        return out, q.new_empty(rows, dtype=torch.float32)

    def rows_are_packed(self, arguments):
        return arguments[0].dim() == 3

    def flat_others(self, arguments):
        """The tensors beside the three that may have gradients; a list's one by one."""
        others = []
        for place in self.places:
            argument = arguments[place]
            others += argument if isinstance(argument, (list, tuple)) else [argument]
        return others

    def backward(self, dout, dlse, out, *rest):
        # Where LSE alone has a gradient, as where O has one, too.
        dout = torch.zeros_like(out) if dout is None and dlse is not None else dout
        given = dout, None if dlse is None else _tensors.contiguous(dlse), out, *rest
        asked = [tensor for tensor, wants in zip(self.flat_others(given[5:]), given[4]) if wants]
        state = None if self.at_state is None else given[self.at_state]
        keyed, dropping = given, None
        if state is not None:
            keyed, _ = with_state(given, {}, self.at_state, True)
            dropping = _calls.dropout(given[self.at_dropout], state, given[5])
        key = key_of(keyed, {}, with_gradients=False)
        ready, is_new = (None, False) if key is None else self.backwards.get(tuple(key.parts))
        made = None if ready is None else ready.run(given[3], key.tensors, None, dropping and dropping[1:])
        if made is None:
            made, seen = watched(key, self._gradients, asked, *given)
            if is_new:
                self.backwards.keep(tuple(key.parts), _again.alone_of(seen, key, top_names(self.names, keyed, {})))
        return [*made[:3], *(gradient.to(like.dtype).view(like.shape) for gradient, like in zip(made[3:], asked))]

    def _gradients(self, asked, dout, dlse, out, lse, _, *arguments):
        call, others = self.build(*arguments)
        call.others = [next(name for name, _, other in others if other is tensor) for tensor in asked]
        return _autograd.gradients(call, dout, dlse, *arguments[:3], out, lse)

    def backward_shapes(self, dout, dlse, out, lse, wanted, *arguments):
        asked = [tensor for tensor, wants in zip(self.flat_others(arguments), wanted) if wants]
        return [tensor.new_empty(tensor.shape) for tensor in (*arguments[:3], *asked)]

    def keep(self, ctx, inputs, output):
        """Tensors, those of lists too, apart from all else."""
        tensors, self_or_place = [], []
        for argument in inputs:
            if isinstance(argument, torch.Tensor):
                self_or_place.append(("tensor", len(tensors)))
                tensors.append(argument)
            elif isinstance(argument, (list, tuple)) and argument and isinstance(argument[0], torch.Tensor):
                self_or_place.append(("tensors", range(len(tensors), len(tensors) + len(argument))))
                tensors += argument
            else:
                self_or_place.append(("value", argument))
        ctx.save_for_backward(*output, *tensors)
        ctx.inputs = self_or_place
        ctx.set_materialize_grads(False)

    def differentiate(self, ctx, dout, dlse):
        out, lse, *tensors = ctx.saved_tensors
        takes = {"tensor": lambda at: tensors[at], "tensors": lambda at: [tensors[i] for i in at], "value": lambda value: value}
        arguments = [takes[kind](what) for kind, what in ctx.inputs]
        needs = []
        for place in self.places:
            need = ctx.needs_input_grad[place]
            needs += list(need) if isinstance(need, (list, tuple)) else [bool(need)]
        operator = getattr(_OPS, f"{self.name}_backward")
        made = operator(dout, dlse, out, lse, needs, *arguments)
        # torch wants a list for a list of tensors, and None for one of numbers.
        nothing = [[None] * len(a) if isinstance(a, list) and all(isinstance(t, torch.Tensor) for t in a) else None
                   for a in arguments[3:]]
        result = [*made[:3], *nothing]
        rest, needs = iter(made[3:]), iter(needs)
        for place in self.places:
            argument = arguments[place]
            if isinstance(argument, list):
                result[place] = [next(rest) if next(needs) else None for _ in argument]
            elif next(needs):
                result[place] = next(rest)
        return tuple(result)

    def over_batches(self, info, in_dims, *arguments):
        made = _one_by_one(getattr(_OPS, self.name), info, in_dims, arguments)
        return tuple(torch.stack(parts) for parts in zip(*made)), (0, 0)

    def backward_over_batches(self, info, in_dims, *arguments):
        made = _one_by_one(getattr(_OPS, f"{self.name}_backward"), info, in_dims, arguments)
        stacked = [torch.stack(parts) for parts in zip(*made)]
        return stacked, [0] * len(stacked)


def _one_by_one(operator, info, in_dims, arguments):
    """What vmap asks for, a call for each: any argument may have the dimension."""

    def part(argument, dim, number):
        if isinstance(argument, (list, tuple)) and isinstance(dim, (list, tuple)):
            return [part(one, own, number) for one, own in zip(argument, dim)]
        return argument if dim is None else argument.select(dim, number)

    return [operator(*(part(argument, dim, number) for argument, dim in zip(arguments, in_dims)))
            for number in range(info.batch_size)]


_QKV, _ENDS = ("q", "k", "v"), "int num_splits, str arch"
_OPERATORS = (
    _Operator("flash_attn_func", _QKV, _FLASH + "Tensor? rng_state, Tensor? sink, " + _ENDS, _calls.dense, "bshd",
              ("sink", "alibi_slopes")),
    _Operator("flash_attn_varlen_func", _QKV,
              "Tensor cu_seqlens_q, Tensor? cu_seqlens_k, SymInt max_seqlen_q, SymInt max_seqlen_k, " + _FLASH
              + "Tensor? block_table, Tensor? rng_state, Tensor? sink, SymInt min_seqlen_q, Tensor? seqused_q, "
              "Tensor? seqused_k, bool work_list, str arch", _calls.packed, "packed", ("sink", "alibi_slopes")),
    _Operator("scaled_dot_product_attention", ("query", "key", "value"),
              "Tensor? attn_mask, float dropout_p, bool is_causal, float? scale, Tensor? rng_state, " + _ENDS,
              _calls.torch_like, "bhsd", ("attn_mask",)),
    _Operator("flex_attention", ("query", "key", "value"),
              "str score, Tensor[] score_tensors, str mask, Tensor[] mask_tensors, Tensor[] lists, SymInt[] block_sizes, "
              "float? scale, " + _ENDS, _calls.modified, "bhsd", ("score_tensors",)),
    _Operator("flash_attn_with_kvcache", ("q", "k_cache", "v_cache"),
              "Tensor cache_seqlens, Tensor? cache_batch_idx, Tensor? block_table, float? softmax_scale, bool causal, "
              "SymInt[] window_size, float softcap, Tensor? alibi_slopes, int num_splits, Tensor? cu_seqlens_q, "
              "SymInt? max_seqlen_q, Tensor? sink, str arch", lambda q, k, v, lengths, index, table, scale, causal, window, cap,
              slopes, splits, starts, most, sink, arch: _calls.cached(
                  q, k, v, None, None, None, None, lengths, index, table, scale, causal, window, cap, True, slopes, splits, starts,
                  most, sink, arch), "bshd", ("sink", "alibi_slopes")),
)
for _operator in _OPERATORS:
    _operator.define()

_APPEND = "flash_attn_with_kvcache_append"
_LIBRARY.define(
    f"{_APPEND}(Tensor q, Tensor(a!) k_cache, Tensor(b!) v_cache, Tensor k, Tensor v, Tensor? rotary_cos, Tensor? rotary_sin, "
    "Tensor cache_seqlens, Tensor? cache_batch_idx, Tensor? block_table, float? softmax_scale, bool causal, SymInt[] window_size, "
    "float softcap, bool rotary_interleaved, Tensor? alibi_slopes, int num_splits, Tensor? cu_seqlens_q, SymInt? max_seqlen_q, "
    "Tensor? sink, str arch) -> (Tensor, Tensor)")


def _append(*arguments):
    call, _ = _calls.cached(*arguments)
    return call.forward(*arguments[:3], want_lse=True)


for _key in ("CPU", "CUDA"):
    _LIBRARY.impl(_APPEND, _append, _key)
torch.library.register_fake(f"{NAMESPACE}::{_APPEND}", _OPERATORS[-1].shapes, lib=_LIBRARY)


def _results(made, out, lse, return_lse):
    """`made` in the caller's tensors, where those are given."""
    for given, own in ((out, made[0]), (lse, made[1])):
        if given is not None:
            given.copy_(own)
    out, lse = made[0] if out is None else out, made[1] if lse is None else lse
    return (out, lse) if return_lse else out


def _drawn(dropout_p, rng_state):
    """Seed and offset as a tensor, which is drawn when the graph runs."""
    if dropout_p == 0.0:
        return None
    if rng_state is None:
        return torch.randint(0, 2**40, (2,), dtype=torch.int64)
    return rng_state if isinstance(rng_state, torch.Tensor) else torch.tensor(rng_state, dtype=torch.int64)


def flash_attn_func(q, k, v, given, out, lse, return_lse):
    p, scale, causal, window, cap, slopes, state, sink, splits, arch = given
    made = _OPS.flash_attn_func(q, k, v, p, scale, bool(causal), list(window), float(cap), slopes, _drawn(p, state),
                                            sink, splits, arch)
    return _results(made, out, lse, return_lse)


def flash_attn_varlen_func(q, k, v, given, out, lse, return_lse):
    (starts_q, starts_k, most_q, most_k, p, scale, causal, window, cap, slopes, table, state, sink, least, used_q, used_k, work,
     arch) = given
    made = _OPS.flash_attn_varlen_func(
        q, k, v, starts_q, starts_k, most_q, most_k, p, scale, bool(causal), list(window), float(cap), slopes, table,
        _drawn(p, state), sink, least, used_q, used_k, bool(work), arch)
    return _results(made, out, lse, return_lse)


def flash_attn_with_kvcache(q, k_cache, v_cache, given, out, lse, return_lse):
    (k, v, cos, sin, lengths, index, table, scale, causal, window, cap, interleaved, slopes, splits, starts, most, sink,
     arch) = given
    if not isinstance(lengths, torch.Tensor):
        batch = q.shape[0] if starts is None else starts.shape[0] - 1
        rows = k_cache.shape[1] * (1 if table is None else table.shape[1])
        lengths = torch.full((batch,), rows if lengths is None else lengths, dtype=torch.int32, device=q.device)
    if k is None:
        made = _OPS.flash_attn_with_kvcache(
            q, k_cache, v_cache, lengths, index, table, scale, bool(causal), list(window), float(cap), slopes, splits, starts,
            most, sink, arch)
    else:
        made = _OPS.flash_attn_with_kvcache_append(
            q, k_cache, v_cache, k, v, cos, sin, lengths, index, table, scale, bool(causal), list(window), float(cap),
            bool(interleaved), slopes, splits, starts, most, sink, arch)
    return _results(made, out, lse, return_lse)


def scaled_dot_product_attention(query, key, value, given, out, lse, return_lse):
    mask, p, causal, scale, state, splits, arch = given
    made = _OPS.scaled_dot_product_attention(query, key, value, mask, p, bool(causal), scale, _drawn(p, state),
                                                         splits, arch)
    return _results(made, out, lse, return_lse)


def flex_attention(query, key, value, given, out, lse, return_lse):
    # Lists that are made on the host, and what functions capture, may be numpy's.
    is_of_tensors = lambda part: isinstance(part, list) and part and hasattr(part[0], "shape")  # noqa: E731
    given = [[torch.as_tensor(tensor) for tensor in part] if is_of_tensors(part) else part for part in given]
    made = _OPS.flex_attention(query, key, value, *given)
    return _results(made, out, lse, return_lse)
