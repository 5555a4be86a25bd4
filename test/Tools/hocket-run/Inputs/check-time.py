"""Checks what timed runs wrote:
check-time.py REPORT TRACE PICTURE: they are well-formed and agree with one another
check-time.py --same A B --slower A B: two reports predict the same, or more for the second"""
import json
import sys
import xml.etree.ElementTree


def time_of(path):
    with open(path) as file:
        return json.load(file)["time"]


def check_report(path):
    with open(path) as file:
        report = json.load(file)
    time = report["time"]
    assert report["passed"] and time["prediction"] and report["grid"]["prediction"]
    steady = time["steady_state"]
    assert 0 < steady["busy"]["matrix"] < 1, steady["busy"]
    # Two waves on each SIMD, 64 MFMAs of 32 cycles each: what the matrix pipe alone needs.
    assert steady["cycles"] > 2 * 64 * 32
    assert abs(steady["busy"]["matrix"] - 2 * 64 * 32 / steady["cycles"]) < 0.01
    assert len(steady["waves"]) == 8
    for wave in steady["waves"]:
        assert len(wave["clusters"]) == 8
        assert abs(sum(c["cycles"] for c in wave["clusters"]) - wave["cycles"]) < 1
        assert abs(wave["cycles"] - steady["cycles"]) < 0.05 * steady["cycles"]
        assert sum(wave["stalls"].values()) < wave["cycles"]
    # The second wave group is one cluster behind the first.
    phases = [wave["phase"] for wave in steady["waves"]]
    assert max(phases[:4]) < min(phases[4:]) < steady["cycles"] / 4, phases
    check_budget(time)
    return time


def check_budget(time):
    """One workgroup of 256 x 128 of Q and O and 1024 keys, bf16."""
    cold, warm = time["budget"]["cold"], time["budget"]["warm"]
    assert cold["cycles"] == time["cycles"] and warm["cycles"] < cold["cycles"] - 500
    for life in (cold, warm):
        parts = [life[part] for part in ("before", "loop", "between", "behind")]
        assert abs(sum(part["cycles"] for part in parts) + life["drain"] - life["cycles"]) < 1
        assert sum(part["instructions"] for part in parts) * 8 == time["instructions"]
        # 16 tiles of 32 MFMAs; the loop turns with two of them.
        assert sum(part["mfma"] for part in parts) == 16 * 32
        assert 5 * 64 <= life["loop"]["mfma"] <= 7 * 64
        assert life["between"]["cycles"] == 0 and life["drain"] > 0
        steady = time["steady_state"]["cycles"] / 2 * 16
        assert abs(life["cycles"] - steady - life["outside_steady_state"]) < 0.03 * steady
        q, kv = 256 * 128 * 2, 2 * 1024 * 128 * 2
        assert life["loads"]["lane_bytes"] == q + kv, life["loads"]
        assert q + kv <= life["loads"]["line_bytes"] <= life["loads"]["request_bytes"]
        assert life["stores"]["line_bytes"] == q + 256 * 4, life["stores"]
    assert "fetch" in cold["before"]["stalls"] and "fetch" not in warm["before"]["stalls"]


def check_trace(path, time):
    with open(path) as file:
        trace = json.load(file)
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert trace["otherData"]["complete"]
    assert max(e["ts"] + e["dur"] for e in spans if e["pid"] == 1) <= time["cycles"]
    for wave in range(8):
        own = sorted((e["ts"], e["dur"]) for e in spans if e["pid"] == 1 and e["tid"] == wave)
        for (begin, length), (following, _) in zip(own, own[1:]):
            assert begin + length <= following, (wave, begin)
    issued = sum(1 for e in spans if e["pid"] == 1 and e["dur"] == 4 and " " in e["name"])
    assert issued > 0.9 * time["instructions"], issued


def main(arguments):
    if arguments[0] != "--same":
        time = check_report(arguments[0])
        check_trace(arguments[1], time)
        assert xml.etree.ElementTree.parse(arguments[2]).getroot().tag.endswith("svg")
        return
    same, slower = arguments[1:3], arguments[4:6]
    assert time_of(same[0])["cycles"] == time_of(same[1])["cycles"]
    assert time_of(slower[0])["steady_state"]["cycles"] < 2 * 64 * 64
    assert time_of(slower[1])["steady_state"]["cycles"] >= 2 * 64 * 64


main(sys.argv[1:])
