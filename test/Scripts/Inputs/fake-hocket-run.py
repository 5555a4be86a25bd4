#!/usr/bin/env python3
"""Stands in for hocket-run where a script reads its predictions: figures come from figures.csv in the working directory
of the test (named by FIGURES), a line for each problem: problem,kernel,us,vgprs,sgprs,spills, with '+' between
launches. Under variations times are 10 % shorter and longer, of the kernel that FIGURES_WORST names 20 % longer. A problem
without a line is an error, as one that hocket-run does not read, and 'refused' as kernel a refusal.
"""
import csv
import json
import os
import pathlib
import shlex
import sys

PASSES = {"forward": "fmha-fwd", "backward": "fmha-bwd"}


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


def launches(line):
    parts = [line[key].split("+") for key in ("kernel", "vgprs", "sgprs", "spills")]
    return [{"kernel": kernel, "vgprs": int(vgprs), "sgprs": int(sgprs), "spills": int(spills)}
            for kernel, vgprs, sgprs, spills in zip(*parts, strict=True)]


def times(line, words):
    us = float(line["us"])
    varies = "--vary" in words or "--time-vary" in words
    worst = 1.2 if line["kernel"] == os.environ.get("FIGURES_WORST") else 1.1
    return {"us": us} | ({"best_us": 0.9 * us, "worst_us": worst * us} if varies else {})


def bench(figures, words):
    options = dict(zip(words, words[1:]))
    rows = []
    choice = options["--kernel"].split("=")[1]
    with open(options["--problems"], newline="") as stream:
        for number, row in enumerate(csv.DictReader(stream), 2):
            problem = f"{PASSES[row['pass']]} {row['options']}" + (f" --kernel {choice}" if choice != "auto" else "")
            if problem not in figures:
                fail(f"{options['--problems']}:{number}: '{problem}' is not understood")
            line = figures[problem]
            if line["kernel"] == "refused":
                rows.append({"kernels": {"ledger": {"refused": "no kernel takes it"}}})
                continue
            rows.append({"kernels": {"ledger": {**times(line, words), "launches": launches(line)}}})
    return {"rows": rows}


def main():
    with pathlib.Path(os.environ["FIGURES"]).open(newline="") as stream:
        figures = {line["problem"]: line for line in csv.DictReader(stream)}
    command, *words = sys.argv[1:]
    if command == "kernel":
        problem = shlex.join([command, *words[:words.index("--device")]])
        [kernel] = launches(figures[problem])
        all_times = times(figures[problem], words)
        report = {**all_times, "kernel": {**kernel, "name": kernel["kernel"]}, "grid": {"us": all_times["us"]}}
    else:
        report = bench(figures, words)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
