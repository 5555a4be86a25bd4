#!/usr/bin/env python3
"""Searches the shipped schedules anew: scripts/tune-schedules.py [--build BUILD] [--journals DIR] [--update] [NAME...]

Runs `hocketc --tune` as it was run when the schedules of this list were found (docs/notes/2026-11-23-two-on-a-unit.md)
and says whether the search still ends at what kernels/schedules has. --update writes what it found there, under the
comment that stands in the file. --journals keeps what was tried, so that a search that was stopped goes on. Each takes
some five minutes of one core; another compiler or cycle model may find something else, which is no error.

Exit status: 0 as shipped or written, 1 something else was found, 2 a search failed.
"""
import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEDULES = ROOT / "kernels" / "schedules"
KERNEL = "attn.forward @tuned element_type(bf16) head_dim(128) mask(causal)\n"


@dataclasses.dataclass
class Search:
    """Where a search began, and with what: options of `hocketc --tune`."""
    start: str
    options: list


# What the search of docs/notes/2026-11-23-search.md found, with `mask` in front of `settle`.
TWO_CLUSTERS = """tile.schedule @start unroll(3) {
  tile.cluster memory { mask(-1) settle(-1) head(-1) rescale(-1) }
  tile.cluster compute priority(1) { fetch_k(+3) fetch_v(+2) read_k(+1) tail(-1) qk(0) read_v(0) pv(-1) }
}
"""
SEARCHES = {
    "both_products": Search(TWO_CLUSTERS, ["--waves=4", "--kv-tile=32", "--tune-seed=1", "--tune-candidates=144",
                                           "--tune-size=seq_q=4096,seq_kv=4096,heads=64"]),
    "lone_wave": Search((SCHEDULES / "read_ahead.mlir").read_text(),
                        ["--waves=4", "--kv-tile=32", "--tune-kv-tiles=32,64", "--tune-seed=1",
                         "--tune-candidates=300", "--tune-size=seq_q=2048,seq_kv=2048,heads=8"]),
}


def clusters(text):
    """The clusters of a schedule as lines, without what the registry says elsewhere."""
    return [line.strip() for line in text.splitlines() if line.strip().startswith("tile.cluster")]


def search(compiler, name, journals):
    with tempfile.TemporaryDirectory() as directory:
        kernel, start, out = (pathlib.Path(directory, file) for file in ("kernel.mlir", "start.mlir", "found.mlir"))
        kernel.write_text(KERNEL)
        start.write_text(SEARCHES[name].start)
        command = [compiler, "--tune", f"--schedule={start}", *SEARCHES[name].options, kernel, "-o", out]
        if journals:
            journals.mkdir(parents=True, exist_ok=True)
            command.append(f"--tune-journal={journals / (name + '.jsonl')}")
        result = subprocess.run([str(part) for part in command], text=True)
        if result.returncode != 0:
            raise SystemExit(2)
        return out.read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--journals", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SEARCHES)} (default: all)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(SEARCHES):
        parser.error(f"no search for {', '.join(sorted(unknown))}; there are {', '.join(SEARCHES)}")
    same = True
    for name in options.names or SEARCHES:
        found, path = search(options.build / "bin" / "hocketc", name, options.journals), SCHEDULES / f"{name}.mlir"
        shipped = path.read_text()
        if clusters(found) == clusters(shipped):
            print(f"{name}: as shipped")
            continue
        print(f"{name}: found something else\n{found}")
        if options.update:
            head = shipped[:shipped.index("tile.schedule")]
            body = found[found.index("tile.schedule"):].replace("@tuned", f"@{name}")
            path.write_text(head + re.sub(r"( waves\(\d+\))? \{", " waves(4) {", body, count=1))
        same = False
    return 0 if same or options.update else 1


if __name__ == "__main__":
    sys.exit(main())
