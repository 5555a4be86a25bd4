#!/usr/bin/env python3
"""Checks that the performance ledger has a line for whatever ships: check-ledger.py SOURCE_DIRECTORY

 - each kernel of kernels/registry.json is the one that a line of test/Performance/ledger.csv records;
 - each text in kernels/tile is compiled by one, and each schedule in kernels/schedules is followed by one.

Prints a line for each that has none and exits 1 if there are any. docs/PerformanceLedger.md says how a line is added.
"""
import csv
import json
import pathlib
import re
import sys

LEDGER = "test/Performance/ledger.csv"
ADVICE = f"add a line to {LEDGER} (docs/PerformanceLedger.md)"


def read_ledger(path):
    """The problems of all lines, and the names of all kernels that they record."""
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(line for line in stream if line.strip() and not line.startswith("#")))[1:]
    return [row[0] for row in rows], {name for row in rows if len(row) > 1 for name in row[1].split("+")}


def followed_schedules(root, problems, kernels):
    """Schedules of registered kernels and of gradients that lines record, and those that lines name."""
    registry = json.loads((root / "kernels/registry.json").read_text(encoding="utf-8"))["kernels"]
    followed = {kernel["schedule"] for kernel in registry if kernel["name"] in kernels and "schedule" in kernel}
    for problem in problems:
        followed.update(re.findall(r"--(?:schedule|kernel) (\S+)", problem))
    return followed | kernels


def without_line(root):
    problems, kernels = read_ledger(root / LEDGER)
    registry = json.loads((root / "kernels/registry.json").read_text(encoding="utf-8"))["kernels"]
    for kernel in registry:
        if kernel["name"] not in kernels:
            yield f"kernels/registry.json: no problem of the ledger runs kernel '{kernel['name']}'"
    for path in sorted((root / "kernels/tile").glob("*.mlir")):
        name = path.relative_to(root).as_posix()
        if not any(name in problem.split() for problem in problems):
            yield f"{name}: no problem of the ledger runs it"
    followed = followed_schedules(root, problems, kernels)
    for path in sorted((root / "kernels/schedules").rglob("*.mlir")):
        # Kernels of gradients are called by their schedules, and by what they add to in memory.
        if followed.isdisjoint({path.stem, path.stem + "_f32", path.stem + "_packed"}):
            yield f"{path.relative_to(root).as_posix()}: no problem of the ledger follows schedule '{path.stem}'"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    findings = list(without_line(pathlib.Path(sys.argv[1])))
    for finding in findings:
        print(f"{finding}; {ADVICE}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
