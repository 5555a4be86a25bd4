#!/usr/bin/env python3
"""Searches the shipped schedules anew: scripts/tune-schedules.py [--build BUILD] [--journals DIR] [--update] [NAME...]

For each schedule that a kernel of the registry follows for more than its being simple: runs `hocketc --tune` as it was
run when the schedule was found, with the same choices, and compares what it finds with what kernels/schedules has. Both
are judged by the mean of the predictions with the cycle model as it is and with each parameter of VARY, since a gain that
goes with one of them is none. Alike is what is within MARGIN. --update writes what is better, under the comment that
stands in the file.

`d64`, `d128`, `d256`: searches from `sequential` alone, 10 minutes each, and says whether what is found is at least as
fast, on the model as it is, as the fastest that are shipped for that head (CONTESTS), `dual_wave` and
`both_products_joined` among them. --seed is that of their choices.

--journals keeps what was tried, so that a search that was stopped goes on. All times are predictions; another compiler or
cycle model may find something else, which is no error. Without names all but those for heads: an hour of one core.

Exit status: 0 all are found again, or better ones were written; for heads: what is shipped was reached; 1 otherwise,
2 a search failed.
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
KERNEL = "attn.forward @tuned element_type({dtype}) head_dim({head}) mask({mask}){lse}\n"
# Better by less is alike: half a percent comes and goes with other code, and the model knows far less for sure.
MARGIN = 0.01
# What the model does not know for sure, and what turns the order of schedules round most easily.
VARY = ("barrier.latency=0", "barrier.latency=80", "trans.cycles=4", "trans.cycles=16", "lds.latency=120",
        "memory.latency=1200")


def kernel(head, mask="none", lse=False, dtype="bf16"):
    return KERNEL.format(head=head, mask=mask, lse=" lse" if lse else "", dtype=dtype)


@dataclasses.dataclass
class Search:
    """Where a search began, and with what: options of `hocketc --tune`."""
    kernel: str
    size: str
    start: str  # a shipped schedule's name, or a text
    options: list
    rivals: tuple  # what is shipped: schedules, and options that are theirs
    target: tuple = ()  # options of both


# The plainest schedule with one cluster for what multiplies and one for the softmax.
TWO_CLUSTERS = """tile.schedule @start unroll(3) {
  tile.cluster memory { mask(-1) settle(-1) head(-1) rescale(-1) }
  tile.cluster compute priority(1) { fetch_k(+3) fetch_v(+2) read_k(+1) tail(-1) qk(0) read_v(0) pv(-1) }
}
"""
SIZE = "seq_q={0},seq_kv={0},heads={1}"
TWICE = ["--waves=4", "--workgroups=2", "--kv-tile=32"]
SEARCHES = {
    "both_products": Search(
        kernel(128, "causal"), SIZE.format(4096, 64), TWO_CLUSTERS,
        ["--waves=4", "--kv-tile=32", "--tune-seed=1", "--tune-candidates=144"], (("both_products", "--kv-tile=32"),)),
    "lone_wave": Search(
        kernel(128, "causal"), SIZE.format(2048, 8), "read_ahead",
        ["--waves=4", "--tune-kv-tiles=32,64", "--tune-candidates=500"], (("lone_wave", "--kv-tile=64"),)),
    "lone_wave_spread": Search(
        kernel(256, "causal", lse=True), SIZE.format(2048, 8), "read_ahead",
        ["--waves=4", "--tune-kv-tiles=32,64", "--tune-candidates=400"], (("lone_wave_spread", "--kv-tile=32"),)),
    "lone_wave_streamed": Search(
        kernel(128, "causal"), SIZE.format(2048, 32), "lone_wave",
        ["--waves=4", "--tune-workgroups=1,2", "--tune-candidates=300"], (("lone_wave_streamed",),),
        ("--kv-tile=64", "--block-order=paired")),
    "streamed_twice": Search(
        kernel(256), SIZE.format(4096, 16), "sequential",
        ["--waves=4", "--tune-workgroups=1,2", "--tune-candidates=400"], (("streamed_twice",),), ("--kv-tile=32",)),
    "halves_twice": Search(
        kernel(256, "causal", lse=True), SIZE.format(2048, 64), "sequential",
        ["--waves=4", "--tune-workgroups=1,2", "--tune-candidates=400"], (("halves_twice",),), ("--kv-tile=32",)),
    "products_apart": Search(
        kernel(192), SIZE.format(4096, 16), "sequential", [*TWICE, "--tune-candidates=400"],
        (("products_apart", "--kv-tile=32"),)),
    "both_products_streamed": Search(
        kernel(192, lse=True), SIZE.format(4096, 16), "sequential",
        ["--tune-waves=4,8", "--tune-kv-tiles=32,64", "--tune-candidates=400"],
        (("both_products_streamed", "--kv-tile=32"),)),
    "read_ahead": Search(
        kernel(160, lse=True), SIZE.format(4096, 16), "sequential",
        ["--tune-waves=4,8", "--tune-kv-tiles=32,64", "--tune-candidates=300"], (("read_ahead",),)),
    "register_pipeline_deep": Search(
        kernel(128, "causal", dtype="f16"), SIZE.format(4096, 64), "register_pipeline", ["--tune-candidates=400"],
        (("register_pipeline_deep",),), ("--target=gfx942", "--waves=4", "--kv-tile=32")),
}


def contest(head, keys, *rivals):
    """A search from `sequential` alone, as long as on two cores it may take."""
    return Search(kernel(head, lse=True), SIZE.format(4096, 16), "sequential",
                  ["--tune-waves=4,8", "--tune-workgroups=1,2", f"--tune-kv-tiles={keys}", "--tune-candidates=100000",
                   "--tune-seconds=600"], rivals)


CONTESTS = {
    "d64": contest(64, "64,128", ("dual_wave",), ("both_products", "--kv-tile=64"),
                   ("both_products_joined", "--kv-tile=64")),
    "d128": contest(128, "32,64", ("both_products_joined", "--kv-tile=32"), ("both_products", "--kv-tile=32"),
                    ("dual_wave",)),
    "d256": contest(256, "32,64", ("halves_twice", "--kv-tile=32"), ("streamed_twice", "--kv-tile=32"),
                    ("lone_wave_spread",)),
}


def tune(compiler, search, options, directory):
    """Runs one; its schedule's text, its time, and the mean over VARY if that was asked for."""
    source, out = directory / "kernel.mlir", directory / "found.mlir"
    source.write_text(search.kernel)
    command = [compiler, "--tune", f"--tune-size={search.size}", *search.target, *options, source, "-o", out]
    if subprocess.run([str(part) for part in command], text=True).returncode != 0:
        raise SystemExit(2)
    text = out.read_text()
    mean = re.search(r"([\d.]+) us by the mean", text)
    return text, float(re.search(r"([\d.]+) us predicted", text)[1]), float(mean[1]) if mean else None


def compare(compiler, name, search, more):
    """What was found, its time and mean; the times and means of what is shipped."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        start = search.start
        if not (SCHEDULES / f"{start}.mlir").exists():
            start = directory / "start.mlir"
            start.write_text(search.start)
        found = tune(compiler, search, [f"--schedule={start}", *search.options, *more], directory)
        vary = [option for option in more if option.startswith("--tune-vary")]
        shipped = [tune(compiler, search, [f"--schedule={rival}", "--tune-candidates=1", *options, *vary], directory)
                   for rival, *options in search.rivals]
    best = [min(each) for each in zip(*(times[1:] for times in shipped))] if vary else [min(t[1] for t in shipped)]
    means = f"; means {found[2]:.2f}, {best[1]:.2f}" if vary else ""
    print(f"{name}: found {found[1]:.2f} us, shipped {best[0]:.2f} us{means} (predicted)", flush=True)
    return found, best


def update(name, found):
    path = SCHEDULES / f"{name}.mlir"
    comment, shipped = path.read_text().split("tile.schedule", 1)
    head, body = found[found.index("tile.schedule"):].replace("@tuned", f"@{name}").split(" {", 1)
    # What options of the search said, the file has to say.
    for word in (r"\bwaves\(\d+\)", r"\bworkgroups\(\d+\)"):
        said = re.search(word, shipped.split(" {", 1)[0])
        if said and not re.search(word, head):
            head += f" {said[0]}"
    path.write_text(f"{comment}{head} {{{body}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--journals", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0, help="of the searches for heads (default: 0)")
    parser.add_argument("--update", action="store_true")
    names = [*SEARCHES, *CONTESTS]
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"of {', '.join(names)} (default: all but the last {len(CONTESTS)})")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"no search for {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    compiler = options.build / "bin" / "hocketc"
    if not compiler.exists():
        print(f"tune-schedules.py: there is no '{compiler}'; build it, or say where it is with --build", file=sys.stderr)
        return 2
    good = True
    for name in options.names or SEARCHES:
        is_contest = name in CONTESTS
        more = [f"--tune-seed={options.seed}"] if is_contest else [f"--tune-vary={','.join(VARY)}"]
        if options.journals:
            options.journals.mkdir(parents=True, exist_ok=True)
            more.append(f"--tune-journal={options.journals / (name + '.jsonl')}")
        found, shipped = compare(compiler, name, CONTESTS[name] if is_contest else SEARCHES[name], more)
        if is_contest:
            good &= found[1] <= shipped[0]
        elif found[2] < shipped[1] * (1 - MARGIN):
            print(f"better:\n{found[0]}")
            good &= options.update
            if options.update:
                update(name, found[0])
        elif found[2] > shipped[1] * (1 + MARGIN):
            print("what is shipped is not found again")
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
