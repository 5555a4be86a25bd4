"""Random problems, planned by the tools, C++, C and Python, get the same kernels, arguments, launches and buffers.

same_plans.py COUNT; HOCKET_RANDOM_PLANS and HOCKET_TEST_SEED come first. The problem is drawn once, as a dict; each
interface is told it in its own words.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy

import hocket


def draw(generator):
    pick = lambda *values: values[generator.integers(len(values))]  # noqa: E731
    groups, kv_heads = pick((1, 1), (2, 2), (4, 1), (4, 8), (8, 2), (16, 1), (1, 16))
    kind = pick("dense", "dense", "dense", "packed", "pages", "backward")
    problem = {
        "kind": kind, "dtype": pick("bf16", "fp16"), "batch": int(pick(1, 2, 3)), "heads": groups * kv_heads,
        "kv_heads": kv_heads, "head_dim": pick(64, 128, 128, 64, 192, 96, 256), "causal": bool(pick(0, 1)),
        "layout": pick("bshd", "bshd", "bhsd") if kind == "dense" else "bshd", "lse": kind == "backward" or bool(pick(0, 1)),
        "seq_q": int(pick(1, generator.integers(2, 200), generator.integers(200, 3000))),
        "seq_kv": int(pick(1, generator.integers(2, 300), generator.integers(300, 9000))),
    }
    if problem["head_dim"] == 192 and pick(0, 1):
        problem["head_dim_v"] = 128
    if pick(0, 0, 1):
        problem["scale"] = pick(0.25, 0.0625)
    if problem["layout"] == "bhsd":  # torch's function, whose causal diagonal begins at the top left
        problem["causal"] &= problem["seq_q"] == problem["seq_kv"]
    else:
        draw_modifications(problem, generator, pick)
    draw_lists(problem, generator, pick)
    if kind == "dense":
        problem["num_splits"] = int(pick(0, 0, 0, 0, 1, 3)) if not problem.get("sink") else 0
    if kind == "backward" and pick(0, 1) and not problem.get("dropout"):
        problem["accumulate"] = pick("f32", "packed")
    problem["backward"] = kind == "backward"
    return problem


def draw_modifications(problem, generator, pick):
    if pick(0, 0, 0, 1):
        problem["window"] = [int(generator.integers(-1, 300)), int(generator.integers(-1, 40))]
        if problem["window"] == [-1, -1]:
            del problem["window"]
    if pick(0, 0, 0, 1):
        problem["soft_cap"] = 30.0
    if pick(0, 0, 0, 1):
        problem["alibi"] = True
    if pick(0, 0, 0, 1):
        problem["sink"] = True
    if problem["kind"] in ("dense", "backward") and pick(0, 0, 0, 1):
        problem["dropout"] = [0.25, 7, 9]


def draw_lists(problem, generator, pick):
    """Lengths of sequences, pages, and what is appended."""
    if problem["kind"] == "packed":
        lengths = generator.integers(1, max(problem["seq_q"], 2), (2, problem["batch"]))
        problem["lengths_q"], problem["lengths_kv"] = lengths[0].tolist(), (lengths[0] + lengths[1]).tolist()
        problem["seq_q"], problem["seq_kv"] = max(problem["lengths_q"]), max(problem["lengths_kv"])
        problem["total_q"], problem["total_kv"] = sum(problem["lengths_q"]), sum(problem["lengths_kv"])
        problem["work_list"] = bool(pick(0, 0, 1))
        problem.pop("sink", None)  # flash_attn_varlen_func has none
        if pick(0, 0, 1):
            problem["min_seqlen_q"] = 1
    if problem["kind"] == "pages":
        size = int(pick(16, 64, 128))
        problem["page_size"], problem["table_pages"] = size, int(-(-problem["seq_kv"] // size))
        problem["seq_kv"] = size * problem["table_pages"]
        problem["used_kv"] = generator.integers(problem["seq_q"], problem["seq_kv"] + 1, problem["batch"]).tolist() \
            if problem["seq_q"] < problem["seq_kv"] else [problem["seq_kv"]] * problem["batch"]
        if pick(0, 0, 1) and problem["seq_q"] <= 64 and min(problem["used_kv"]) > problem["seq_q"]:
            problem["append"] = problem["seq_q"]
            if pick(0, 1) and problem["head_dim"] <= 128:
                problem.update(rotary=pick("half", "interleaved"), rotary_dim=64, positions=problem["seq_kv"])


def joined(numbers):
    return ",".join(map(str, numbers))


def command_line(problem):
    values = {name.replace("_", "-"): problem[name] for name in (
        "dtype", "batch", "heads", "kv_heads", "head_dim", "head_dim_v", "layout", "seq_q", "seq_kv", "scale", "num_splits",
        "soft_cap", "min_seqlen_q", "page_size", "append", "rotary", "rotary_dim", "accumulate") if problem.get(name)}
    flags = [name for name in ("causal", "lse", "sink", "alibi") if problem.get(name)]
    if problem["backward"]:
        flags.remove("lse")
    if "window" in problem:
        values["window"] = joined(problem["window"])
    if "dropout" in problem:
        values["dropout"], values["dropout-seed"] = problem["dropout"][0], joined(problem["dropout"][1:])
    if problem["kind"] == "packed":
        values["seqlens-q"], values["seqlens-kv"] = joined(problem["lengths_q"]), joined(problem["lengths_kv"])
        for name in ("batch", "seq-q", "seq-kv"):
            del values[name]
    if problem.get("work_list"):
        values["work-list"] = "kernel"
    if problem["kind"] == "pages":
        values["used-kv"] = joined(problem["used_kv"])
    arguments = [f"--{name}={value}" for name, value in values.items()] + [f"--{name}" for name in flags]
    return ["fmha-bwd" if problem["backward"] else "fmha-fwd", *arguments]


def plan_by_tool(problem):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = ["hocket-run", *command_line(problem), "--device", "sim", "--explain", "--json", file.name]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            return run.stderr.strip()
        return json.loads(file.read())["plan"]


def call_of_python(problem):
    """The function, and its arguments."""
    dtype = numpy.float16 if problem["dtype"] == "fp16" else numpy.uint16
    dim, dim_v = problem["head_dim"], problem.get("head_dim_v", problem["head_dim"])
    batch, heads, kv_heads = problem["batch"], problem["heads"], problem["kv_heads"]
    zeros = lambda *shape: numpy.zeros(shape, dtype)  # noqa: E731
    common = {"dtype": "bf16"} if problem["dtype"] == "bf16" else {}
    lse = {} if problem["backward"] else {"return_softmax_lse" if problem["kind"] == "pages" else "return_lse": problem["lse"]}
    if problem["layout"] == "bhsd":
        q, k, v = (zeros(batch, n, s, d) for n, s, d in ((heads, problem["seq_q"], dim), (kv_heads, problem["seq_kv"], dim),
                                                         (kv_heads, problem["seq_kv"], dim_v)))
        return hocket.scaled_dot_product_attention, (q, k, v), {
            "is_causal": problem["causal"], "scale": problem.get("scale"), "enable_gqa": True,
            "num_splits": problem["num_splits"], **lse, **common}
    common |= {"causal": problem["causal"], "softmax_scale": problem.get("scale"), "softcap": problem.get("soft_cap", 0.0),
               "window_size": tuple(problem.get("window", (-1, -1)))}
    if problem.get("alibi"):
        common["alibi_slopes"] = numpy.zeros((batch, heads), numpy.float32)
    if problem.get("sink"):
        common["sink"] = numpy.zeros(heads, numpy.float32)
    if "dropout" in problem:
        common["dropout_p"], common["rng_state"] = problem["dropout"][0], tuple(problem["dropout"][1:])
    if problem["kind"] == "packed":
        starts = [numpy.cumsum([0, *problem[f"lengths_{of}"]], dtype=numpy.int32) for of in ("q", "kv")]
        q, k, v = zeros(problem["total_q"], heads, dim), zeros(problem["total_kv"], kv_heads, dim), zeros(
            problem["total_kv"], kv_heads, dim_v)
        return hocket.flash_attn_varlen_func, (q, k, v, *starts, problem["seq_q"], problem["seq_kv"]), {
            "min_seqlen_q": problem.get("min_seqlen_q", 0), "work_list": problem["work_list"], **lse, **common}
    q = zeros(batch, problem["seq_q"], heads, dim)
    if problem["kind"] == "pages":
        return cached_call(problem, q, zeros, lse | common)
    k, v = zeros(batch, problem["seq_kv"], kv_heads, dim), zeros(batch, problem["seq_kv"], kv_heads, dim_v)
    if problem["backward"]:
        out, rows = zeros(batch, problem["seq_q"], heads, dim_v), numpy.zeros((batch, heads, problem["seq_q"]), numpy.float32)
        if problem.get("sink"):
            common["dsink"] = numpy.zeros(heads, numpy.float32)
        return hocket.flash_attn_backward, (zeros(*out.shape), q, k, v, out, rows), {
            "accumulate": problem.get("accumulate"), **common}
    return hocket.flash_attn_func, (q, k, v), {"num_splits": problem["num_splits"], **lse, **common}


def cached_call(problem, q, zeros, common):
    pages, size, kv_heads = problem["num_pages"], problem["page_size"], problem["kv_heads"]
    dim, dim_v = problem["head_dim"], problem.get("head_dim_v", problem["head_dim"])
    table = numpy.arange(problem["batch"] * problem["table_pages"], dtype=numpy.int32) % pages
    added = problem.get("append", 0)
    tensors = {"block_table": table.reshape(problem["batch"], -1),
               "cache_seqlens": numpy.array(problem["used_kv"], numpy.int32) - added}
    if added:
        tensors["k"], tensors["v"] = zeros(problem["batch"], added, kv_heads, dim), zeros(problem["batch"], added, kv_heads, dim_v)
    if "rotary" in problem:
        for name in ("rotary_cos", "rotary_sin"):
            tensors[name] = zeros(problem["positions"], problem["rotary_dim"] // 2)
        tensors["rotary_interleaved"] = problem["rotary"] == "interleaved"
    return hocket.flash_attn_with_kvcache, (q, zeros(pages, size, kv_heads, dim), zeros(pages, size, kv_heads, dim_v)), {
        **tensors, **common}


def plan_by_python(problem):
    function, arguments, named = call_of_python(problem)
    try:
        return hocket.plan_of(function, *arguments, **named)
    except hocket.Error as error:
        return str(error)


def what_runs(plan):
    """What must not differ; what a problem without a plan is refused for differs in its words."""
    return {key: plan[key] for key in ("launches", "buffers")} if isinstance(plan, dict) else "refused"


def main():
    count = int(os.environ.get("HOCKET_RANDOM_PLANS", sys.argv[1]))
    seed = int(os.environ.get("HOCKET_TEST_SEED", 20261127))
    library = subprocess.Popen(["hocket-test-plans"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    planned = 0
    for number in range(count):
        problem = draw(numpy.random.default_rng([seed, number]))
        plans = {"tool": plan_by_tool(problem)}
        if problem["kind"] == "pages" and isinstance(plans["tool"], dict):
            # How many pages a pool has beyond those of its sequences is up to the tool.
            problem["num_pages"] = int(re.search(r" pages\d+x(\d+)", plans["tool"]["problem"])[1])
        problem.setdefault("num_pages", problem["batch"] * problem.get("table_pages", 0))
        library.stdin.write(json.dumps(problem) + "\n")
        library.stdin.flush()
        plans |= json.loads(library.stdout.readline())
        plans["Python"] = plan_by_python(problem)
        for name, plan in plans.items():
            assert what_runs(plan) == what_runs(plans["tool"]), (
                f"seed {seed}, problem {number}, {' '.join(command_line(problem))}:\n"
                f"the tool: {json.dumps(plans['tool'], indent=1)}\n{name}: {json.dumps(plan, indent=1)}")
        planned += isinstance(plans["tool"], dict)
        if isinstance(plans["tool"], str):
            print(f"refused: {' '.join(command_line(problem))}: {plans['tool']}", file=sys.stderr)
    library.stdin.close()
    assert library.wait() == 0 and planned * 4 >= count * 3, f"{planned} of {count} problems have a plan"
    print(f"{count} problems, {planned} with a plan: the same by the tool, C++, C and Python")


if __name__ == "__main__":
    main()
