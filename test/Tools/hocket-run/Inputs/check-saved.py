"""Judges what --save wrote by the definition, in numpy: check-saved.py DIRECTORY"""
import json
import pathlib
import sys

import numpy

directory = pathlib.Path(sys.argv[1])
problem = json.loads((directory / "problem.json").read_text())
tensors = {path.stem: numpy.load(path) for path in directory.glob("*.npy")}


def widen(values):
    return (values.astype(numpy.uint32) << 16).view(numpy.float32).astype(float) if values.dtype == numpy.uint16 else (
        values.astype(float))


def flat(name):
    return tensors[name].reshape(-1)


def sequence_rows(name, starts, used, index):
    """[rows, heads, dim] of a sequence, packed or of the batch's own."""
    rows = tensors[name][slice(*flat(starts)[index:index + 2])] if starts in tensors else tensors[name][index]
    return rows[: flat(used)[index]] if used in tensors else rows


def keys_of(name, index):
    if "page_size" not in problem:
        rows = tensors[name][slice(*flat("cu_seqlens_k")[index:index + 2])] if "cu_seqlens_k" in tensors else (
            tensors[name][index])
        length = flat("seqused_k")[index] + problem.get("append", 0) if "seqused_k" in tensors else len(rows)
        return rows[:length]
    if "kv_indptr" in tensors:
        pages = flat("kv_page_indices")[slice(*flat("kv_indptr")[index:index + 2])]
        length = (len(pages) - 1) * problem["page_size"] + flat("kv_last_page_len")[index] if len(pages) else 0
    else:
        length = flat("seqused_k")[index] + problem.get("append", 0)
        pages = tensors["block_table"][index][: -(-length // problem["page_size"])]
    return tensors[name][pages].reshape(-1, *tensors[name].shape[2:])[:length]


def softmax(q, k, v):
    groups = q.shape[1] // k.shape[1]
    scores = numpy.einsum("ihd,jhd->hij", q, k.repeat(groups, 1)) * problem["scale"]
    if problem["mask"] == "causal":
        rows, keys = numpy.indices(scores.shape[1:])
        scores[:, keys > rows + len(k) - len(q)] = -numpy.inf
    most = scores.max(2, keepdims=True, initial=-1e30)
    weights = numpy.exp(scores - most)
    total = weights.sum(2, keepdims=True)
    return numpy.einsum("hij,jhd->ihd", weights / numpy.where(total == 0, 1, total), v.repeat(groups, 1))


queries = "q_rotated" if "q_rotated" in tensors else "q"
count = next(len(flat(name)) - name.startswith(("cu_", "kv_indptr"))
             for name in ("cu_seqlens_q", "seqused_q", "seqused_k", "kv_last_page_len", "cu_seqlens_k") if name in tensors)
worst = 0
for sequence in range(count):
    q = widen(sequence_rows(queries, "cu_seqlens_q", "seqused_q", sequence))
    k, v = (widen(keys_of(name, sequence)) for name in "kv")
    o = widen(sequence_rows("o", "cu_seqlens_q", "seqused_q", sequence))
    if len(q):
        worst = max(worst, numpy.abs(softmax(q, k, v) - o).max())
assert worst < 0.02, worst
print(f"{count} sequences are right")
