#!/usr/bin/env python3
"""Searches the shipped schedules anew: scripts/tune-schedules.py [--build BUILD] [--journals DIR] [--update] [NAME...]

`both_products` and `lone_wave`: runs `hocketc --tune` as it was run when they were found
(docs/notes/2026-11-23-two-on-a-unit.md) and says whether it finds something faster than what kernels/schedules has, by
more than the half percent that comes and goes with other code. --update writes what it found there, under the comment
that stands in the file.

`d64`, `d128`, `d256`: searches from `sequential` alone, 10 minutes each, and says whether what is found is at least as
fast as the fastest that are shipped for that head (CONTESTS). --seed is that of their choices.

--journals keeps what was tried, so that a search that was stopped goes on. All times are predictions; another compiler or
cycle model may find something else, which is no error. Without names the first two, some five minutes of one core each.

Exit status: 0 nothing faster was found, or it was written; for heads: what is shipped was reached; 1 otherwise, 2 a
search failed.
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
KERNEL = "attn.forward @tuned element_type(bf16) head_dim({head}) mask({mask}){lse}\n"
CAUSAL_128 = KERNEL.format(head=128, mask="causal", lse="")
# Faster by less is not worth another schedule.
MARGIN = 0.005


@dataclasses.dataclass
class Search:
    """Where a search began, and with what: options of `hocketc --tune`."""
    start: str
    options: list
    size: str
    kernel: str = CAUSAL_128
    rivals: tuple = ()  # schedules and keys of a tile, None: what follows from the schedule; what is shipped is the best


# What the search of docs/notes/2026-11-23-search.md found, with `mask` in front of `settle`.
TWO_CLUSTERS = """tile.schedule @start unroll(3) {
  tile.cluster memory { mask(-1) settle(-1) head(-1) rescale(-1) }
  tile.cluster compute priority(1) { fetch_k(+3) fetch_v(+2) read_k(+1) tail(-1) qk(0) read_v(0) pv(-1) }
}
"""
SEQUENTIAL = (SCHEDULES / "sequential.mlir").read_text()
SEARCHES = {
    "both_products": Search(TWO_CLUSTERS, ["--waves=4", "--kv-tile=32", "--tune-seed=1", "--tune-candidates=144"],
                            "seq_q=4096,seq_kv=4096,heads=64", rivals=(("both_products", 32),)),
    "lone_wave": Search((SCHEDULES / "read_ahead.mlir").read_text(),
                        ["--waves=4", "--tune-kv-tiles=32,64", "--tune-seed=1", "--tune-candidates=300"],
                        "seq_q=2048,seq_kv=2048,heads=8", rivals=(("lone_wave", 64),)),
}


def contest(head, keys, *rivals):
    """A search from `sequential` alone, as long as on two cores it may take."""
    return Search(SEQUENTIAL, ["--tune-waves=4,8", "--tune-workgroups=1,2", f"--tune-kv-tiles={keys}",
                               "--tune-candidates=100000", "--tune-seconds=600"],
                  "seq_q=4096,seq_kv=4096,heads=16", KERNEL.format(head=head, mask="none", lse=" lse"), rivals)


CONTESTS = {
    "d64": contest(64, "64,128", ("dual_wave", None), ("both_products", 64), ("both_products_joined", 64)),
    "d128": contest(128, "32,64", ("both_products_joined", 32), ("both_products", 32), ("dual_wave", None)),
    "d256": contest(256, "32,64", ("spread_twice", 32), ("streamed_twice", 32), ("lone_wave_spread", None)),
}


def tune(compiler, kernel, size, options, directory):
    """Runs one; its schedule's text and time."""
    source, out = directory / "kernel.mlir", directory / "found.mlir"
    source.write_text(kernel)
    command = [compiler, "--tune", f"--tune-size={size}", *options, source, "-o", out]
    if subprocess.run([str(part) for part in command], text=True).returncode != 0:
        raise SystemExit(2)
    text = out.read_text()
    return text, float(re.search(r"([\d.]+) us predicted", text)[1])


def search(compiler, name, each, more):
    """What was found and its time; the time of the best that is shipped."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        start = directory / "start.mlir"
        start.write_text(each.start)
        text, found = tune(compiler, each.kernel, each.size, [f"--schedule={start}", *each.options, *more], directory)
        shipped = min(tune(compiler, each.kernel, each.size,
                           [f"--schedule={rival}", "--tune-candidates=1"] + ([f"--kv-tile={keys}"] if keys else []),
                           directory)[1] for rival, keys in each.rivals)
    print(f"{name}: found {found:.2f} us, shipped {shipped:.2f} us (predicted)", flush=True)
    return text, found, shipped


def update(name, found):
    path = SCHEDULES / f"{name}.mlir"
    shipped = path.read_text()
    head = shipped[:shipped.index("tile.schedule")]
    body = found[found.index("tile.schedule"):].replace("@tuned", f"@{name}")
    path.write_text(head + re.sub(r"( waves\(\d+\))? \{", " waves(4) {", body, count=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--journals", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0, help="of the searches for heads (default: 0)")
    parser.add_argument("--update", action="store_true")
    names = [*SEARCHES, *CONTESTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)} (default: the first two)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"no search for {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    compiler = options.build / "bin" / "hocketc"
    if not compiler.exists():
        print(f"tune-schedules.py: there is no '{compiler}'; build it, or say where it is with --build", file=sys.stderr)
        return 2
    good = True
    for name in options.names or SEARCHES:
        more = []
        if options.journals:
            options.journals.mkdir(parents=True, exist_ok=True)
            more.append(f"--tune-journal={options.journals / (name + '.jsonl')}")
        if name in CONTESTS:
            more.append(f"--tune-seed={options.seed}")
        text, found, shipped = search(compiler, name, SEARCHES.get(name) or CONTESTS[name], more)
        if name in CONTESTS:
            good &= found <= shipped
        elif found < shipped * (1 - MARGIN):
            print(text)
            good &= options.update
            if options.update:
                update(name, text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
