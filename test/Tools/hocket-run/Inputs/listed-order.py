"""listed-order.py LOG BLOCKS HEADS order|line: reads the instructions of workgroups that `--time-workgroup all` printed of a
grid of BLOCKS blocks of queries. In order, within stretches of 64 blocks, counted from the last one, none is followed by
one with more instructions, but for the few that depend on data; in line, of blocks at random, some are."""
import re
import sys

STRETCH = 64


def is_ordered(instructions):
    starts = set(range(len(instructions), 0, -STRETCH))
    return all(instructions[i] <= 1.02 * instructions[i - 1] for i in range(1, len(instructions)) if i not in starts)


def main():
    blocks, heads, wanted = int(sys.argv[2]), int(sys.argv[3]), {"order": True, "line": False}[sys.argv[4]]
    found = re.findall(r"workgroup +(\d+): \d+ cycles, (\d+) wave-instructions", open(sys.argv[1]).read())
    counts = {int(number): int(count) for number, count in found}
    assert len(counts) == blocks * heads, f"{len(counts)} workgroups, expected {blocks * heads}"
    for head in range(heads):
        instructions = [counts[block * heads + head] for block in range(blocks)]
        assert is_ordered(instructions) == wanted, f"head {head}: {instructions}"


main()
