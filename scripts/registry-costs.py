#!/usr/bin/env python3
"""Remakes kernels/costs.json: scripts/registry-costs.py [--build BUILD] [--kernel NAME ...] [--check | --varied | --add COST]

What a workgroup of a kernel takes, in cycles, for several numbers of tiles of `keys` keys: alone on a compute unit, and
beside as many others as fit (`shared`), of the first workgroups there and of those behind them (`..._later`), and how
unlike those that share get on (`skew`, docs/CycleModel.md); what a last tile that is half full adds where it is the
only one, and elsewhere (`part_tile`); and what it saves to have one row of a block, and a quarter, half and three
quarters of them (`few_rows`). Predictions of the cycle model, with a causal mask that cuts the last tiles where a cost
is `causal`, and with LSE where it is `lse`: `kinds` of `hocket-run bench` for one block of rows of as many heads as fill
every compute unit. Producers of split KV are given two slices. Of the kernel that combines slices a tile is `keys`
slices: the second grid of `hocket-run fmha-fwd --num-splits`. Of a kernel whose items join, what one item takes and what
further ones add. `varied` is how many times as long a long block takes under each variation of the cycle model's
doubtful parameters (docs/generated/TimeParameters.md); those that change it by less than half a per cent are left out.

Costs that are there are made anew. --add makes one more of a kernel: chip, heads of Q and K and of V, rows of a
workgroup, keys of a tile, and what else it has, as in gfx950,128x128,rows=256,keys=64,causal,lse.
--varied makes only `varied` anew. --check changes nothing and says by how much the listed costs are off. Exit status: 0, or 2 where a prediction failed.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
REGISTRY = ROOT / "kernels" / "registry.json"
COSTS = ROOT / "kernels" / "costs.json"
UNITS = {"gfx950": 256, "gfx942": 304}
# Many enough that what is between them is on straight lines: small ones repeat with the unrolled loop.
TILES = (1, 2, 3, 4, 5, 6, 8, 12, 16, 32)
SMALL_TILES = (*range(1, 17), 20, 24, 32, 64)
PLACES = ("alone", "shared")
STATES = tuple(place + behind for place in PLACES for behind in ("", "_later"))
KIND_OF = {"alone": "alone_first_cycles", "shared": "first_cycles",
           "alone_later": "alone_cycles", "shared_later": "cycles"}
SEVERAL = 4  # tiles


def tiles_of(cost):
    """The numbers of tiles at which a cost is made. Beneath a causal mask blocks may see no key at all."""
    return ((0,) if cost.get("causal") else ()) + (SMALL_TILES if cost["keys"] <= 32 else TILES)


def rows_of(cost, quarters):
    """Queries that fill so many quarters of a block's rows; of 0 one row."""
    if quarters == 0:
        # The mask of a single query hides nothing, and is left out.
        return 2 if cost.get("causal") else 1
    return cost["rows"] * quarters // 4


def problem(kernel, cost, workgroups, tiles, quarters=4, keys=None):
    """Options for one block of rows for each of `workgroups`, with so many tiles each, of whose last there are `keys`
    (default: all). With no tiles each second block has none, and the others one."""
    slices = 2 if kernel.get("role") == "slices" else 1
    kv_heads = max(workgroups // (slices if tiles else 2), 1)
    rows = rows_of(cost, quarters)
    seq_kv = tiles * cost["keys"] * slices - (cost["keys"] - keys if keys else 0)
    qk, v = cost["head_dims"]
    return ["--heads", kv_heads, "--seq-q", rows if tiles else 2 * rows,
            "--seq-kv", max(seq_kv, 1), "--head-dim", qk, "--head-dim-v", v, "--dtype", kernel["dtypes"][0],
            *(f"--{flag}" for flag in ("lse", "causal") if cost.get(flag))]


def predict(run, kernel, cost, problems, *options):
    """What `hocket-run bench` says of the kernel with each of the problems."""
    name = kernel["name"] + (":2" if kernel.get("role") == "slices" else "")
    if not problems:
        return []
    with tempfile.TemporaryDirectory() as directory:
        listed, out = pathlib.Path(directory, "problems.csv"), pathlib.Path(directory, "out.json")
        with listed.open("w", newline="") as stream:
            csv.writer(stream).writerows([["options"], *([" ".join(map(str, one))] for one in problems)])
        command = [run, "bench", "--device", "sim", f"--arch={cost['arch']}", "--problems", listed, "--json", out,
                   "--kernel", f"k={name}", *options]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        found = [row["kernels"]["k"] for row in json.loads(out.read_text())["rows"]] if out.exists() else []
        if len(found) != len(problems) or any("kinds" not in cell for cell in found):
            print(f"registry-costs.py: {' '.join(map(str, command))}:\n{result.stderr}", file=sys.stderr)
            raise SystemExit(2)
        return found


def kinds_of(run, kernel, cost, problems, pick=max):
    """What the workgroups of each problem take; where they are not all alike, those that do the most, or the least."""
    return [pick(found["kinds"], key=lambda kind: kind["instructions"])
            for found in predict(run, kernel, cost, problems)]


def whole_of(run, kernel, cost, workgroups):
    """The kinds of workgroups with all rows and keys, by tiles."""
    problems = {count: problem(kernel, cost, workgroups, count) for count in tiles_of(cost)}
    # Half of the workgroups of a grid with such have no tiles.
    idle = kinds_of(run, kernel, cost, [problems[0]] if 0 in problems else [], min)
    return dict(zip(problems, idle + kinds_of(run, kernel, cost, [one for count, one in problems.items() if count])))


def of_pairs(run, kernel, cost):
    """Of two on a compute unit, where more fit."""
    kinds = whole_of(run, kernel, cost, 2 * UNITS[cost["arch"]]).values()
    return {"cycles": [round(kind["first_cycles"]) for kind in kinds],
            "later": [round(kind["cycles"]) for kind in kinds], "skew": [round(kind["skew"], 3) for kind in kinds]}


def made_anew(run, kernel, cost):
    """The cost's numbers, from workgroups that fill every compute unit."""
    units, keys = UNITS[cost["arch"]], cost["keys"]
    resident = predict(run, kernel, cost, [problem(kernel, cost, 32 * units, 1)])[0]["resident_workgroups"]
    workgroups = units * resident
    few_keys = (1, keys // 2 - 1, keys // 2 + 1, keys - 1)
    whole = whole_of(run, kernel, cost, workgroups)
    kinds = iter(kinds_of(run, kernel, cost, [
        *(problem(kernel, cost, workgroups, count, quarters) for count in (1, SEVERAL) for quarters in range(4)),
        *(problem(kernel, cost, workgroups, count, quarters, some)
          for count, quarters in ((1, 1), (1, 4), (SEVERAL, 4)) for some in few_keys)]))
    few = {count: [next(kinds) for _ in range(4)] for count in (1, SEVERAL)}
    parts = [(next(kinds), of) for of in (few[1][1], whole[1], whole[SEVERAL]) for _ in few_keys]
    states = STATES if resident > 1 else STATES[:2]

    def numbers(state, pairs):
        return [round(one[KIND_OF[state]] - other[KIND_OF[state]]) for one, other in pairs]
    made = {"resident": resident, "tiles": list(whole)}
    for state in states:
        made[state] = [round(kind[KIND_OF[state]]) for kind in whole.values()]
    if resident > 1:
        made["skew"] = [round(kind["skew"], 3) for kind in whole.values()]
    if resident > 2:
        made["pair"] = of_pairs(run, kernel, cost)
    saved = [(whole[count], one) for count in few for one in few[count]]
    made["few_rows"] = {state: numbers(state, saved) for state in states}
    made["part_tile"] = {state: numbers(state, parts) for state in states}
    return made


ITEMS = 5


def made_of_items(run, kernel, cost):
    """Of a kernel whose items join: a workgroup is an item, the first of a unit or one behind it. Those are what more
    items add, as workgroups that need no start."""
    keys, few_keys = cost["keys"], (1, cost["keys"] // 2 - 1, cost["keys"] // 2 + 1, cost["keys"] - 1)
    wanted = [*((count, 4, None) for count in TILES),
              *((count, quarters, None) for count in (1, SEVERAL) for quarters in range(4)),
              *((count, quarters, some) for count, quarters in ((1, 1), (1, 4), (SEVERAL, 4)) for some in few_keys)]
    cycles = []
    for items in (1, ITEMS):
        problems = [problem(kernel, cost, items * UNITS[cost["arch"]], *one) for one in wanted]
        cycles.append([kind["alone_first_cycles"] for kind in kinds_of(run, kernel, cost, problems)])
    states = {"alone": dict(zip(wanted, cycles[0])),
              "alone_later": {one: (many - first) / (ITEMS - 1) for one, first, many in zip(wanted, *cycles)}}
    made = {"resident": 1, "tiles": list(TILES), "few_rows": {}, "part_tile": {}}
    for state, of in states.items():
        made[state] = [round(of[count, 4, None]) for count in TILES]
        made["few_rows"][state] = [round(of[count, 4, None] - of[count, quarters, None])
                                   for count in (1, SEVERAL) for quarters in range(4)]
        made["part_tile"][state] = [round(of[count, quarters, some] - of[count, quarters, None])
                                    for count, quarters in ((1, 1), (1, 4), (SEVERAL, 4)) for some in few_keys]
    return made


LONG_KEYS = 2048
HEADS_OF_KEYS = 8  # a head of keys for each of the chip's XCDs, so that memory does not decide
LEAST_VARIED = 0.005


def varied_of(run, kernel, cost):
    """How many times as long long blocks on full compute units take under each variation. What memory's share of the
    grid varies is not the kernel's."""
    units = UNITS[cost["arch"]] * (ITEMS if kernel.get("join_items") else cost["resident"])
    options = problem(kernel, cost, units, LONG_KEYS // cost["keys"])
    heads = options[options.index("--heads") + 1]
    # Heads of a group would be rows of a block.
    if not kernel.get("group_rows") and heads % HEADS_OF_KEYS == 0:
        options += ["--kv-heads", HEADS_OF_KEYS]
    found = predict(run, kernel, cost, [options], "--vary")[0]
    shares = {one["parameter"]: one["us"] / found["predicted_us"] for one in found["variations"]}
    return {parameter: round(share, 3) for parameter, share in sorted(shares.items())
            if not parameter.startswith("grid.") and abs(share - 1) >= LEAST_VARIED}


COMBINE_STEPS = (1, 2, 4, 8)


def combine_grid(run, cost, steps, workgroups):
    """The second grid of a launch whose slices take so many steps to combine."""
    head_dim = cost["head_dims"][1]
    command = [run, "fmha-fwd", "--device", "sim", f"--arch={cost['arch']}", "--heads", workgroups,
               "--seq-q", cost["rows"], "--seq-kv", 512, "--head-dim", head_dim, "--num-splits", steps * cost["keys"], "--no-verify", "--time",
               "--time-grid", "--json", "-"]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        print(f"registry-costs.py: {' '.join(map(str, command))}:\n{result.stderr}", file=sys.stderr)
        raise SystemExit(2)
    return json.loads(result.stdout[result.stdout.index("{"):])["further_grids"][0]


def made_of_combine(run, kernel, cost):
    """The numbers of a kernel that combines slices."""
    units = UNITS[cost["arch"]]
    # A kernel for few rows is the one that is chosen for few rows.
    resident = combine_grid(run, cost, 1, units)["resident_workgroups"]
    kinds = [combine_grid(run, cost, steps, units * resident)["kinds"][0] for steps in COMBINE_STEPS]
    made = {"resident": resident, "tiles": list(COMBINE_STEPS)}
    for state in STATES:
        made[state] = [round(kind[KIND_OF[state]]) for kind in kinds]
    return made


def text_of(cost):
    """A cost as it stands in the file."""
    def pairs(keys):
        return ", ".join(f"{json.dumps(key)}: {json.dumps(cost[key])}" for key in keys if key in cost)
    lines = (("arch", "head_dims", "causal", "lse", "rows", "keys", "resident"), ("tiles",), STATES[:2], STATES[2:],
             ("skew",), ("pair",), ("few_rows",), ("part_tile",), ("varied",))
    return "{" + ",\n       ".join(filter(None, map(pairs, lines))) + "}"


def write(costs, kernels):
    """The file of all costs, in the order of the registry."""
    lists = (f'    "{name}": [\n      ' + ",\n      ".join(map(text_of, costs[name])) + "\n    ]"
             for name in kernels if costs.get(name))
    COSTS.write_text('{\n  "hocket_costs": 1,\n  "kernels": {\n' + ",\n".join(lists) + "\n  }\n}\n")


def asked_by(text):
    """What --add asks for."""
    try:
        arch, heads, *rest = text.split(",")
        numbers = dict(part.split("=") for part in rest if "=" in part)
        flags = {flag: True for flag in rest if "=" not in flag}
        if set(numbers) != {"rows", "keys"} or not set(flags) <= {"causal", "lse"} or arch not in UNITS:
            raise ValueError
        return {"arch": arch, "head_dims": [int(part) for part in heads.split("x")], **flags,
                **{key: int(number) for key, number in numbers.items()}}
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form gfx950,128x128,rows=256,keys=64,causal,lse: the "
                                         "last two may lack") from error


def remake(run, kernel, cost):
    """The cost made anew, and how far it was off, in a line."""
    make = (made_of_items if kernel.get("join_items") else
            made_of_combine if kernel.get("role") == "combine" else made_anew)
    made = make(run, kernel, cost)
    if kernel.get("role", "whole") == "whole":
        made["varied"] = varied_of(run, kernel, cost | made)
    pairs = [pair for state in STATES for pair in zip(made.get(state, []), cost.get(state, []))]
    off = max((abs(new / old - 1) for new, old in pairs if old), default=0)
    off = off if made["tiles"] == cost.get("tiles") else float("nan")
    skews = zip(made.get("skew", []), cost.get("skew", []))
    unlike = max((abs(new - old) for new, old in skews), default=0)
    print(f"{kernel['name']} {cost['arch']} {cost['head_dims']}: at most {100 * off:.1f} % from what was "
          f"listed, skews {unlike:.2f}, {cost.get('resident')} -> {made['resident']} on a unit", flush=True)
    return {key: cost[key] for key in ("arch", "head_dims", "causal", "lse", "rows", "keys") if key in cost} | made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--kernel", nargs="+", action="extend", help="only these (default: all that have costs)")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--varied", action="store_true")
    parser.add_argument("--add", type=asked_by, metavar="COST")
    options = parser.parse_args()
    kernels = {kernel["name"]: kernel for kernel in json.loads(REGISTRY.read_text())["kernels"]}
    costs = json.loads(COSTS.read_text())["kernels"]
    if unknown := [name for name in options.kernel or () if name not in kernels]:
        parser.error(f"no registered kernel '{unknown[0]}'; hocket-run registry lists them")
    if options.varied and (options.check or options.add):
        parser.error("--varied goes without --check and --add")
    if options.add and (options.check or len(options.kernel or ()) != 1):
        parser.error("--add goes with one --kernel, and without --check")
    run = options.build / "bin" / "hocket-run"
    if options.add:
        costs.setdefault(options.kernel[0], []).append(remake(run, kernels[options.kernel[0]], options.add))
        write(costs, kernels)
        return 0
    for name in options.kernel or costs:
        if options.varied:
            if kernels[name].get("role", "whole") == "whole":
                costs[name] = [cost | {"varied": varied_of(run, kernels[name], cost)} for cost in costs.get(name, ())]
                write(costs, kernels)
            continue
        made = [remake(run, kernels[name], cost) for cost in costs.get(name, ())]
        if made and not options.check:
            costs[name] = made
            write(costs, kernels)
    return 0


if __name__ == "__main__":
    sys.exit(main())
