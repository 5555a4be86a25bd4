"""Random calls of both functions against the definition; how many and from which seed is up to the caller.

random_calls.py [COUNT [SEED]]; HOCKET_RANDOM_CALLS and HOCKET_TEST_SEED come first.
"""
import os
import sys

import numpy
from flex import attention
from reference import TOLERANCE, check_lse, largest_error, random_tensor, swap

import hocket


def draw(generator):
    """Options and tensors of one call: lengths, heads, types, strides."""
    pick = lambda *values: values[generator.integers(len(values))]  # noqa: E731
    torch_like = bool(generator.integers(2))
    groups, kv_heads = pick((1, 1), (1, 2), (2, 1), (2, 2), (4, 1), (3, 2))
    call = {
        "torch_like": torch_like,
        "dtype": pick("f16", "bf16"),
        "batch": int(generator.integers(1, 4)),
        "heads": groups * kv_heads,
        "kv_heads": kv_heads,
        "seq_q": int(pick(1, generator.integers(2, 40), generator.integers(40, 300))),
        "seq_kv": int(pick(1, generator.integers(2, 70), generator.integers(70, 400))),
        "dim": pick(64, 64, 128, 128, 40, 96, 192),
        "causal": bool(generator.integers(2)),
        "scale": pick(None, None, 0.25, 0.0),
        "out": bool(generator.integers(2)),
        "return_lse": bool(generator.integers(2)),
        "order": pick("bshd", "bhsd", "sbhd"),
        "gap": int(pick(0, 0, 8, 64)),
    }
    call["dim_v"] = call["dim"] if call["dim"] in (40, 192) else pick(call["dim"], 64)
    # Modifications of scores and masks.
    call["window"] = (int(generator.integers(-1, 90)), int(generator.integers(-1, 40))) if pick(0, 0, 1) else (-1, -1)
    call["softcap"] = pick(0.0, 0.0, 0.0, 2.0)
    call["alibi"] = bool(pick(0, 0, 0, 1))
    call["mask"] = pick(None, None, None, "bool", "bias") if not call["causal"] else None
    return call


def modified(call, slopes, mask):
    """The call's functions of scores and of what is seen."""
    shift = 0 if call["torch_like"] else call["seq_kv"] - call["seq_q"]
    left, right = call["window"]

    def score(s, b, h, i, j):
        if call["torch_like"]:
            return s + mask if call["mask"] == "bias" else s
        if call["softcap"]:
            s = call["softcap"] * numpy.tanh(s / call["softcap"])
        return s - slopes[h] * abs(i + shift - j) if call["alibi"] else s

    def seen(b, h, i, j):
        result = j <= i + shift if call["causal"] else j >= 0
        if call["torch_like"]:
            return result & mask if call["mask"] == "bool" else result
        if left >= 0:
            result = result & (j >= i + shift - left)
        if right >= 0:
            result = result & (j <= i + shift + right)
        return result

    return score, seen


def lay_out(values, order, gap):
    """The tensor [batch, seq, heads, dim] `values` in memory in another order, with gaps behind its rows."""
    axes = ["bshd".index(letter) for letter in order]
    shape = [values.shape[axis] for axis in axes]
    room = numpy.zeros((*shape[:3], shape[3] + gap), values.dtype)[..., : shape[3]]
    tensor = room.transpose([axes.index(axis) for axis in range(4)])
    tensor[:] = values
    return tensor


def run(number, seed):
    generator = numpy.random.default_rng([seed, number])
    call = draw(generator)
    make = lambda seq, heads, dim: lay_out(  # noqa: E731
        random_tensor(generator, (call["batch"], seq, heads, dim), call["dtype"]), call["order"], call["gap"])
    q = make(call["seq_q"], call["heads"], call["dim"])
    k = make(call["seq_kv"], call["kv_heads"], call["dim"])
    v = make(call["seq_kv"], call["kv_heads"], call["dim_v"])
    out = make(call["seq_q"], call["heads"], call["dim_v"]) if call["out"] else None
    slopes = generator.random(call["heads"]).astype(numpy.float32)
    extents = (call["seq_q"], call["seq_kv"])
    mask = generator.random(extents) < 0.7 if call["mask"] == "bool" else generator.random(extents, numpy.float32)
    options = {"return_lse": call["return_lse"]}
    if call["dtype"] == "bf16":
        options["dtype"] = "bf16"
    if call["torch_like"]:
        options.update(is_causal=call["causal"], scale=call["scale"], enable_gqa=call["heads"] != call["kv_heads"])
        if call["mask"]:
            options["attn_mask"] = mask
        result = hocket.scaled_dot_product_attention(
            swap(q), swap(k), swap(v), out=None if out is None else swap(out), **options)
    else:
        options.update(causal=call["causal"], softmax_scale=call["scale"], window_size=call["window"],
                       softcap=call["softcap"], alibi_slopes=slopes if call["alibi"] else None)
        result = hocket.flash_attn_func(q, k, v, out=out, **options)
    found, lse = result if call["return_lse"] else (result, None)
    found = found if call["torch_like"] else swap(found)
    wanted, wanted_lse = attention(swap(q), swap(k), swap(v), *modified(call, slopes, mask), call["scale"])
    error = largest_error(found, wanted)
    assert error < TOLERANCE[call["dtype"]], f"call {number} of seed {seed} is off by {error}: {call}"
    if lse is not None:
        check_lse(lse, wanted_lse)


def run_all(run_one, draw_one):
    """Runs as many calls as are asked for."""
    count = int(os.environ.get("HOCKET_RANDOM_CALLS", sys.argv[1] if len(sys.argv) > 1 else 200))
    seed = int(os.environ.get("HOCKET_TEST_SEED", sys.argv[2] if len(sys.argv) > 2 else 1))
    for number in range(count):
        try:
            run_one(number, seed)
        except Exception:
            print(f"call {number} of seed {seed} failed:", draw_one(numpy.random.default_rng([seed, number])))
            raise
    print(f"{count} random calls of seed {seed} are right")


if __name__ == "__main__":
    run_all(run, draw)
