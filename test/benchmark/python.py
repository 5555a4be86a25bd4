#!/usr/bin/env python3
"""Processor time of importing the package and of a call's way into the library: python.py [ROUNDS]

PYTHONPATH=build/python test/benchmark/python.py. The overhead is what a call takes beyond the library's own work, which is measured
by calling the private module with what the function has prepared.
"""
import subprocess
import sys
import time

import numpy

import hocket
from hocket import _hocket


def import_seconds():
    code = "import time; t = time.process_time(); import hocket; print(time.process_time() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))


def fastest(call, rounds):
    """Of many calls, that of the least time: everything else is what the machine does besides."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"import                {import_seconds() * 1e3:8.1f} ms of processor time")
    q, k, v, out = (numpy.zeros((1, 1, 1, 64), numpy.float16) for _ in range(4))
    given = []
    forward = _hocket.forward
    _hocket.forward = lambda *arguments: (given.append(arguments), forward(*arguments))
    hocket.flash_attn_func(q, k, v, out=out)
    _hocket.forward = forward
    whole = fastest(lambda: hocket.flash_attn_func(q, k, v, out=out), rounds)
    inner = fastest(lambda: forward(*given[0]), rounds)
    print(f"call, one row         {whole * 1e6:8.1f} us")
    print(f"of which the library  {inner * 1e6:8.1f} us, with its thread and the simulation")
    print(f"overhead of Python    {(whole - inner) * 1e6:8.1f} us")


if __name__ == "__main__":
    main()
