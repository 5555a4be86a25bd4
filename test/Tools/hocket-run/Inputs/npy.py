"""Writes and shows files of numpy's format, without numpy.

npy.py write FILE DESCR SHAPE EXPRESSION [KEY=VALUE]...   elements from EXPRESSION in i, bf16(X) and f16(X) are bits
npy.py show FILE [COUNT]                                  header and first elements
npy.py product A B C                                      C = A B^T in float32, A and B in bf16
Keys: order (True: says Fortran order), version (1.0), cut (bytes left out at the end), header (the whole dictionary)."""
import math
import random
import struct
import sys

FORMATS = {"f4": "f", "f8": "d", "f2": "e", "i1": "b", "u1": "B", "b1": "?", "i2": "h", "u2": "H", "i4": "i", "u4": "I",
           "i8": "q", "u8": "Q"}


def bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16


def widen(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def save(path, descr, shape, values, order="False", version="1.0", cut="0", header=None):
    text = header or f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({''.join(f'{n}, ' for n in shape)}), }}"
    text = text.encode()
    major, minor = map(int, version.split("."))
    text += b" " * (-(11 + len(text)) % 64 if major == 1 else 0)
    length = struct.pack("<H" if major == 1 else "<I", len(text) + 1)
    code = FORMATS.get(descr[1:])
    data = struct.pack(f"{'>' if descr[0] == '>' else '<'}{len(values)}{code}", *values) if code else bytes(values)
    whole = b"\x93NUMPY" + bytes([major, minor]) + length + text + b"\n" + data
    with open(path, "wb") as file:
        file.write(whole[:len(whole) - int(cut)])


def load(path):
    with open(path, "rb") as file:
        whole = file.read()
    assert whole[:8] == b"\x93NUMPY\x01\x00" and (10 + struct.unpack("<H", whole[8:10])[0]) % 64 == 0
    end = 10 + struct.unpack("<H", whole[8:10])[0]
    header = eval(whole[10:end])
    assert list(header) == ["descr", "fortran_order", "shape"] and not header["fortran_order"]
    count = math.prod(header["shape"])
    return header, struct.unpack(f"<{count}{FORMATS[header['descr'][1:]]}", whole[end:])


def write(path, descr, shape, expression, *options):
    shape = [int(n) for n in shape.split("x")] if shape != "-" else []
    seeded = random.Random(1)
    names = {"math": math, "bf16": bf16, "random": seeded}
    values = [eval(expression, names, {"i": i}) for i in range(math.prod(shape))]
    save(path, descr, shape, values, **dict(option.split("=", 1) for option in options))


def show(path, count="4"):
    header, values = load(path)
    print(header["descr"], header["shape"], *values[:int(count)])


def product(a, b, c):
    (header_a, a), (header_b, b) = load(a), load(b)
    (m, k), n = header_a["shape"], header_b["shape"][0]
    a, b = [widen(x) for x in a], [widen(x) for x in b]
    save(c, "<f4", (m, n), [math.fsum(a[i * k + t] * b[j * k + t] for t in range(k)) for i in range(m) for j in range(n)])


{"write": write, "show": show, "product": product}[sys.argv[1]](*sys.argv[2:])
