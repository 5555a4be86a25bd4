#!/usr/bin/env python3
"""Compares kernels of all head sizes: scripts/kernel-table.py [BUILD] [HEADS...] > docs/generated/Kernels.md

Compiles a bf16 kernel without a mask for every pair of head dimensions and schedule, with the shape that the compiler
chooses (hocketc --report), and predicts the steady state of its loop (hocket-run fmha-fwd --time). BUILD is the build
directory (default: build), HEADS are rows to make, like "64" or "192/128" (default: all). "split" are the kernels of
split KV (docs/SplitKV.md), as kernels/registry.json has them, with both masks.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADS = ["32", "64", "72", "96", "128", "160", "192", "192/128", "224", "256"]
SCHEDULES = ["sequential", "double_buffer", "preload_1", "dual_wave"]
TITLES = ["head", "schedule", "waves", "keys a tile", "VGPRs", "AGPRs", "SGPRs", "spills", "LDS bytes", "waves a SIMD",
          "workgroups a unit", "matrix unit busy"]

HEADER = """# Kernels of all head sizes

Made by `scripts/kernel-table.py`; do not edit. Forward kernels, bf16, no mask, with the number of waves and the keys of a
tile that the compiler chooses (lib/Conversion/AttnToTile/TileShape.h has the rule). The matrix unit's share is a
*prediction* of the cycle model for the hot loop, with as many of two workgroups on a compute unit as fit
(docs/Simulator.md says how far to trust it). What does not fit is refused, with the reason that is given here.
"""


SPLIT_TITLES = ["kernel", "head", "mask", "waves", "keys a tile", "VGPRs", "AGPRs", "SGPRs", "spills", "LDS bytes", "waves a SIMD"]
SPLIT_HEADER = """
## Split KV

The kernels of [split KV](../SplitKV.md), bf16, with log-sum-exp, as `kernels/registry.json` has them.
"""


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def describe(dim, dim_v):
    return f"attn.forward @kernel element_type(bf16) head_dim({dim}) head_dim_v({dim_v})\n"


def row(build, heads, schedule, scratch):
    dim, _, dim_v = heads.partition("/")
    dim_v = dim_v or dim
    source, code, manifest, report = (scratch / name for name in ("k.mlir", "k.hsaco", "k.json", "report.json"))
    source.write_text(describe(dim, dim_v))
    compiled = run(build / "bin" / "hocketc", source, f"--schedule={schedule}", "-o", code, f"--manifest={manifest}", "--report=json")
    if compiled.returncode != 0:
        reason = compiled.stderr.splitlines()[0].partition("error: ")[2].partition(", none is allowed")[0]
        return [heads, f"`{schedule}`", "refused: " + reason.partition("' ")[2]]
    kernel = json.loads(compiled.stdout)["kernels"][0]
    keys = json.loads(manifest.read_text())["tile_keys"]
    timed = run(build / "bin" / "hocket-run", "fmha-fwd", "--device", "sim", "--seq-q", 256, "--seq-kv", 4096, "--heads", 2, "--head-dim", dim,
                "--head-dim-v", dim_v, "--data", "equal", "--code-object", code, "--manifest", manifest, "--no-verify",
                "--time", "--time-workgroup", 0, "--time-workgroup", 1, "--json", report)
    if timed.returncode != 0:
        sys.exit(timed.stderr)
    time = json.loads(report.read_text())["time"]
    waves = kernel["workgroup_size"] // 64
    return [heads, f"`{schedule}`", waves, keys, kernel["vgpr"] - kernel["agpr"], kernel["agpr"], kernel["sgpr"],
            kernel["vgpr_spills"] + kernel["sgpr_spills"], kernel["lds_bytes"], kernel["waves_per_simd"],
            time["resident_workgroups"], f"{100 * time['steady_state']['busy']['matrix']:.1f}%"]


def split_row(build, entry, dim, mask, scratch):
    source, code, manifest = (scratch / name for name in ("k.mlir", "k.hsaco", "k.json"))
    options = []
    if entry["role"] == "combine":
        source.write_text(f"attn.combine @kernel element_type(bf16) head_dim({dim}) lse\n")
    else:
        source.write_text(f"attn.forward @kernel element_type(bf16) head_dim({dim}) mask({mask}) lse split\n")
        options = [f"--schedule={entry['schedule']}", f"--waves={entry['waves']}"]
        if entry["kv_tile"]:
            options.append(f"--kv-tile={entry['kv_tile']}")
    compiled = run(build / "bin" / "hocketc", source, *options, "-o", code, f"--manifest={manifest}", "--report=json")
    if compiled.returncode != 0:
        sys.exit(compiled.stderr)
    kernel = json.loads(compiled.stdout)["kernels"][0]
    keys = json.loads(manifest.read_text()).get("tile_keys", 0)
    return [f"`{entry['name']}`", dim, mask, kernel["workgroup_size"] // 64, keys or "", kernel["vgpr"] - kernel["agpr"], kernel["agpr"],
            kernel["sgpr"], kernel["vgpr_spills"] + kernel["sgpr_spills"], kernel["lds_bytes"], kernel["waves_per_simd"]]


def print_split(build, scratch):
    registry = json.loads((ROOT / "kernels" / "registry.json").read_text())
    for entry in registry["kernels"]:
        if entry.get("role", "whole") == "whole":
            continue
        for dim, _ in entry["head_dims"]:
            for mask in entry["masks"] if entry["role"] == "slices" else ["any"]:
                print("| " + " | ".join(str(cell) for cell in split_row(build, entry, dim, mask, scratch)) + " |")


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"
    chosen = sys.argv[2:] or HEADS
    if chosen == HEADS:
        print(HEADER)
        print("| " + " | ".join(TITLES) + " |")
        print("|" + " --- |" * len(TITLES))
    with tempfile.TemporaryDirectory() as scratch:
        for heads in [heads for heads in chosen if heads != "split"]:
            for schedule in SCHEDULES:
                cells = [str(cell) for cell in row(build, heads, schedule, pathlib.Path(scratch))]
                print("| " + " | ".join(cells + [""] * (len(TITLES) - len(cells))) + " |")
        if chosen == HEADS:
            print(SPLIT_HEADER)
            print("| " + " | ".join(SPLIT_TITLES) + " |")
            print("|" + " --- |" * len(SPLIT_TITLES))
        if chosen == HEADS or "split" in chosen:
            print_split(build, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
