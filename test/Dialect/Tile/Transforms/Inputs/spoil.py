#!/usr/bin/env python3
"""Spoils one op of a pipeline at the clusters stage: spoil.py WHERE WHAT INDEX [EDIT] < in > out

WHERE  prologue, steady or epilogue: before, in or behind the steady loop ('scf.while'); the last copy of an
       iteration belongs to the epilogue. The remainder, a branch of its own, is part of none of them
WHAT   wait, barrier, group-barrier, or the name of a step
INDEX  the how-manieth of them, from 0
EDIT   'old=new' replaces text in it, --other-slot takes the other one of two slots, --behind-barrier
       moves it behind the next barrier, with a wait for LDS reads; without an edit it is removed
"""
import re
import sys


def indent(line):
    return len(line) - len(line.lstrip())


def end_of(lines, first):
    """The line behind the region that `first` opens."""
    last = first + 1
    while indent(lines[last]) > indent(lines[first]) or not lines[last].lstrip().startswith("}"):
        last += 1
    return last + 1


def sections(lines):
    loop = next(i for i, line in enumerate(lines) if "scf.while" in line)
    # The loop stands in a branch of its own, that in the one with more tiles than prologue and epilogue need, that in
    # the one with any; the entry stands in front of all.
    guard = max(i for i in range(loop) if "scf.if" in lines[i])

    def around(inner):
        return max(i for i in range(inner) if "scf.if" in lines[i] and indent(lines[i]) < indent(lines[inner]))

    longer = around(guard)
    any_tiles = around(longer)
    steady_end = end_of(lines, guard)
    rest = next(i for i in range(steady_end, len(lines)) if "scf.if" in lines[i])
    rest_end = end_of(lines, rest)
    other = next(i for i in range(rest_end, len(lines))
                 if "} else {" in lines[i] and indent(lines[i]) == indent(lines[any_tiles]))
    return {"prologue": (0, longer), "steady": (loop, steady_end), "epilogue": (rest_end, other)}


def find(lines, where, what, index):
    patterns = {
        "wait": r"\btile\.wait\b",
        "barrier": r"\btile\.barrier$",
        "group-barrier": r"\btile\.barrier group",
    }
    pattern = re.compile(patterns.get(what, rf"tile\.step @{what}\b"))
    first, last = sections(lines)[where]
    found = [i for i in range(first, last) if pattern.search(lines[i])][index]
    return found, end_of(lines, found) if "tile.step" in lines[found] else found + 1


def other_slot(lines, text):
    slot = re.search(r"slot\(%(\w+)\)", text).group(1)
    value = next(re.search(r"constant (\d)", line).group(1) for line in lines if f"%{slot} =" in line)
    return f"%spoiled = arith.constant {1 - int(value)} : i32\n" + text.replace(
        f"slot(%{slot})", "slot(%spoiled)"
    )


def main(where, what, index, edit=None):
    lines = sys.stdin.read().split("\n")
    first, last = find(lines, where, what, int(index))
    text = "\n".join(lines[first:last])
    rest = lines[last:]
    if edit is None:
        text = ""
    elif edit == "--other-slot":
        text = other_slot(lines, text)
    elif edit == "--behind-barrier":
        barriers = [i for i, line in enumerate(rest) if "tile.barrier" in line]
        rest[barriers[1]] = "tile.wait lgkm(0)\n" + rest[barriers[1]]
        rest[barriers[0]] += "\n" + text
        text = ""
    else:
        old, new = edit.split("=")
        if old not in text:
            sys.exit(f"spoil.py: no '{old}' in: {text}")
        text = text.replace(old, new)
    print("\n".join(lines[:first] + [text] + rest))


main(*sys.argv[1:])
