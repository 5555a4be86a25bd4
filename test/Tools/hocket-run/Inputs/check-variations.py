"""Checks what bench --vary says of one problem: check-variations.py VARIED FORWARD ASSIGNMENT:JSON...

Each ASSIGNMENT takes what a run with that parameter says (JSON), best and worst are the extremes, and `fmha-fwd
--time-vary` (FORWARD) has the same assignments.
"""
import json
import sys


def cell_of(path):
    with open(path) as stream:
        return json.load(stream)["rows"][0]["kernels"]["hocket"]


varied = cell_of(sys.argv[1])
times = {entry["parameter"]: entry["us"] for entry in varied["variations"]}
assert varied["best_us"] == min([varied["us"], *times.values()]), varied
assert varied["worst_us"] == max([varied["us"], *times.values()]), varied
assert varied["worst_us"] > 1.01 * varied["best_us"], varied
with open(sys.argv[2]) as stream:
    forward = json.load(stream)
assert [entry["parameter"] for entry in forward["variations"]] == list(times), forward["variations"]
for pair in sys.argv[3:]:
    assignment, path = pair.split(":")
    assert abs(times[assignment] - cell_of(path)["us"]) < 1e-6, (assignment, times, cell_of(path))
