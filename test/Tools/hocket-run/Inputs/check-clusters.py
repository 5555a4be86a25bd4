"""check-clusters.py STEADY TIME PICTURE: the clusters of dual_wave have the schedule's numbers."""
import json
import sys


def check_pieces(pieces):
    assert [piece["cluster"] for piece in pieces] == [0, 1, 2, 3] * 2, pieces
    for piece in pieces:
        assert (piece["mfma"] > 0) == (piece["cluster"] % 2 == 1), piece


def main(steady_path, time_path, picture_path):
    with open(steady_path) as file:
        steady = json.load(file)
    assert steady["scheduled_clusters"] == 4 and steady["tiles"] == 2
    assert len(steady["waves"]) == 2
    for wave in steady["waves"]:
        check_pieces(wave["per_cluster"])
        reads = [piece["lds_read"] for piece in wave["per_cluster"]]
        assert reads == [16, 0, 32, 0] * 2, reads
    with open(time_path) as file:
        timed = json.load(file)["time"]["steady_state"]
    assert timed["tiles"] == 2 and timed["scheduled_clusters"] == 4
    for wave in timed["waves"]:
        check_pieces(wave["clusters"])
        assert abs(sum(piece["cycles"] for piece in wave["clusters"]) - wave["cycles"]) < 1
    with open(picture_path) as file:
        picture = file.read()
    assert ", 2 tiles, " in picture
    for cluster in range(4):
        assert picture.count('font-size="9">%d</text>' % cluster) >= 8, cluster


main(*sys.argv[1:])
