#!/usr/bin/env python3
"""How good the registry's choices are: scripts/registry-check.py [--build BUILD] [--problems N] [--seed S] [--head-dim D ...]

Draws random problems, predicts each under every registered kernel that takes it and under the one that the registry
chooses (`hocket-run bench`), and compares. Predictions of the cycle model, not measurements. Split KV is left out: its
choice is computed from the kernels' costs (docs/SplitKV.md).

Prints the problems whose choice is more than --within per cent (default 3) slower than the best, with both kernels, as
they are found, and how many there are. --json FILE keeps all predictions, from which rules can be derived
(docs/Registry.md); problems that it has already are not predicted again, so a run that was stopped goes on.
Exit status: 0 all within, 1 some not, 2 a prediction failed.
"""
import argparse
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
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


def predict(run, arch, problem, names):
    """The rows of the bench report of a problem: one."""
    with tempfile.TemporaryDirectory() as directory:
        listed, out = pathlib.Path(directory, "problems.csv"), pathlib.Path(directory, "out.json")
        with listed.open("w", newline="") as stream:
            csv.writer(stream).writerows([COLUMNS, problem])
        command = [run, "bench", "--device", "sim", f"--arch={arch}", "--problems", listed, "--json", out,
                   "--kernel", "chosen=auto", *(part for name in names for part in ("--kernel", f"{name}={name}"))]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if not out.exists():
            print(f"registry-check.py: {' '.join(map(str, command))}:\n{result.stderr}", file=sys.stderr)
            raise SystemExit(2)
        return json.loads(out.read_text())["rows"]


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
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    drawn = problems(options.problems, options.seed, options.head_dim, options.most_work)
    registry = json.loads((ROOT / "kernels" / "registry.json").read_text())
    rows = kept(options.json)
    off = []
    for problem in drawn:
        if problem not in rows:
            names = whole_kernels(registry, options.arch, problem[5])
            [rows[problem]] = predict(options.build / "bin" / "hocket-run", options.arch, problem, names)
            keep(options.json, rows)
        share = judge(rows[problem], options.within)
        if share is not None:
            off.append(share)
    far = sum(share > options.within / 100 for share in off)
    mean = sum(off) / max(len(off), 1)
    print(f"seed {options.seed}: {len(off) - far} of {len(off)} choices within {options.within:g} % of the best, "
          f"{100 * mean:.2f} % slower on average")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
