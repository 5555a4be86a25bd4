#!/usr/bin/env python3
"""Compares the steady states of all shipped schedules: scripts/schedule-table.py [HOCKET_RUN] > docs/generated/Schedules.md

Runs the D = 128 bf16 kernel without a mask with each schedule of kernels/schedules in the simulator: what one
turn of the hot loop executes (hocket-run steady-state) and how many cycles the cycle model predicts for it
(hocket-run fmha-fwd --time). HOCKET_RUN is the program to run (default: build/bin/hocket-run).
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Whose rings of larger tiles do not fit into LDS.
KEYS = {"both_products_streamed": ["--kv-tile", "32"]}
PROBLEM = ["--seq-q", "256", "--seq-kv", "2048", "--dtype", "bf16", "--data", "equal"]


def run(tool, subcommand, schedule, *options):
    """The JSON report of one run of hocket-run; exits with its message where it fails."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [tool, subcommand, *PROBLEM, "--schedule", schedule, *options, "--json", report.name]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.load(open(report.name, encoding="utf-8"))


def row(tool, schedule, *options):
    steady = run(tool, "steady-state", schedule, *options)
    timed = run(tool, "fmha-fwd", schedule, "--time", *options)["time"]["steady_state"]
    tiles = steady["tiles"]
    per_tile = [steady[key] / tiles for key in
                ("mfma", "trans", "valu", "lds_read", "lds_dma", "barrier", "waits", "nop_wait_states", "salu")]
    drains = sum("vmcnt(0)" in wait for wait in steady["wait_counts"]) / tiles
    name = f"`{schedule}`" + (f" `{' '.join(options)}`" if options else "")
    cells = [name, f"{tiles:g}", *(f"{value:g}" for value in per_tile), f"{drains:g}",
             f"{steady['vgpr']} + {steady['agpr']}", str(steady["lds_bytes"]),
             f"{timed['cycles'] / tiles:.0f}", f"{100 * timed['busy']['matrix']:.1f}%"]
    return "| " + " | ".join(cells) + " |"


def main():
    tool = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "bin" / "hocket-run")
    names = sorted(path.stem for path in (ROOT / "kernels" / "schedules").glob("*.mlir"))
    print("# Steady states of the shipped schedules\n")
    print("Made by `scripts/schedule-table.py`; do not edit. D = 128, bf16, no mask, 2048 keys: what one wave")
    print("executes for each KV tile in one turn of the hot loop with no mask and no rescale, counted in the")
    print("simulator, and the cycles that the cycle model *predicts* for a tile on a compute unit with one workgroup")
    print("(docs/Simulator.md says how far to trust them). The matrix unit alone needs 2048 with eight waves. Packed f32 instructions")
    print("count as two vector instructions; a drain is an `s_waitcnt vmcnt(0)`; registers are vector + accumulation.\n")
    titles = ["schedule", "tiles a turn", "MFMA", "transcendental", "other vector", "LDS reads", "LDS DMA", "barriers",
              "waits", "nop states", "scalar", "drains", "registers", "LDS bytes", "predicted cycles", "matrix unit busy"]
    print("| " + " | ".join(titles) + " |")
    print("|" + " --- |" * len(titles))
    for name in names:
        print(row(tool, name, *KEYS.get(name, [])))


if __name__ == "__main__":
    main()
