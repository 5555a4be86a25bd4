"""Rows whose scores are all far from 0, as where keys are hidden by a bias of -1e9.

float32 holds the log-sum-exp of such a row no closer than the weights need it. What is subtracted from all scores of a row
changes none of its weights: the row is computed again with its log-sum-exp subtracted, and everything is right.
"""
import re
import struct

from . import _tensors

#: Log-sum-exps beyond it are subtracted.
_FAR = 2.0**13

#: A number for each row, which a modification reads.
_ARGUMENT = ', %row_shift: tensor<?x?x?xf32> {attn.sizes = ["batch", "heads", "seq_q"]}'
_READ = "  %of_row = attn.read %row_shift[%batch, %head, %query] : tensor<?x?x?xf32> -> f32\n"


def _has_large_constant(text):
    numbers = (struct.unpack("<f", bytes.fromhex(bits)[::-1])[0] for bits in re.findall(r"0x([0-9A-F]{8}) : f32", text))
    return any(_FAR / 2 < abs(number) < float("inf") for number in numbers)


def may_be(problem):
    """Whether the modifications can make scores so large: by numbers that they read, or name."""
    texts = [text for _, text in problem["modifications"] if text.startswith("attn.score_mod")]
    return problem["layout"] == "bhsd" and any("-> f32" in text or _has_large_constant(text) for text in texts)


def shifts(lse):
    """What to subtract from rows; None: nothing. On a GPU that waits for `lse`, unless a graph is captured."""
    torch = _tensors.torch_of(lse)
    if torch is None:
        if _tensors.module_of(lse) != "numpy":
            return None
        numpy = _tensors.numpy_of(lse)
        far = (abs(lse) > _FAR) & numpy.isfinite(lse)
        return numpy.where(far, lse, numpy.float32(0)) if far.any() else None
    if lse.is_cuda and torch.cuda.is_current_stream_capturing():
        return None
    if not lse.is_cuda:
        least, most = torch.aminmax(lse)
        if float(least) >= -_FAR and float(most) <= _FAR:
            return None
    far = (lse.abs() > _FAR) & lse.isfinite()
    return torch.where(far, lse, torch.zeros_like(lse)) if bool(far.any()) else None


def _terms(text, result):
    """`result` as a value and what is added to it that no score is part of: (the value's name, [(operation, name)])."""
    defined = {name: (op, operands.split(", ")) for name, op, operands in re.findall(
        r"  (%\w+) = ([\w.]+(?: \w+,)?) ((?:%\w+(?:, )?)+)", text)}
    moving = {"%score"}
    for name, (_, operands) in defined.items():
        if moving & set(operands):
            moving.add(name)
    terms = []
    while result in defined and defined[result][0] in ("arith.addf", "arith.subf"):
        op, (left, right) = defined[result]
        if right not in moving:
            terms.append((op, right))
            result = left
        elif op == "arith.addf" and left not in moving:
            terms.append((op, left))
            result = right
        else:
            break
    return result, terms


def _with_shift(text):
    """A modification that subtracts a number of the row from what it gives. What it adds to scores is far from 0 itself, and so
    meets that number first."""
    text = text.replace("%key: i32", "%key: i32" + _ARGUMENT, 1)
    result = re.search(r"  attn\.yield (%\w+) : f32\n", text)
    value, terms = _terms(text, result[1])
    lines = [_READ, "  %beside0 = arith.negf %of_row : f32\n"]
    lines += [f"  %beside{i + 1} = {op} %beside{i}, {name} : f32\n" for i, (op, name) in enumerate(terms)]
    lines += [f"  %near = arith.addf {value}, %beside{len(terms)} : f32\n", "  attn.yield %near : f32\n"]
    return text[: result.start()] + "".join(lines) + text[result.end():]


def shifted(problem, beside, rows, stream):
    """The problem and its tensors with `rows` subtracted."""
    view = _tensors.read(rows, "row_shift", None, stream)
    changes = [(name, _with_shift(text) if text.startswith("attn.score_mod") else text)
               for name, text in problem["modifications"]]
    changed = {**problem, "modifications": changes, "extents": {**problem["extents"], "row_shift": list(view.shape)}}
    return changed, {**beside, "row_shift": view}
