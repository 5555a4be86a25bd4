"""Runs matrix products of awkward sizes: gemm-sizes.py HOCKET_RUN STEM...

Every STEM is a kernel (STEM.hsaco, STEM.json); all must give the bits of the first one, and be right. With
HOCKET_ALL_PROBLEMS set every combination of sizes is run; else a selection in which every size and every number of
tiles that schedules distinguish occurs.
"""
import json
import os
import subprocess
import sys

ROWS = [1, 7, 33, 255, 256, 257, 1000]
COLUMNS = [1, 7, 33, 128, 255, 257, 1000]
DEPTHS = [1, 5, 63, 64, 65, 127, 128, 129, 200, 257, 320, 449]
SELECTION = [(1, 1, 1), (7, 33, 5), (33, 7, 63), (255, 1, 64), (1, 255, 65), (257, 33, 127), (33, 257, 128),
             (256, 128, 129), (7, 1000, 200), (1000, 7, 257), (40, 128, 320), (300, 129, 449)]


def run(tool, stem, m, n, k, *options):
    command = [tool, "gemm", f"{stem}.hsaco", "--manifest", f"{stem}.json", "--m", str(m), "--n", str(n), "--k", str(k),
               "--device", "sim", "--check", "--interleavings", "2", "--json", "-", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)["output_hash"]


def main():
    tool, *stems = sys.argv[1:]
    sizes = SELECTION
    if os.environ.get("HOCKET_ALL_PROBLEMS"):
        sizes = [(m, n, k) for m in ROWS for n in COLUMNS for k in DEPTHS]
    for m, n, k in sizes:
        options = ["--stride", f"b={k // 8 * 8 + 64}", "--stride", f"c={n // 8 * 8 + 24}"] if k % 2 else []
        hashes = {run(tool, stem, m, n, k, *options) for stem in stems}
        if len(hashes) != 1:
            sys.exit(f"{m} x {n} x {k}: schedules give different bits")
    print(f"{len(sizes)} sizes, {len(stems)} kernels")


if __name__ == "__main__":
    main()
