#!/usr/bin/env python3
"""Compares kernels of all head sizes: scripts/kernel-table.py [BUILD] [HEADS...] > docs/generated/Kernels.md

Compiles a bf16 kernel without a mask for every pair of head dimensions and schedule, with the shape that the compiler
chooses (hocketc --report), and predicts the steady state of its loop (hocket-run fmha-fwd --time). BUILD is the build
directory (default: build), HEADS are rows to make, like "64", "192/128" or "64@gfx942" (default: all).
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADS = ["32", "64", "72", "96", "128", "160", "192", "192/128", "224", "256"]
SCHEDULES = {"gfx950": ["sequential", "double_buffer", "preload_1", "dual_wave"],
             "gfx942": ["sequential", "double_buffer", "register_pipeline"]}
HEADS_GFX942 = [head + "@gfx942" for head in ["32", "64", "72", "96", "128", "192", "192/128", "256"]]
TITLES = ["head", "schedule", "waves", "keys a tile", "VGPRs", "AGPRs", "SGPRs", "spills", "LDS bytes", "waves a SIMD",
          "workgroups a unit", "matrix unit busy"]

HEADER_GFX942 = """
## gfx942

The same on gfx942, with one workgroup on a compute unit: others would fill its gaps.
"""

HEADER = """# Kernels of all head sizes

Made by `scripts/kernel-table.py`; do not edit. Forward kernels, bf16, no mask, with the number of waves and the keys of a
tile that the compiler chooses (lib/Conversion/AttnToTile/TileShape.h has the rule). The matrix unit's share is a
*prediction* of the cycle model for the hot loop, with as many of two workgroups on a compute unit as fit
(docs/Simulator.md says how far to trust it). What does not fit is refused, with the reason that is given here.
"""


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def describe(dim, dim_v):
    return f"attn.forward @kernel element_type(bf16) head_dim({dim}) head_dim_v({dim_v})\n"


def row(build, heads, chip, schedule, scratch):
    dim, _, dim_v = heads.partition("/")
    dim_v = dim_v or dim
    source, code, manifest, report = (scratch / name for name in ("k.mlir", "k.hsaco", "k.json", "report.json"))
    source.write_text(describe(dim, dim_v))
    compiled = run(build / "bin" / "hocketc", source, f"--schedule={schedule}", f"--target={chip}", "-o", code, f"--manifest={manifest}", "--report=json")
    if compiled.returncode != 0:
        reason = compiled.stderr.splitlines()[0].partition("error: ")[2].partition(", none is allowed")[0]
        return [heads, f"`{schedule}`", "refused: " + reason.partition("' ")[2]]
    kernel = json.loads(compiled.stdout)["kernels"][0]
    keys = json.loads(manifest.read_text())["tile_keys"]
    timed = run(build / "bin" / "hocket-run", "fmha-fwd", "--device", "sim", "--arch", chip, "--seq-q", 256, "--seq-kv", 4096, "--heads", 2, "--head-dim", dim,
                "--head-dim-v", dim_v, "--data", "equal", "--code-object", code, "--manifest", manifest, "--no-verify",
                "--time", "--time-workgroup", 0, "--time-workgroup", 1, "--json", report)
    if timed.returncode != 0:
        sys.exit(timed.stderr)
    time = json.loads(report.read_text())["time"]
    waves = kernel["workgroup_size"] // 64
    return [heads, f"`{schedule}`", waves, keys, kernel["vgpr"] - kernel["agpr"], kernel["agpr"], kernel["sgpr"],
            kernel["vgpr_spills"] + kernel["sgpr_spills"], kernel["lds_bytes"], kernel["waves_per_simd"],
            time["resident_workgroups"], f"{100 * time['steady_state']['busy']['matrix']:.1f}%"]


def table(build, chosen, header, scratch):
    if header:
        print(header)
        print("| " + " | ".join(TITLES) + " |")
        print("|" + " --- |" * len(TITLES))
    for entry in chosen:
        heads, _, chip = entry.partition("@")
        chip = chip or "gfx950"
        for schedule in SCHEDULES[chip]:
            cells = [str(cell) for cell in row(build, heads, chip, schedule, scratch)]
            print("| " + " | ".join(cells + [""] * (len(TITLES) - len(cells))) + " |")


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        if len(sys.argv) > 2:
            table(build, sys.argv[2:], None, scratch)
            return
        table(build, HEADS, HEADER, scratch)
        table(build, HEADS_GFX942, HEADER_GFX942, scratch)


if __name__ == "__main__":
    main()
