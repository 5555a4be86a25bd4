#!/usr/bin/env python3
"""Sums up lit's JSON results: summarize-tests.py NAME=RESULTS.json ...

Prints failed and skipped tests by name, a count for each run, and as the last line
"N passed, N failed". Exits 1 if a test failed, if any of the runs has no tests, or if a file is missing.
"""
import json
import sys

PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
SKIPPED = {"UNSUPPORTED", "SKIPPED"}
IGNORED = {"EXCLUDED"}


def read(path):
    """Test names by outcome: passed, failed, skipped."""
    with open(path, encoding="utf-8") as file:
        tests = json.load(file)["tests"]
    outcomes = {"passed": [], "failed": [], "skipped": []}
    for test in tests:
        code = test["code"]
        if code in IGNORED:
            continue
        kind = "passed" if code in PASSED else "skipped" if code in SKIPPED else "failed"
        outcomes[kind].append(test["name"])
    return outcomes


def main(arguments):
    passed = failed = 0
    good = bool(arguments)
    for argument in arguments:
        name, _, path = argument.partition("=")
        try:
            outcomes = read(path)
        except (OSError, ValueError, KeyError) as error:
            print(f"{name}: no results: {error}")
            good = False
            continue
        for kind in ("skipped", "failed"):
            for test in sorted(outcomes[kind]):
                print(f"{name}: {kind}: {test}")
        counts = {kind: len(tests) for kind, tests in outcomes.items()}
        print(f"{name}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
        if not counts["passed"] + counts["failed"]:
            print(f"{name}: no test ran")
            good = False
        passed += counts["passed"]
        failed += counts["failed"]
    print(f"{passed} passed, {failed} failed")
    return 0 if good and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
