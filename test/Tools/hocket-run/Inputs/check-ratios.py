"""Computes the ratios of a saved bench run anew from its times: check-ratios.py RUN.json"""
import json
import math
import sys

run = json.load(open(sys.argv[1]))
published = {1: {"slow": 1000000, "fast": 0.001}, 2: {"slow": 1000000}, 3: {}}
for peer in ("slow", "fast"):
    logs = []
    for row in run["rows"]:
        cell = row["kernels"]["mine"]
        figure = published[row["row"]].get(peer)
        ratio = cell["ratios"].get(peer, {}).get("published")
        assert (figure is None) == (ratio is None), (row["row"], peer)
        if figure is not None:
            assert math.isclose(ratio, figure / cell["us"], rel_tol=1e-6), (row["row"], peer)
            logs.append(math.log(figure / cell["us"]))
    mean = run["ratios"]["mine"][peer]["published"]
    assert mean["rows"] == len(logs)
    assert math.isclose(mean["geometric_mean"], math.exp(sum(logs) / len(logs)), rel_tol=1e-6)
