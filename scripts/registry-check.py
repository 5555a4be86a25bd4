#!/usr/bin/env python3
"""How good the registry's choices are: scripts/registry-check.py [--build BUILD] [--problems N] [--seed S] [--head-dim D ...]
                                                           [--vary] [--ledger]

Draws random problems, predicts each under every registered kernel that takes it and under the one that the registry
chooses (`hocket-run bench`), and compares. Predictions of the cycle model, not measurements. Split KV is left out: its
choice is computed from the kernels' costs (docs/SplitKV.md).

Prints the problems whose choice is more than --within per cent (default 3) slower than the best, with both kernels, as
they are found, and how many there are. --json FILE keeps all predictions, from which rules can be derived
(docs/Registry.md); problems that it has already are not predicted again, so a run that was stopped goes on.

--vary asks whether a choice is robust: kernels that are near the best are predicted under each variation of the cycle
model's doubtful parameters, too, and a choice that is more than --regret per cent (default 8) behind the best of them
under one of these is printed with it.

--ledger checks the forward problems of the performance ledger in place of random ones, modifications, pages, lists and
other types included, and then says of each chosen kernel what the best other one would lose: a kernel that gains less
than --within per cent on all of its problems may leave the registry. Each kernel that takes a problem is predicted.
Exit status: 0 all within, 1 some not, 2 a prediction failed.
"""
import argparse
import csv
import json
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEDGER = ROOT / "test" / "Performance" / "ledger.csv"
COLUMNS = ("batch", "seq_q", "seq_kv", "heads", "kv_heads", "head_dim", "dtype", "mask")


def problems(count, seed, head_dims, most_work):
    """Lengths and heads are drawn evenly over their logarithms; what would take too long to predict is drawn again."""
    rng = random.Random(seed)
    drawn = []
    while len(drawn) != count:
        seq_q, seq_kv = (round(2 ** rng.uniform(0, 14)) for _ in range(2))
        if rng.random() < 0.5:
            seq_kv = seq_q
        kv_heads = 2 ** rng.randrange(0, 6)
        heads = kv_heads * rng.choice((1, 1, 4, 8))
        batch = 2 ** rng.randrange(0, 5)
        if batch * heads * seq_q * seq_kv > most_work:
            continue
        mask = rng.choice(("none", "causal"))
        drawn.append((batch, seq_q, seq_kv, heads, kv_heads, rng.choice(head_dims), "bf16", mask))
    return drawn


def takes(kernel, head_dim):
    """Whether a kernel has such heads: it lists them, or computes multiples up to a size."""
    if [head_dim, head_dim] in kernel.get("head_dims", []):
        return True
    multiple = kernel.get("head_dim_multiple", 0)
    return multiple > 0 and head_dim % multiple == 0 and head_dim <= kernel["head_dim_max"]


def whole_kernels(registry, arch, head_dim):
    """Names of registered kernels that compute whole problems with such heads."""
    return [kernel["name"] for kernel in registry["kernels"]
            if kernel.get("role", "whole") == "whole" and arch in kernel["arch"] and takes(kernel, head_dim)]


def predict(run, arch, problem, names, *further, columns=COLUMNS, chosen="auto", may_fail=False):
    """The rows of the bench report of a problem: one, or none where a kernel does not compile and that may be."""
    with tempfile.TemporaryDirectory() as directory:
        listed, out = pathlib.Path(directory, "problems.csv"), pathlib.Path(directory, "out.json")
        with listed.open("w", newline="") as stream:
            csv.writer(stream).writerows([columns, problem])
        command = [run, "bench", "--device", "sim", f"--arch={arch}", "--problems", listed, "--json", out,
                   "--kernel", f"chosen={chosen}", *(part for name in names for part in ("--kernel", f"{name}={name}")), *further]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if not out.exists() and may_fail:
            return []
        if not out.exists():
            print(f"registry-check.py: {' '.join(map(str, command))}:\n{result.stderr}", file=sys.stderr)
            raise SystemExit(2)
        return json.loads(out.read_text())["rows"]


def ledger_problems(arch):
    """Options of the ledger's forward problems whose kernel is the registry's choice."""
    with LEDGER.open(newline="") as stream:
        lines = [row[0] for row in csv.reader(line for line in stream if not line.startswith("#"))]
    for line in lines:
        command, *words = shlex.split(line)
        on = words[words.index("--arch") + 1] if "--arch" in words else "gfx950"
        given = {"--kernel", "--schedule", "--num-splits", "--work-list"} & set(words)
        if command == "fmha-fwd" and on == arch and not given:
            yield shlex.join(word for place, word in enumerate(words) if "--arch" not in words[max(place - 1, 0):place + 1])


def times_of(run, arch, options, names):
    """What a problem takes under the registry's choice, its name in the registry, and what it takes under each other
    kernel that can compute it; `None` where the choice is not one kernel."""
    def found(kernel):
        rows = predict(run, arch, (options,), (), columns=("options",), chosen=kernel, may_fail=True)
        return rows[0]["kernels"]["chosen"] if rows else {}
    chosen = found("auto")
    if chosen.get("registered") not in names or not time_of(chosen):
        return None
    others = {name: time for name in names if name != chosen["registered"] and (time := time_of(found(name)))}
    return chosen["registered"], time_of(chosen), others


def check_ledger(run, arch, registry, within):
    """The shares by which choices are off, which are printed where they are too much, and what each kernel gains."""
    names = [kernel["name"] for kernel in registry["kernels"]
             if kernel.get("role", "whole") == "whole" and arch in kernel["arch"]]
    listed = list(ledger_problems(arch))
    off, gains = [], {}
    with ThreadPoolExecutor() as pool:
        for options, found in zip(listed, pool.map(lambda options: times_of(run, arch, options, names), listed)):
            if not found or not found[2]:
                continue
            name, time, others = found
            best = min(others, key=others.get)
            off.append(max(0.0, time / others[best] - 1))
            gains[name] = max(gains.get(name, -1.0), others[best] / time - 1)
            if off[-1] > within / 100:
                print(f"{options}: {name} {time:.1f} us, {best} {others[best]:.1f} us ({100 * off[-1]:.1f} % slower)",
                      flush=True)
    for name, gain in sorted(gains.items(), key=lambda each: each[1]):
        print(f"{name}: at most {100 * gain:.1f} % faster than the best other kernel")
    return off


def time_of(entry):
    return entry.get("predicted_us") if "refused" not in entry else None


def judge(row, within):
    """The share by which a problem's choice is off, which is printed where it is too much; None if nothing compares."""
    times = {name: time_of(entry) for name, entry in row["kernels"].items()}
    chosen = times.pop("chosen")
    known = {name: time for name, time in times.items() if time}
    if not chosen or not known:
        return None
    best = min(known, key=known.get)
    # What is chosen may be split, which none of the others is, and faster than all of them.
    off = max(0.0, chosen / known[best] - 1)
    if off > within / 100:
        name = row["kernels"]["chosen"].get("registered", "auto")
        print(f"{row['problem']}: {name} {chosen:.1f} us, {best} {known[best]:.1f} us ({100 * off:.1f} % slower)",
              flush=True)
    return off


# How much slower than the best a kernel may be for a variation to put it first.
NEAR = 0.15


def near_best(row):
    """Names of the kernels that a variation may put first."""
    times = {name: time for name, entry in row["kernels"].items() if name != "chosen" and (time := time_of(entry))}
    best = min(times.values(), default=0)
    return [name for name, time in times.items() if time <= best * (1 + NEAR)]


def regret(row, most):
    """The largest share by which a problem's choice is behind under a variation, which is printed where it is too much."""
    varied = {name: {each["parameter"]: each["us"] for each in entry["variations"]}
              for name, entry in row["kernels"].items() if time_of(entry)}
    chosen = varied.pop("chosen", None)
    if not chosen or not varied:
        return None
    behind = {parameter: max(us / times[parameter] - 1 for times in varied.values()) for parameter, us in chosen.items()}
    worst = max(behind, key=behind.get)
    if behind[worst] > most / 100:
        name = row["kernels"]["chosen"].get("registered", "auto")
        best = min(varied, key=lambda other: varied[other][worst])
        print(f"{row['problem']}: with {worst} {name} {chosen[worst]:.1f} us, {best} {varied[best][worst]:.1f} us "
              f"({100 * behind[worst]:.1f} % behind)", flush=True)
    return max(0.0, behind[worst])


def kept(file):
    """The predictions of an earlier run, by problem: [{"drawn": [..], "row": bench's row}]."""
    if not file or not file.exists():
        return {}
    return {tuple(entry["drawn"]): entry["row"] for entry in json.loads(file.read_text())}


def keep(file, rows):
    if file:
        entries = [{"drawn": drawn, "row": row} for drawn, row in rows.items()]
        file.write_text(json.dumps(entries, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--arch", default="gfx950")
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--head-dim", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--most-work", type=float, default=2**34, help="batch * heads * seq_q * seq_kv at most")
    parser.add_argument("--within", type=float, default=3.0)
    parser.add_argument("--vary", action="store_true")
    parser.add_argument("--regret", type=float, default=8.0)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--ledger", action="store_true")
    options = parser.parse_args()
    registry = json.loads((ROOT / "kernels" / "registry.json").read_text())
    run = options.build / "bin" / "hocket-run"
    if options.ledger:
        off = check_ledger(run, options.arch, registry, options.within)
        if not off:
            print(f"registry-check.py: no line of {LEDGER} is for '{options.arch}' and compares two kernels; "
                  "use --arch gfx950 or gfx942", file=sys.stderr)
            return 2
        far = sum(share > options.within / 100 for share in off)
        print(f"ledger: {len(off) - far} of {len(off)} choices within {options.within:g} % of the best")
        return 1 if far else 0
    drawn = problems(options.problems, options.seed, options.head_dim, options.most_work)
    rows = kept(options.json)
    off, behind = [], []
    for problem in drawn:
        if problem not in rows:
            names = whole_kernels(registry, options.arch, problem[5])
            [rows[problem]] = predict(run, options.arch, problem, names)
            keep(options.json, rows)
        share = judge(rows[problem], options.within)
        if share is not None:
            off.append(share)
        if not options.vary or share is None:
            continue
        row, = predict(run, options.arch, problem, near_best(rows[problem]), "--vary")
        if (share := regret(row, options.regret)) is not None:
            behind.append(share)
    far = sum(share > options.within / 100 for share in off)
    mean = sum(off) / max(len(off), 1)
    print(f"seed {options.seed}: {len(off) - far} of {len(off)} choices within {options.within:g} % of the best, "
          f"{100 * mean:.2f} % slower on average")
    if behind:
        print(f"under variations: {sum(share <= options.regret / 100 for share in behind)} of {len(behind)} choices within "
              f"{options.regret:g} % of the best under each, {100 * max(behind):.1f} % at most")
    return 1 if far or any(share > options.regret / 100 for share in behind) else 0


if __name__ == "__main__":
    sys.exit(main())
