"""Writes the inputs of vector-add.c's `add`, or checks its result to the bit."""
import array
import sys


def vector(count, step):
    return array.array("f", [((i * step) % 257 - 128) / 8 for i in range(count)])


count = int(sys.argv[2])
a, b = vector(count, 31), vector(count, 77)
if sys.argv[1] == "write":
    open("a.bin", "wb").write(a.tobytes())
    open("b.bin", "wb").write(b.tobytes())
else:
    # 0.5 * b is exact here, and so is the sum.
    wanted = array.array("f", [x + 0.5 * y for x, y in zip(a, b)])
    found = array.array("f")
    found.frombytes(open("c.bin", "rb").read())
    assert found[:count] == wanted, "wrong sum"
    assert found[count:].tobytes() == b"\xc1\x7f" * 2 * 8, "written past the end"
