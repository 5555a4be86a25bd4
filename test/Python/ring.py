"""docs/examples/ring_attention.py in threads: the ring is a queue between neighbours. For where torch is
not installed; ring.py SIZE."""
import importlib.util
import pathlib
import queue
import sys
import threading

import numpy

path = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples" / "ring_attention.py"
spec = importlib.util.spec_from_file_location("ring_attention", path)
ring_attention = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ring_attention)

SIZE = int(sys.argv[1])
queues = [queue.Queue() for _ in range(SIZE)]


class Ring:
    def __init__(self, rank):
        self.rank, self.size = rank, SIZE

    def tensor(self, array):
        return array

    to_numpy = tensor

    def full(self, shape, value):
        return numpy.full(shape, value, numpy.float32)

    def pass_on(self, arrays):
        queues[(self.rank + 1) % SIZE].put([array.copy() for array in arrays])
        return queues[self.rank].get(timeout=60)


codes = [1] * SIZE


def process(rank):
    ring_attention_of = Ring(rank)
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    own.Ring = lambda: ring_attention_of
    codes[rank] = own.main()


threads = [threading.Thread(target=process, args=(rank,)) for rank in range(SIZE)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(max(codes))
