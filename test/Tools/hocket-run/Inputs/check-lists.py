"""Compares what bench predicts of a list with what fmha-fwd and fmha-bwd predict of each line: check-lists.py LIST JSON

They place tensors elsewhere and fill them, so that times differ a little. Lists of zeros would change most of them by
tens of per cent. Both kinds of lists of a backward, and more and fewer blocks, are told apart, too.
"""
import csv
import json
import shlex
import subprocess
import sys

COMMANDS = {"forward": "fmha-fwd", "backward": "fmha-bwd"}
NEAR = 0.03

with open(sys.argv[1], newline="") as stream:
    lines = list(csv.DictReader(stream))
with open(sys.argv[2]) as stream:
    times = [row["kernels"]["hocket"]["us"] for row in json.load(stream)["rows"]]
for line, time in zip(lines, times, strict=True):
    command = ["hocket-run", COMMANDS[line["pass"]], *shlex.split(line["options"]), "--device", "sim", "--no-verify",
               "--time", "--time-grid", "--json", "-"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    whole = report.get("predicted_us", report["grid"]["us"])
    assert abs(time / whole - 1) < NEAR, (line, time, whole)
sparse, dense = times[:2]
assert dense > 1.3 * sparse, (sparse, dense)
