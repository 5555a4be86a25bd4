#!/usr/bin/env python3
"""Compares predicted times with the ledger: scripts/performance.py [--update] [--long] [--build BUILD] [PATTERN...]

The ledger (test/Performance/ledger.csv; --long adds ledger-long.csv) has a line for each problem: what one would type
after `hocket-run`, the kernels that run, the predicted microseconds, their vector and scalar registers, and how many
registers they spill. This script predicts each problem again and says which lines differ: slower or faster by more
than 0.5 %, more or fewer spills, another kernel. With a PATTERN only lines that contain it, or match it as a glob.
ledger-long.csv also has the shortest and the longest time under the variations of the cycle model's doubtful parameters
(`hocket-run bench --vary`), which takes many times as long.

--update records what the tree does. A time within 0.5 % is left as it is, so that small losses add up until they are
seen. A new problem is a line of its options alone; --update fills in the rest.

Times are predictions of the cycle model, not measurements; they do not depend on the machine.
Exit status: 0 as recorded; 1 something differs; 2 a line cannot be read or predicted.
"""
import argparse
import concurrent.futures
import csv
import dataclasses
import fnmatch
import io
import json
import os
import pathlib
import resource
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIRECTORY = ROOT / "test" / "Performance"
COLUMNS = ["problem", "kernel", "us", "vgprs", "sgprs", "spills"]
RANGE = ["best_us", "worst_us"]   # beside them, in a ledger of variations
TOLERANCE = 0.005
# Lines that one process predicts: they share compiled kernels.
LINES_AT_A_TIME = 6
PASSES = {"fmha-fwd": "forward", "fmha-bwd": "backward"}
# Of a `kernel` line: its tensors are random, and it is timed without a launch of the whole grid.
TIMED = ["--device", "sim", "--no-launch", "--time", "--time-grid"]


class Unusable(Exception):
    """A ledger or a line that cannot be read or predicted."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """What is known of a problem. Of several launches, kernels, registers and spills are joined by '+'."""
    kernel: str
    us: float
    vgprs: str
    sgprs: str
    spills: str
    range: tuple = ()   # shortest and longest time under variations

    def spilled(self):
        return sum(int(number) for number in self.spills.split("+"))

    def fields(self):
        return [self.kernel, f"{self.us:.2f}", self.vgprs, self.sgprs, self.spills,
                *(f"{time:.2f}" for time in self.range)]


def entry_of(launches, us, report):
    """An entry from launches and times as JSON reports have them."""
    def joined(key):
        return "+".join(str(launch[key]) for launch in launches)
    times = tuple(round(report[key], 2) for key in RANGE if key in report)
    return Entry(joined("kernel"), round(us, 2), joined("vgprs"), joined("sgprs"), joined("spills"), times)


# The file

class Ledger:
    """The lines of a file, comments among them, in their order."""

    def __init__(self, path):
        self.path = path
        self.lines = []    # a comment as text, or a problem as (problem, Entry or None)
        text = path.read_text().splitlines()
        self.columns = next(csv.reader(text[:1]), [])
        if self.columns not in (COLUMNS, COLUMNS + RANGE):
            raise Unusable(f"{path}:1: the first line must be '{','.join(COLUMNS)}', with ',{','.join(RANGE)}' after it in "
                           "a ledger of variations")
        self.varies = self.columns != COLUMNS
        seen = {}
        for number, line in enumerate(text[1:], 2):
            if not line.strip() or line.startswith("#"):
                self.lines.append(line)
                continue
            problem, entry = self.read(number, line)
            if problem in seen:
                raise Unusable(f"{path}:{number}: '{problem}' is in line {seen[problem]} already; leave one of them out")
            seen[problem] = number
            self.lines.append((problem, entry))

    def read(self, number, line):
        fields = next(csv.reader([line]))
        fields += [""] * (len(self.columns) - len(fields)) if len(fields) == 1 else []
        where = f"{self.path}:{number}"
        if len(fields) != len(self.columns):
            raise Unusable(f"{where}: found {len(fields)} fields, expected {len(self.columns)}, or the options of a new "
                           "problem alone (in quotes where they have commas)")
        problem, *rest = fields
        if problem.split()[0] not in [*PASSES, "kernel"]:
            raise Unusable(f"{where}: '{problem}' does not begin with {', '.join(PASSES)} or kernel")
        if not any(rest):
            return problem, None
        try:
            entry = Entry(rest[0], float(rest[1]), *rest[2:5], tuple(float(time) for time in rest[5:]))
            entry.spilled()
            return problem, entry
        except ValueError as error:
            raise Unusable(f"{where}: {error}; expected microseconds, and numbers of spills with '+' between launches"
                           ) from None

    def problems(self):
        return {line[0]: line[1] for line in self.lines if not isinstance(line, str)}

    def write(self, entries):
        """Writes the file with these entries in the place of those of the same problems."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        for line in self.lines:
            if isinstance(line, str):
                out.write(line + "\n")
                continue
            problem, entry = line
            entry = entries.get(problem, entry)
            writer.writerow([problem, *(entry.fields() if entry else [])])
        beside = self.path.with_suffix(".new")
        beside.write_text(out.getvalue())
        os.replace(beside, self.path)


# The comparison

@dataclasses.dataclass(frozen=True)
class Difference:
    problem: str
    was: Entry
    now: Entry
    reasons: tuple   # "5.2 % slower", "another kernel", "1 more spilled register"
    is_loss: bool

    def text(self):
        def side(entry):
            times = "".join(f", {name} {time:.2f}" for name, time in zip(("best", "worst"), entry.range))
            return (f"{entry.us:.2f} us{times} by {entry.kernel}, registers {entry.vgprs} / {entry.sgprs}, "
                    f"spills {entry.spills}")
        return f"{', '.join(self.reasons)}: {self.problem}\n  was {side(self.was)}\n  is  {side(self.now)}"


def is_near(was, now):
    """Whether a time is as recorded. Recorded ones are rounded to 0.01 us."""
    return abs(now - was) <= was * TOLERANCE + 1e-9


def compare(problem, was, now):
    """What differs enough to be said; None if nothing does."""
    reasons, is_loss = [], False
    for before, time, where in zip((was.us, *was.range), (now.us, *now.range), ("", " at best", " at worst")):
        if is_near(before, time):
            continue
        reasons.append(f"{100 * abs(time / before - 1):.1f} % {'slower' if time > before else 'faster'}{where}")
        is_loss |= time > before
    if spilled := now.spilled() - was.spilled():
        reasons.append(f"{abs(spilled)} {'more' if spilled > 0 else 'fewer'} spilled "
                       f"register{'' if abs(spilled) == 1 else 's'}")
        is_loss |= spilled > 0
    if now.kernel != was.kernel:
        reasons.append("another kernel")
    return Difference(problem, was, now, tuple(reasons), is_loss) if reasons else None


def recorded(was, now):
    """What --update writes for a line: a time that is near stays."""
    if not was:
        return now
    us, *times = (before if is_near(before, time) else time
                  for before, time in zip((was.us, *was.range), (now.us, *now.range), strict=True))
    return dataclasses.replace(now, us=us, range=tuple(times))


def judge(ledger, found):
    """Differences of all lines that were predicted, and the problems that have no record."""
    known = ledger.problems()
    differences = [difference for problem, now in found.items()
                   if known[problem] and (difference := compare(problem, known[problem], now))]
    return differences, [problem for problem in found if not known[problem]]


def advise(differences, new):
    """What to do, as lines."""
    losses = sum(difference.is_loss for difference in differences)
    if losses:
        yield (f"{losses} lines lost speed. Win it back; or, where the loss is meant, record it with "
               "'scripts/performance.py --update' and give the reason in the commit.")
    if len(differences) > losses:
        yield (f"{len(differences) - losses} lines are faster or have another kernel. Record them with "
               "'scripts/performance.py --update', so that the gain is kept.")
    if new:
        yield f"{len(new)} lines have no record yet. Fill them in with 'scripts/performance.py --update'."


# Predictions

def taken(words, option, default):
    """`words` without an option and its value, and the value."""
    if option not in words:
        return words, default
    at = words.index(option)
    return words[:at] + words[at + 2:], words[at + 1]


def group_of(problem):
    """What lines must have in common for one process to predict them: the chip and the kernel that is named."""
    words, arch = taken(shlex.split(problem), "--arch", "gfx950")
    _, kernel = taken(words, "--kernel", "auto")
    return words[0] in PASSES, arch, kernel


def batches(problems):
    """Neighbours of one group, a few at a time."""
    groups = {}
    for problem in problems:
        groups.setdefault(group_of(problem), []).append(problem)
    for (is_listed, *_), members in groups.items():
        size = LINES_AT_A_TIME if is_listed else 1
        yield from (members[i:i + size] for i in range(0, len(members), size))


def run(command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=ROOT)
    if result.returncode != 0:
        message = result.stderr.strip().splitlines()
        raise Unusable(message[-1] if message else f"exit status {result.returncode}")
    return json.loads(result.stdout)


def predict_listed(program, problems, varies):
    """Attention: a list for `bench`."""
    _, arch, kernel = group_of(problems[0])
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "problems.csv")
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["pass", "options"])
            for problem in problems:
                words, _ = taken(shlex.split(problem), "--kernel", "")
                writer.writerow([PASSES[words[0]], shlex.join(words[1:])])
        report = run([program, "bench", "--problems", path, "--device", "sim", f"--arch={arch}",
                      "--kernel", f"ledger={kernel}", "--json", "-", *(["--vary"] if varies else [])])
    entries = []
    for row in report["rows"]:
        cell = row["kernels"]["ledger"]
        if "refused" in cell:
            raise Unusable(cell["refused"])
        entries.append(entry_of(cell["launches"], cell["us"], cell))
    return dict(zip(problems, entries, strict=True))


def predict_kernel(program, problem, varies):
    """A kernel of a file, on its own."""
    report = run([program, *shlex.split(problem), *TIMED, "--json", "-", *(["--time-vary"] if varies else [])])
    kernel = report["kernel"]
    return {problem: entry_of([{**kernel, "kernel": kernel["name"]}], report["grid"]["us"], report)}


def predict_batch(program, problems, varies):
    """Entries by problem, and messages of those that cannot be predicted."""
    try:
        if problems[0].split()[0] in PASSES:
            return predict_listed(program, problems, varies), {}
        return predict_kernel(program, problems[0], varies), {}
    except Unusable as error:
        if len(problems) == 1:
            return {}, {problems[0]: str(error)}
    # One of them stopped all.
    found, failed = {}, {}
    for problem in problems:
        one, wrong = predict_batch(program, [problem], varies)
        found.update(one)
        failed.update(wrong)
    return found, failed


def predict(program, problems, varies, jobs):
    found, failed = {}, {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for one, wrong in pool.map(lambda batch: predict_batch(program, batch, varies), batches(problems)):
            found.update(one)
            failed.update(wrong)
    return {problem: found[problem] for problem in problems if problem in found}, failed


def is_wanted(problem, patterns):
    return not patterns or any(pattern in problem or fnmatch.fnmatch(problem, pattern) for pattern in patterns)


def check(ledger, program, options):
    """Predicts and compares, or records, one ledger; gives an exit status."""
    problems = [problem for problem in ledger.problems() if is_wanted(problem, options.patterns)]
    found, failed = predict(program, problems, ledger.varies, options.jobs)
    for problem, message in failed.items():
        print(f"not predicted: {problem}\n  {message}")
    differences, new = judge(ledger, found)
    for difference in differences:
        print(difference.text())
    if options.update:
        known = ledger.problems()
        entries = {problem: recorded(known[problem], now) for problem, now in found.items()}
        ledger.write(entries)
        changed = sum(known[problem] != entry for problem, entry in entries.items())
        print(f"{ledger.path.name}: {changed} of {len(found)} lines written anew")
        return 2 if failed else 0
    for problem in new:
        print(f"not recorded: {problem}\n  is  {', '.join(found[problem].fields())}")
    for line in advise(differences, new):
        print(line)
    print(f"{ledger.path.name}: {len(found) - len(differences) - len(new)} of {len(problems)} lines as recorded")
    return 2 if failed else 1 if differences or new else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", metavar="PATTERN", nargs="*")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build directory (default: build)")
    parser.add_argument("--ledger", type=pathlib.Path, default=DIRECTORY / "ledger.csv", help="default: the tree's")
    parser.add_argument("--long", action="store_true", help="ledger-long.csv, too")
    parser.add_argument("--update", action="store_true", help="record what differs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time (default: processors)")
    options = parser.parse_args()
    program = options.build.resolve() / "bin" / "hocket-run"
    if not program.exists():
        sys.exit(f"no bin/hocket-run in '{options.build}'; build it or name another directory with --build")
    paths = [options.ledger] + ([options.ledger.with_name("ledger-long.csv")] if options.long else [])
    try:
        status = max(check(Ledger(path), program, options) for path in paths)
    except (Unusable, OSError) as error:
        print(f"performance.py: {error}", file=sys.stderr)
        return 2
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of processor time")
    return status


if __name__ == "__main__":
    sys.exit(main())
