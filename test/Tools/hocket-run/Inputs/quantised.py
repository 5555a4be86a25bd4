"""Matrices of 8 bits and their product, and rounding to them, without numpy and without hocket's own tables.

quantised.py product TYPE_A[,TYPE_B] M N K [plain]
    writes a.npy, b.npy (bits), a_scale.npy, b_scale.npy, bias.npy and c.npy: bf16 bits of (A B^T + bias) * a_scale *
    b_scale, rounded as a kernel rounds: sums exact, each scale in float32, bf16 at the end. The numbers are such that
    sums are exact in float32. The bias is for i8; with floats it is not added. `plain`: all scales are 1.
quantised.py mx TYPE_A[,TYPE_B] M N K
    the same of mx formats, without bias: a_scale.npy and b_scale.npy are ceil(K / 32) x M and ceil(K / 32) x N exponents
    plus 127. Of fp4, a.npy and b.npy are K / 2 bytes a row, the first number in the lower half.
quantised.py f32 M N K
    writes a.npy, b.npy and c.npy: A B^T of floats of 12 and of 2 bits, exact in float32.
quantised.py two KEYS
    writes q.npy, 32 x 64, k.npy and v.npy, 1 x KEYS x 1 x 64, and o.npy: (Q K^T) V, exact in float32.
quantised.py transposed TYPE K
    writes a.npy and b.npy of 1 x K x 1 x 64 and c.npy: B^T A in float32.
quantised.py rounded TYPE_1 TYPE_2
    writes x.npy, 4 x 256 floats, first.npy and second.npy, their bits in both types, rounded to the nearest, of two to the
    even one, beyond the largest number to it; first_wide.npy, the floats of the former; all.npy, every pattern of bits of
    TYPE_2 four times, and all_wide.npy, what they are."""
import math
import random
import struct
import sys

# Bits of the exponent and the mantissa, bias.
FLOATS = {"f8e4m3": (4, 3, 7), "f8e5m2": (5, 2, 15), "f8e4m3fnuz": (4, 3, 8), "f8e5m2fnuz": (5, 2, 16), "f4e2m1": (2, 1, 1)}


def isNan(kind, bits):
    if kind.endswith("fnuz"):
        return bits == 128
    return kind != "f4e2m1" and (bits & 127 == 127 if kind == "f8e4m3" else bits & 127 > 124)


def decode(kind, bits):
    if kind == "i8":
        return bits - 256 if bits > 127 else bits
    exponent_bits, mantissa_bits, bias = FLOATS[kind]
    if isNan(kind, bits):
        return math.nan
    if kind == "f8e5m2" and bits & 127 == 124:
        return -math.inf if bits & 128 else math.inf
    exponent, mantissa = bits >> mantissa_bits & (1 << exponent_bits) - 1, bits & (1 << mantissa_bits) - 1
    value = (mantissa if exponent == 0 else mantissa + (1 << mantissa_bits)) * 2.0 ** (max(exponent, 1) - bias - mantissa_bits)
    return -value if bits >> exponent_bits + mantissa_bits else value


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits + 0x7fff + (bits >> 16 & 1) >> 16


def save(path, descr, code, shape, values):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({''.join(f'{n}, ' for n in shape)}), }}".encode()
    text += b" " * (-(11 + len(text)) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + struct.pack(f"<{len(values)}{code}", *values))


def numbers(kind, count, seeded):
    """All of i8; of floats those of 2^-2 to 4, zeros and the smallest ones."""
    if kind == "i8":
        return [seeded.randrange(256) for _ in range(count)]
    if kind == "f4e2m1":
        return [seeded.randrange(16) for _ in range(count)]
    _, mantissa_bits, bias = FLOATS[kind]
    normal = [sign << 7 | exponent << mantissa_bits | mantissa for sign in (0, 1) for exponent in range(bias - 2, bias + 2)
              for mantissa in range(1 << mantissa_bits)]
    return [seeded.choice(normal + [0]) for _ in range(count)]


def product(kinds, m, n, k, plain=""):
    kind_a, kind_b = (kinds.split(",") * 2)[:2]
    m, n, k, seeded = int(m), int(n), int(k), random.Random(7)
    a, b = numbers(kind_a, m * k, seeded), numbers(kind_b, n * k, seeded)
    row = [1.0 if plain else f32(seeded.uniform(0.01, 1)) for _ in range(m)]
    column = [1.0 if plain else f32(seeded.uniform(0.01, 1)) for _ in range(n)]
    bias = [seeded.randrange(-5000, 5000) if kind_a == "i8" else 0 for _ in range(n)]
    wide_a, wide_b = [decode(kind_a, x) for x in a], [decode(kind_b, x) for x in b]
    c = []
    for i in range(m):
        of_row = wide_a[i * k:i * k + k]
        for j in range(n):
            total = sum(x * y for x, y in zip(of_row, wide_b[j * k:j * k + k])) + bias[j]
            c.append(bf16(f32(f32(f32(total) * row[i]) * column[j])))
    for name, kind, values, shape in (("a", kind_a, a, (m, k)), ("b", kind_b, b, (n, k))):
        if kind == "i8":
            values = [decode(kind, x) for x in values]
        save(f"{name}.npy", "|i1" if kind == "i8" else "|u1", "b" if kind == "i8" else "B", shape, values)
    save("a_scale.npy", "<f4", "f", (m,), row)
    save("b_scale.npy", "<f4", "f", (n,), column)
    save("bias.npy", "<i4", "i", (n,), bias)
    save("c.npy", "<u2", "H", (m, n), c)


def block_scales(rows, blocks, seeded):
    """Exponents of each row for each block: near one another, so that sums are exact, but anywhere."""
    return [[seeded.randrange(-1, 2) + i * 37 % 61 - 30 for _ in range(blocks)] for i in range(rows)]


def mx(kinds, m, n, k):
    kinds = (kinds.split(",") * 2)[:2]
    m, n, k, seeded = int(m), int(n), int(k), random.Random(9)
    blocks, scaled = -(-k // 32), []
    for name, kind, rows in (("a", kinds[0], m), ("b", kinds[1], n)):
        bits, scales = numbers(kind, rows * k, seeded), block_scales(rows, blocks, seeded)
        scaled.append([[decode(kind, bits[i * k + j]) * 2.0 ** scales[i][j // 32] for j in range(k)] for i in range(rows)])
        if kind == "f4e2m1":
            save(f"{name}.npy", "|u1", "B", (rows, k // 2), [low | high << 4 for low, high in zip(bits[::2], bits[1::2])])
        else:
            save(f"{name}.npy", "|u1", "B", (rows, k), bits)
        save(f"{name}_scale.npy", "|u1", "B", (blocks, rows), [scales[i][block] + 127 for block in range(blocks) for i in range(rows)])
    sums = [sum(x * y for x, y in zip(row, column)) for row in scaled[0] for column in scaled[1]]
    assert all(f32(x) == x for x in sums), "sums are not exact"
    save("c.npy", "<u2", "H", (m, n), [bf16(x) for x in sums])


def wide(count, seeded):
    return [seeded.randrange(-2047, 2048) / 16 for _ in range(count)]


def narrow(count, seeded):
    return [seeded.choice((-1.0, -0.5, 0.0, 0.5, 1.0)) for _ in range(count)]


def single(m, n, k):
    m, n, k, seeded = int(m), int(n), int(k), random.Random(11)
    a, b = wide(m * k, seeded), narrow(n * k, seeded)
    save("a.npy", "<f4", "f", (m, k), a)
    save("b.npy", "<f4", "f", (n, k), b)
    save("c.npy", "<f4", "f", (m, n), [sum(x * y for x, y in zip(a[i * k:i * k + k], b[j * k:j * k + k]))
                                       for i in range(m) for j in range(n)])


def two(keys):
    keys, seeded = int(keys), random.Random(13)
    q, k, v = narrow(32 * 64, seeded), wide(keys * 64, seeded), narrow(keys * 64, seeded)
    weights = [[sum(x * y for x, y in zip(q[i * 64:i * 64 + 64], k[j * 64:j * 64 + 64])) for j in range(keys)] for i in range(32)]
    o = [sum(x * v[j * 64 + column] for j, x in enumerate(row)) for row in weights for column in range(64)]
    assert all(f32(x) == x for x in o), "sums are not exact"
    save("q.npy", "<f4", "f", (32, 64), q)
    save("k.npy", "<f4", "f", (1, keys, 1, 64), k)
    save("v.npy", "<f4", "f", (1, keys, 1, 64), v)
    save("o.npy", "<f4", "f", (32, 64), o)


def transposed(kind, k):
    k, seeded = int(k), random.Random(3)
    if kind == "f32":
        wide_a, wide_b = wide(k * 64, seeded), narrow(k * 64, seeded)
        save("a.npy", "<f4", "f", (1, k, 1, 64), wide_a)
        save("b.npy", "<f4", "f", (1, k, 1, 64), wide_b)
    else:
        a, b = numbers(kind, k * 64, seeded), numbers(kind, k * 64, seeded)
        save("a.npy", "|u1", "B", (1, k, 1, 64), a)
        save("b.npy", "|u1", "B", (1, k, 1, 64), b)
        wide_a, wide_b = [decode(kind, x) for x in a], [decode(kind, x) for x in b]
    save("c.npy", "<f4", "f", (64, 64), [sum(x * y for x, y in zip(wide_a[column::64], wide_b[row::64]))
                                         for row in range(64) for column in range(64)])


def rounded(first, second):
    seeded = random.Random(5)
    values = [0.0, 1.0, -1.0, math.nan, 448.0, 449.0, 464.0, 465.0, 480.0, -1e9, 57344.0, 61440.0, 61441.0,
              3e38, 2.0 ** -9, 2.0 ** -10, 1.5 * 2.0 ** -10, 2.0 ** -16, 2.0 ** -17, 1.1 * 2.0 ** -17, 1.0625, 1.1875, 2.125, 0.00001]
    values += [f32(seeded.choice((-1, 1)) * 2.0 ** seeded.uniform(-18, 18)) for _ in range(500)]
    # Between two neighbours.
    values += [(decode(first, i) + decode(first, i + 1)) / 2 for i in range(125)] + [-(decode(second, i) + decode(second, i + 1)) / 2 for i in range(122)]
    values += [f32(seeded.gauss(0, 1)) for _ in range(1024 - len(values))]
    bits = {}
    for name, kind in (("first", first), ("second", second)):
        finite = sorted((decode(kind, x), x & 1, x) for x in range(128) if math.isfinite(decode(kind, x)))
        bits[name] = [nearest(finite, x) for x in values]
        save(f"{name}.npy", "|u1", "B", (4, 256), bits[name])
    save("x.npy", "<f4", "f", (4, 256), values)
    save("first_wide.npy", "<f4", "f", (4, 256), [decode(first, x) for x in bits["first"]])
    save("all.npy", "|u1", "B", (4, 256), [i % 256 for i in range(1024)])
    save("all_wide.npy", "<f4", "f", (4, 256), [decode(second, i % 256) for i in range(1024)])


def nearest(finite, x):
    """The bits of the number nearest to x of those that are finite: (value, lowest bit, bits)."""
    if math.isnan(x):
        return 127
    magnitude = min(abs(x), finite[-1][0])
    _, _, bits = min((abs(value - magnitude), odd, bits) for value, odd, bits in finite)
    return bits | (128 if math.copysign(1, x) < 0 else 0)


{"product": product, "mx": mx, "f32": single, "two": two, "transposed": transposed, "rounded": rounded}[sys.argv[1]](*sys.argv[2:])
