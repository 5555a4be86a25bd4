#!/usr/bin/env python3
"""In place of hocket-dev: prints its arguments and reports three mutants, one missed and one that no problem executes; without a report for 'sequential'."""
import json
import sys

arguments = sys.argv[1:]
print(" ".join(arguments))
if "fmha_fwd_sequential" in arguments:
    sys.exit("it does not fit")
wait = {"kind": "drop-wait", "offset": 256, "before": "s_waitcnt vmcnt(0)", "after": "s_nop 0", "verdict": "unreached",
        "by": "no problem executes the instruction"}
missed = wait | {"offset": 128, "before": "s_waitcnt vmcnt(1)", "verdict": "missed", "by": ""}
report = {"possible": 9, "mutants": 3, "caught": 1, "equivalent": 0, "missed": 1, "unreached": 1,
          "outcomes": [missed, wait]}
with open(arguments[arguments.index("--json") + 1], "w", encoding="utf-8") as file:
    json.dump(report, file)
