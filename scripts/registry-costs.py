#!/usr/bin/env python3
"""Remakes the costs in kernels/registry.json: scripts/registry-costs.py [--build BUILD] [--kernel NAME ...] [--check]

What a workgroup of a kernel takes for 1, 2, 4, ... times `keys` keys, in cycles: alone on a compute unit, and beside
as many others as fit (docs/SplitKV.md), how unlike these get on (`skew`, docs/CycleModel.md), and what of it only the
first workgroups take (`cold_code`). Predictions of the cycle model, with a causal mask that cuts the last tiles where
a cost is `causal`, and with LSE where it is `lse`: `kinds` of `hocket-run bench` for one block of rows of as many
heads as fill every compute unit. Producers of split KV are given two slices. Costs of the kernel that combines slices
are left alone.

--check changes nothing and says by how much the listed costs are off. Exit status: 0, or 2 where a prediction failed.
"""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
REGISTRY = ROOT / "kernels" / "registry.json"
UNITS = {"gfx950": 256, "gfx942": 304}
COLD_PLACE = 2  # among 1, 2, 4, ... tiles


def problem(kernel, cost, tiles, workgroups):
    """Options for one block of rows for each of `workgroups`, with so many tiles each."""
    slices = 2 if kernel.get("role") == "slices" else 1
    kv_heads = max(workgroups // slices, 1)
    # Where rows are the heads of a group, `rows` counts queries, each with a block of 32 heads.
    heads = kv_heads * (32 if kernel.get("group_rows") else 1)
    qk, v = cost["head_dims"]
    return ["--heads", heads, "--kv-heads", kv_heads, "--seq-q", cost["rows"],
            "--seq-kv", tiles * cost["keys"] * slices, "--head-dim", qk, "--head-dim-v", v,
            *(f"--{flag}" for flag in ("lse", "causal") if cost.get(flag))]


def predict(run, kernel, cost, counts, workgroups):
    """What `hocket-run bench` says of the kernel with each of so many tiles."""
    name = kernel["name"] + (":2" if kernel.get("role") == "slices" else "")
    with tempfile.TemporaryDirectory() as directory:
        listed, out = pathlib.Path(directory, "problems.csv"), pathlib.Path(directory, "out.json")
        with listed.open("w", newline="") as stream:
            csv.writer(stream).writerows(
                [["options"], *([" ".join(map(str, problem(kernel, cost, count, workgroups)))] for count in counts)])
        command = [run, "bench", "--device", "sim", f"--arch={cost['arch']}", "--problems", listed, "--json", out,
                   "--kernel", f"k={name}"]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        found = [row["kernels"]["k"] for row in json.loads(out.read_text())["rows"]] if out.exists() else []
        if len(found) != len(counts) or any(len(cell.get("kinds", [])) != 1 for cell in found):
            print(f"registry-costs.py: {' '.join(map(str, command))}:\n{result.stderr}", file=sys.stderr)
            raise SystemExit(2)
        return found


def made_anew(run, kernel, cost):
    """The cost's numbers, from workgroups that fill every compute unit."""
    units = UNITS[cost["arch"]]
    resident = predict(run, kernel, cost, [1], 32 * units)[0]["resident_workgroups"]
    counts = [2**i for i in range(len(cost["alone"]))]
    kinds = [found["kinds"][0] for found in predict(run, kernel, cost, counts, units * resident)]
    cold = kinds[min(COLD_PLACE, len(kinds) - 1)]
    made = {"resident": resident,
            "alone": [round(kind["alone_first_cycles"]) for kind in kinds],
            "shared": [round(kind["first_cycles"]) for kind in kinds],
            "cold_code": max(round(cold["first_cycles"] - cold["cycles"]), 0)}
    if resident > 1:
        made["skew"] = [round(kind["skew"], 3) for kind in kinds]
    return made


def replace(text, kernel, index, cost):
    """`text` with the numbers of the kernel's cost number `index`."""
    start = text.index(f'"name": "{kernel["name"]}"')
    for _ in range(index + 1):
        start = text.index('"alone": [', start) + 1
    start = text.rindex("{", 0, start)
    end = text.index("}", start)
    part = re.sub(r'"resident": \d+', f'"resident": {cost["resident"]}', text[start:end])
    for key in ("alone", "shared"):
        part = re.sub(rf'{key}": \[[^\]]*\]', f'{key}": {json.dumps(cost[key])}', part)
    part = re.sub(r',\s*"skew": \[[^\]]*\]', "", part)
    part = re.sub(r',\s*"cold_code": [0-9.]+', "", part)
    if "skew" in cost:
        part += f',\n         "skew": {json.dumps(cost["skew"])}'
    part += f', "cold_code": {cost["cold_code"]}'
    return text[:start] + part + text[end:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--kernel", nargs="+", help="only these (default: all that have costs)")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = REGISTRY.read_text()
    for kernel in json.loads(text)["kernels"]:
        if kernel.get("role") == "combine" or (options.kernel and kernel["name"] not in options.kernel):
            continue
        for index, cost in enumerate(kernel.get("costs", [])):
            run = options.build / "bin" / "hocket-run"
            made = made_anew(run, kernel, cost)
            off = max(abs(new / old - 1) for key in ("alone", "shared") for new, old in zip(made[key], cost[key]))
            skews = zip(made.get("skew", []), cost.get("skew", []))
            unlike = max((abs(new - old) for new, old in skews), default=0)
            print(f"{kernel['name']} {cost['arch']} {cost['head_dims']}: at most {100 * off:.1f} % from what was "
                  f"listed, skews {unlike:.2f}, {cost['resident']} -> {made['resident']} on a unit", flush=True)
            text = replace(text, kernel, index, made)
            if not options.check:
                REGISTRY.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
