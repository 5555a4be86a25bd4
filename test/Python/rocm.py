"""Memory of ROCm: what a GPU would compute, here on the simulator behind HIP's own functions (libhocket_hip)."""
import ctypes
import unittest

import numpy
from memory import KDL_ROCM, Exported
from reference import TOLERANCE, attention, check_lse, gradients, largest_error, random_tensor, swap, widen

import hocket
from hocket import flash_attn_backward, flash_attn_func

hip = ctypes.CDLL("libamdhip64.so.6")


def call(name, *arguments):
    status = getattr(hip, name)(*arguments)
    assert status == 0, f"{name}: {status}"


def on_gpu(array, index=0):
    """A copy of `array` in device memory, exported by DLPack."""
    address = ctypes.c_void_p()
    call("hipMalloc", ctypes.byref(address), ctypes.c_size_t(array.nbytes))
    host = numpy.ascontiguousarray(array)
    call("hipMemcpy", address, host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(host.nbytes), 1)
    code = 4 if array.dtype == numpy.uint16 else 2
    return Exported(address.value, array.shape, code=code, bits=8 * array.itemsize, device=(KDL_ROCM, index))


def from_gpu(export, like):
    host = numpy.empty_like(like)
    address = ctypes.c_void_p(export._managed.data)
    call("hipMemcpy", host.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(host.nbytes), 2)
    return host


class Rocm(unittest.TestCase):
    def setUp(self):
        generator = numpy.random.default_rng(3)
        self.q = random_tensor(generator, (1, 40, 4, 64), "bf16")
        self.k, self.v = (random_tensor(generator, (1, 300, 2, 64), "bf16") for _ in range(2))
        self.exports = [on_gpu(t) for t in (self.q, self.k, self.v)]
        self.out = on_gpu(numpy.zeros_like(self.q))
        self.lse = on_gpu(numpy.zeros((1, 4, 40), numpy.float32))

    def check(self, **options):
        wanted, wanted_lse = attention(swap(self.q), swap(self.k), swap(self.v), **options)
        self.assertLess(largest_error(from_gpu(self.out, self.q), swap(wanted)), TOLERANCE["bf16"])
        check_lse(from_gpu(self.lse, numpy.empty((1, 4, 40), numpy.float32)), wanted_lse)

    def test_done_at_the_return_without_a_stream(self):
        flash_attn_func(*self.exports, causal=True, out=self.out, lse=self.lse)
        self.check(causal=True)
        # Made safe for the default stream, on which the work is done.
        self.assertEqual([e.streams for e in self.exports], [[0]] * 3)

    def test_the_callers_stream_and_split_keys(self):
        stream = ctypes.c_void_p()
        call("hipStreamCreate", ctypes.byref(stream))
        for splits in (2, 5, 3):  # the workspace is kept, and grows
            flash_attn_func(*self.exports, out=self.out, lse=self.lse, num_splits=splits, stream=stream.value)
            call("hipStreamSynchronize", stream)
            self.check()
        self.assertEqual(self.exports[0].streams, [stream.value] * 3)

    def test_gradients(self):
        flash_attn_func(*self.exports, causal=True, out=self.out, lse=self.lse)
        dout = random_tensor(numpy.random.default_rng(4), self.q.shape, "bf16")
        into = [on_gpu(numpy.zeros_like(t)) for t in (self.q, self.k, self.v)]
        flash_attn_backward(on_gpu(dout), *self.exports, self.out, self.lse, *into, causal=True)
        wanted = gradients(*(swap(t) for t in (dout, self.q, self.k, self.v)), causal=True)
        for export, tensor, gradient in zip(into, (self.q, self.k, self.v), wanted):
            error = widen(from_gpu(export, tensor)) - swap(gradient)
            self.assertLess(numpy.sqrt((error**2).sum() / (gradient**2).sum()), 6e-3)

    def test_refusals(self):
        with self.assertRaisesRegex(hocket.InvalidInput, "argument 'k' is on cpu, 'q' on rocm:0"):
            flash_attn_func(self.exports[0], self.k, self.exports[2], dtype="bf16", out=self.out)
        with self.assertRaisesRegex(hocket.Error, "device"):
            flash_attn_func(*(on_gpu(t, index=7) for t in (self.q, self.k, self.v)),
                            out=on_gpu(self.q, index=7))


if __name__ == "__main__":
    unittest.main()
