#!/usr/bin/env python3
"""Tables of all kernels: scripts/kernel-table.py [BUILD] [ROWS...] > docs/generated/Kernels.md

The first table has what `hocketc --report` says of every kernel that ships (kernels/registry.json and the matrix products).
The others compile a bf16 kernel without a mask for pairs of head dimensions and schedules, with the shape that the compiler
chooses, and predict the steady state of its loop (hocket-run fmha-fwd --time). BUILD is the build directory (default:
build). ROWS are rows to make, without headings (default: everything): heads like "64", "192/128" or "64@gfx942", the
name of a shipped kernel like "fmha_combine", or "budget:" and such a name.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = {"bf16": "bf16", "fp16": "f16", "f32": "f32", "f8e4m3": "f8E4M3FN", "f8e5m2": "f8E5M2", "i8": "i8",
         "f4e2m1": "f4E2M1FN"}
HEADS = {"gfx950": ["32", "64", "72", "96", "128", "160", "192", "192/128", "224", "256"],
         "gfx942": ["32", "64", "72", "96", "128", "192", "192/128", "256"]}
SCHEDULES = {"gfx950": ["sequential", "double_buffer", "preload_1", "dual_wave", "read_ahead"],
             "gfx942": ["sequential", "double_buffer", "register_pipeline", "register_pipeline_deep"]}
RESOURCES = ["VGPRs", "AGPRs", "SGPRs", "spills", "LDS bytes", "waves a SIMD"]
SHIPPED_TITLES = ["kernel", "chip", "head", "type", "mask", "waves", "keys a tile"] + RESOURCES
HEADS_TITLES = ["head", "schedule", "waves", "keys a tile"] + RESOURCES + ["workgroups a unit", "matrix unit busy"]

INTRODUCTION = """# All kernels

Made by `scripts/kernel-table.py`; do not edit.

## What ships

What `hocketc --report` says of the kernels of `kernels/registry.json` for the heads that each lists, with LSE where
they write it, and of matrix products. Kernels for other multiples of 8 are compiled when they are asked for. None
spills to memory, since the compiler refuses such kernels. `spills` counts scalars that are kept in lanes of vector
registers, which kernels of slices and modified ones may have.
"""

BUDGET_KEYS = 1024
BUDGET_TITLES = ["kernel", "chip", "head", "cold", "warm", "before", "loop", "behind", "drain", "outside",
                 "loaded: lines / used", "stored: lines / used"]
BUDGET_HEADING = f"""
## What a workgroup spends

The first workgroup of a problem of {BUDGET_KEYS} keys, bf16, no mask, alone on a compute unit: *predicted* cycles with code
and arguments cold and warm; when warm, those of its mean wave before, in and behind the hot loop and until all is
stored; and what it takes *outside*, beyond what its matrix instructions take at the pace of the steady state. Bytes of
memory lines over bytes that lanes use are 1.00 where nothing is moved twice or in vain (`--time`,
docs/HocketRun.md).
"""

HEADING = {"gfx950": """
## Head sizes on gfx950

Forward kernels, bf16, no mask, with the number of waves and the keys of a tile that the compiler chooses
(lib/Conversion/TileShape.h has the rule). The matrix unit's share is a *prediction* of the cycle model for
the hot loop, with as many of two workgroups on a compute unit as fit (docs/Simulator.md says how far to trust it). What
does not fit is refused, with the reason that is given here.
""", "gfx942": """
## Head sizes on gfx942

The same on gfx942, with one workgroup on a compute unit: others would fill its gaps.
"""}


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def resources(kernel):
    return [kernel["vgpr"], kernel["agpr"], kernel["sgpr"],
            kernel["vgpr_spills"] + kernel["sgpr_spills"], kernel["lds_bytes"], kernel["waves_per_simd"]]


def pair(dim, dim_v):
    return str(dim) if dim == dim_v else f"{dim}/{dim_v}"


def types(dtype):
    """As `attn.forward` lists them: of "bf16", "f8e4m3_o_fp16" or "bf16_kv_f8e4m3"."""
    first, *words = dtype.split("_")
    of = dict.fromkeys("qkvo", first)
    for tensors, name in zip(words[::2], words[1::2]):
        of.update(dict.fromkeys(tensors, name))
    if first in ("f8e4m3", "f8e5m2", "i8", "f4e2m1") and "o" not in words[::2]:
        of["o"] = of["v"] if of["v"] in ("bf16", "fp16") else "bf16"
    if len(set(of.values())) == 1:
        return TYPES[first]
    return ", ".join(f"{tensor} = {TYPES[name]}" for tensor, name in of.items())


def describe(entry, dim, dim_v, dtype, mask):
    """The kernel that a registry entry stands for, and the options of hocketc that shape it."""
    role = entry.get("role", "whole")
    if role == "combine":
        shares = "split_waves " if entry.get("split_waves") else ""
        return f"attn.combine @kernel element_type({TYPES[dtype]}) head_dim({dim}) lse {shares}waves({entry['waves']})\n", []
    flags = ["lse"] * (True in entry["lse"]) + ["split"] * (role == "slices")
    flags += [name for name in ("group_rows", "split_waves", "mx") if entry.get(name)]
    options = [f"--schedule={entry['schedule']}"]
    options += [f"--{option}={entry[key]}" for option, key in (("waves", "waves"), ("kv-tile", "kv_tile")) if entry[key]]
    options += ["--scalars-in-lanes"] * entry.get("scalars_in_lanes", False)
    return (f"attn.forward @kernel element_type({types(dtype)}) head_dim({dim}) head_dim_v({dim_v}) mask({mask}) {' '.join(flags)} "
            f"block_order({entry['block_order']})\n"), options


def shipped(build, name, chip, heads, dtype, mask, source, options):
    """A row of the first table; `source` is a file or the text of one."""
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        file, manifest = scratch / "k.mlir", scratch / "k.json"
        file.write_text(source)
        compiled = run(build / "bin" / "hocketc", file, *options, f"--target={chip}", "-o", scratch / "k.hsaco",
                       f"--manifest={manifest}", "--report=json")
        if compiled.returncode != 0:
            sys.exit(f"{name} {chip} {heads} {dtype} {mask}: {compiled.stderr}")
        kernel = json.loads(compiled.stdout)["kernels"][0]
        keys = json.loads(manifest.read_text()).get("tile_keys", 0)
        return [f"`{name}`", chip, heads, dtype, mask, kernel["workgroup_size"] // 64, keys or "", *resources(kernel)]


def shipped_jobs():
    """The arguments of `shipped` for all that ships, in the registry's order."""
    registry = json.loads((ROOT / "kernels" / "registry.json").read_text())
    for entry in registry["kernels"]:
        masks = [""] if entry.get("role") == "combine" else entry["masks"]
        for chip in entry["arch"]:
            for dim, dim_v in entry["head_dims"]:
                for dtype in entry["dtypes"]:
                    for mask in masks:
                        yield (entry["name"], chip, pair(dim, dim_v), dtype, mask, *describe(entry, dim, dim_v, dtype, mask))
    for schedule in sorted((ROOT / "kernels" / "schedules" / "gemm").glob("*.mlir")):
        yield ("gemm_bf16", "gfx950", "", "bf16", f"`{schedule.stem}`", (ROOT / "kernels" / "tile" / "gemm_bf16.mlir").read_text(),
               [f"--schedule={schedule.stem}"])


def budget(build, entry, chip):
    """A row of the table of budgets."""
    dim, dim_v = entry["head_dims"][0]
    source, options = describe(entry, dim, dim_v, "bf16", "none")
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        file, code, manifest, report = (scratch / name for name in ("k.mlir", "k.hsaco", "k.json", "report.json"))
        file.write_text(source.replace(" lse ", " "))
        compiled = run(build / "bin" / "hocketc", file, *options, f"--target={chip}", "-o", code, f"--manifest={manifest}")
        timed = compiled.returncode or run(
            build / "bin" / "hocket-run", "fmha-fwd", "--device", "sim", "--arch", chip, "--seq-q", 256, "--seq-kv", BUDGET_KEYS,
            "--heads", 1, "--head-dim", dim, "--head-dim-v", dim_v, "--data", "equal", "--code-object", code,
            "--manifest", manifest, "--no-verify", "--time", "--json", report)
        if compiled.returncode or timed.returncode:
            sys.exit(f"{entry['name']} {chip}: {compiled.stderr if compiled.returncode else timed.stderr}")
        lives = json.loads(report.read_text())["time"]["budget"]
    warm = lives["warm"]
    share = lambda moved: f"{moved['line_bytes'] / max(moved['lane_bytes'], 1):.2f}"
    cycles = [lives["cold"]["cycles"], warm["cycles"], *(warm[part]["cycles"] for part in ("before", "loop", "behind")),
              warm["drain"], warm.get("outside_steady_state", 0)]
    return [f"`{entry['name']}`", chip, pair(dim, dim_v), *(f"{cycle:.0f}" for cycle in cycles), share(warm["loads"]),
            share(warm["stores"])]


def budget_jobs():
    """The arguments of `budget` for the kernels that compute whole problems of one head in bf16."""
    registry = json.loads((ROOT / "kernels" / "registry.json").read_text())
    return [(entry, chip) for entry in registry["kernels"] for chip in entry["arch"]
            if entry.get("role", "whole") == "whole" and not entry.get("group_rows") and "bf16" in entry["dtypes"]]


def reason(diagnostic):
    """What a diagnostic says, without where and without the way out."""
    said = re.sub(r"^.*error: |^hocketc: |'(tile\.)?kernel':? ?| at 0x[0-9a-f]+", "", diagnostic)
    return re.sub(r"^kernel |, none is allowed.*|; put .*", "", said)


def head(build, heads, chip, schedule):
    """A row of the other tables."""
    dim, _, dim_v = heads.partition("/")
    dim_v = dim_v or dim
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        source, code, manifest, report = (scratch / name for name in ("k.mlir", "k.hsaco", "k.json", "report.json"))
        source.write_text(f"attn.forward @kernel element_type(bf16) head_dim({dim}) head_dim_v({dim_v})\n")
        compiled = run(build / "bin" / "hocketc", source, f"--schedule={schedule}", f"--target={chip}", "-o", code,
                       f"--manifest={manifest}", "--report=json")
        if compiled.returncode != 0:
            return [heads, f"`{schedule}`", "refused: " + reason(compiled.stderr.splitlines()[0].replace(f"{directory}/", ""))]
        kernel = json.loads(compiled.stdout)["kernels"][0]
        keys = json.loads(manifest.read_text())["tile_keys"]
        timed = run(build / "bin" / "hocket-run", "fmha-fwd", "--device", "sim", "--arch", chip, "--seq-q", 256, "--seq-kv", 4096,
                    "--heads", 2, "--head-dim", dim, "--head-dim-v", dim_v, "--data", "equal", "--code-object", code,
                    "--manifest", manifest, "--no-verify", "--time", "--time-workgroup", 0, "--time-workgroup", 1, "--json", report)
        if timed.returncode != 0:
            sys.exit(timed.stderr)
        time = json.loads(report.read_text())["time"]
        return [heads, f"`{schedule}`", kernel["workgroup_size"] // 64, keys, *resources(kernel), time["resident_workgroups"],
                f"{100 * time['steady_state']['busy']['matrix']:.1f}%"]


def print_table(titles, make, build, jobs, heading=True):
    if heading:
        print("\n| " + " | ".join(titles) + " |")
        print("|" + " --- |" * len(titles))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row in pool.map(lambda job: make(build, *job), jobs):
            cells = [str(cell) for cell in row]
            print("| " + " | ".join(cells + [""] * (len(titles) - len(cells))) + " |")


def head_jobs(heads, chip):
    return [(pair, chip, schedule) for pair in heads for schedule in SCHEDULES[chip]]


def print_rows(build, rows):
    for row in rows:
        named = [job for job in budget_jobs() if row == "budget:" + job[0]["name"]]
        if named:
            print_table(BUDGET_TITLES, budget, build, named, heading=False)
            continue
        jobs = [job for job in shipped_jobs() if job[0] == row]
        if jobs:
            print_table(SHIPPED_TITLES, shipped, build, jobs, heading=False)
            continue
        heads, _, chip = row.partition("@")
        print_table(HEADS_TITLES, head, build, head_jobs([heads], chip or "gfx950"), heading=False)


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"
    if len(sys.argv) > 2:
        print_rows(build, sys.argv[2:])
        return
    print(INTRODUCTION, end="")
    print_table(SHIPPED_TITLES, shipped, build, shipped_jobs())
    print(BUDGET_HEADING, end="")
    print_table(BUDGET_TITLES, budget, build, budget_jobs())
    for chip in HEADS:
        print(HEADING[chip], end="")
        print_table(HEADS_TITLES, head, build, head_jobs(HEADS[chip], chip))


if __name__ == "__main__":
    main()
