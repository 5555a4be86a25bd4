"""Attention over a sequence that is spread over processes: each has its rows of Q, K and V.

K and V travel around a ring while each process computes its queries against the part that it holds; `hocket.merge` folds
the partial results. Forward, causal or not, over torch.distributed: gloo and the simulator without GPUs, RCCL with them.

    torchrun --nproc-per-node 4 docs/examples/ring_attention.py

As a program it checks itself against one process that has everything.
"""
import sys

import numpy

import hocket


class Ring:
    """The processes, and how a tensor gets from one to the next."""

    def __init__(self):
        import torch
        import torch.distributed

        self.torch, self.distributed = torch, torch.distributed
        on_gpu = torch.cuda.is_available()  # ROCm's, too
        self.distributed.init_process_group("nccl" if on_gpu else "gloo")
        self.rank, self.size = self.distributed.get_rank(), self.distributed.get_world_size()
        self.device = f"cuda:{self.rank % torch.cuda.device_count()}" if on_gpu else "cpu"

    def tensor(self, array):
        return self.torch.from_numpy(array).to(self.device)

    def to_numpy(self, tensor):
        return tensor.float().cpu().numpy()

    def full(self, shape, value):
        return self.torch.full(shape, value, dtype=self.torch.float32, device=self.device)

    def pass_on(self, tensors):
        """Sends `tensors` to the next process; gives those of the process before."""
        tensors = [tensor.contiguous() for tensor in tensors]
        received = [self.torch.empty_like(tensor) for tensor in tensors]
        operations = []
        for mine, other in zip(tensors, received):
            operations.append(self.distributed.P2POp(self.distributed.isend, mine, (self.rank + 1) % self.size))
            operations.append(self.distributed.P2POp(self.distributed.irecv, other, (self.rank - 1) % self.size))
        for request in self.distributed.batch_isend_irecv(operations):
            request.wait()
        return received


def ring_attention(ring, q, k, v, causal=False):
    """This process's rows of attention over the whole sequence, and their log-sum-exp, both in f32.

    `q`, `k`, `v` are this process's equal share of the rows, in order: [batch, rows, heads, head_dim].
    """
    batch, rows, heads, _ = q.shape
    out = ring.full((batch, rows, heads, v.shape[3]), 0.0)
    lse = ring.full((batch, heads, rows), float("-inf"))
    for step in range(ring.size):
        owner = (ring.rank - step) % ring.size  # of the keys that are here now
        if not causal or owner <= ring.rank:
            part, part_lse = hocket.flash_attn_func(q, k, v, causal=causal and owner == ring.rank, return_lse=True)
            hocket.merge([out, part], [lse, part_lse], out=out, lse=lse)
        if step + 1 != ring.size:
            k, v = ring.pass_on([k, v])
    return out, lse


def main():
    ring = Ring()
    generator = numpy.random.default_rng(0)  # everyone draws the whole and takes a share of it
    rows = 32 * ring.size
    q = generator.standard_normal((1, rows, 4, 64)).astype(numpy.float16)
    k, v = (generator.standard_normal((1, rows, 2, 64)).astype(numpy.float16) for _ in range(2))
    mine = slice(32 * ring.rank, 32 * (ring.rank + 1))
    shares = [ring.tensor(tensor[:, mine]) for tensor in (q, k, v)]
    for causal in (False, True):
        out, lse = ring_attention(ring, *shares, causal)
        whole, whole_lse = hocket.flash_attn_func(q, k, v, causal=causal, return_lse=True)
        error = numpy.abs(ring.to_numpy(out) - whole[:, mine]).max()
        error_lse = numpy.abs(ring.to_numpy(lse) - whole_lse[:, :, mine]).max()
        print(f"process {ring.rank} of {ring.size}, causal={causal}: off by {error:.1e}, LSE by {error_lse:.1e}", flush=True)
        if not (error < 4e-3 and error_lse < 1e-3):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
