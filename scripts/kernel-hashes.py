#!/usr/bin/env python3
"""Holds the bytes of the shipped kernels: scripts/kernel-hashes.py [--update] [--build BUILD] [--gemm-only | --all]

Compiles the profile `minimal` for both chips, one attention kernel under every shipped schedule and the matrix
product under its own, and compares the SHA-256 of each code object with test/Pipelines/Inputs/kernel-hashes.txt.
A refactoring changes none; a change that is meant to change bytes remakes the list with --update, and its commit says why.
--all compiles every registered kernel as well (minutes) and is compared with, or written to, the file of --list only.

Another LLVM emits other bytes, so the list says which one it is of; under another nothing is compared, and that is said.
Exit status: 0 as listed, or not comparable; 1 different; 2 a kernel does not compile.
"""
import argparse
import concurrent.futures
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "test" / "Pipelines" / "Inputs" / "kernel-hashes.txt"
CHIPS = ("gfx950", "gfx942")
ATTENTION = ROOT / "kernels" / "attn" / "fmha_fwd_d128_bf16_causal.mlir"
GEMM = ROOT / "kernels" / "tile" / "gemm_bf16.mlir"
# For LDS transfers that gfx950 alone has, respectively gfx942's way round them.
CHIP_OF_SCHEDULE = {"register_pipeline": "gfx942", "register_pipeline_deep": "gfx942"}
# Whose rings of larger tiles do not fit into LDS.
KEYS_OF_SCHEDULE = {"both_products_streamed": 32}


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        print(f"kernel-hashes.py: {' '.join(map(str, command))}:\n{result.stderr}", file=sys.stderr)
        raise SystemExit(2)
    return result.stdout


def hash_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def registered(compiler, directory, chip, profile):
    out = directory / f"{profile or 'all'}-{chip}"
    run(compiler, "--all", *([f"--profile={profile}"] if profile else []), f"--arch={chip}", "-o", out)
    return {f"{chip}/{path.stem}": hash_of(path) for path in sorted(out.glob("*.hsaco"))}


def scheduled(compiler, directory, source, schedule):
    chip = CHIP_OF_SCHEDULE.get(schedule, "gfx950")
    name = f"{chip}/{source.stem}/{schedule}"
    out = directory / f"{source.stem}-{schedule}.hsaco"
    keys = [f"--kv-tile={KEYS_OF_SCHEDULE[schedule]}"] if schedule in KEYS_OF_SCHEDULE else []
    run(compiler, source, f"--schedule={schedule}", f"--target={chip}", *keys, "-o", out)
    return {name: hash_of(out)}


def jobs(compiler, directory, options):
    for path in sorted((ROOT / "kernels" / "schedules" / "gemm").glob("*.mlir")):
        yield scheduled, (compiler, directory, GEMM, path.stem)
    if options.gemm_only:
        return
    for path in sorted((ROOT / "kernels" / "schedules").glob("*.mlir")):
        yield scheduled, (compiler, directory, ATTENTION, path.stem)
    for chip in CHIPS:
        yield registered, (compiler, directory, chip, "minimal")
        if options.all:
            yield registered, (compiler, directory, chip, "")


def read_list(path):
    lines = path.read_text().splitlines()
    llvm = next((line.split()[-1] for line in lines if line.startswith("# LLVM ")), "none")
    return llvm, dict(reversed(line.split()) for line in lines if line and not line.startswith("#"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path, help="build directory (default: build)")
    parser.add_argument("--list", default=LIST, type=pathlib.Path, help="the file of hashes (default: the tree's)")
    parser.add_argument("--update", action="store_true", help="write the list instead of comparing with it")
    parser.add_argument("--gemm-only", action="store_true", help="matrix products only: seconds")
    parser.add_argument("--all", action="store_true", help="every registered kernel too; needs --list")
    options = parser.parse_args()
    if options.all and options.list == LIST:
        parser.error("--all needs --list: the tree's list has the profile 'minimal'")
    compiler = options.build / "bin" / "hocketc"
    version = re.search(r"LLVM (?:version )?(\S+)", run(compiler, "--version")).group(1)
    if not options.update:
        listed_version, listed = read_list(options.list)
        if listed_version != version:
            print(f"not compared: the list is of LLVM {listed_version}, this is {version}; remake it with --update")
            return 0
        if options.gemm_only:
            listed = {name: value for name, value in listed.items() if "/gemm" in name}

    found = {}
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(job, *arguments) for job, arguments in
                       jobs(compiler, pathlib.Path(directory), options)]:
            found.update(future.result())
    if options.update:
        header = f"# SHA-256 of code objects; made by scripts/kernel-hashes.py --update\n# LLVM {version}\n"
        options.list.write_text(header + "".join(f"{found[name]} {name}\n" for name in sorted(found)))
        return 0

    different = sorted(name for name in found.keys() | listed.keys() if found.get(name) != listed.get(name))
    for name in different:
        what = "not listed" if name not in listed else "no longer made" if name not in found else "other bytes"
        print(f"{name}: {what}")
    print(f"{len(found) - len([n for n in different if n in found])} of {len(found)} kernels as listed")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
