"""Memory of other libraries by DLPack, threads, the interpreter's lock, and Ctrl-C."""
import ctypes
import os
import signal
import sys
import threading
import unittest

import numpy
from reference import TOLERANCE, attention, from_bf16, largest_error, random_tensor, swap, to_bf16

import hocket
from hocket import flash_attn_func

KDL_CPU, KDL_CUDA, KDL_ROCM = 1, 2, 10


class Exported:
    """A tensor by DLPack and nothing else, with the device and the type that a test wants."""

    class _Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("id", ctypes.c_int32),
                    ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                    ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
                    ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

    released = 0

    def __init__(self, address, shape, code=2, bits=16, device=(KDL_CPU, 0), strides=None, keep=None, lanes=1):
        self.device, self.keep, self.streams = device, keep, []
        many = ctypes.c_int64 * max(len(shape), 1)
        self.shape = tuple(shape)
        self._shape, self._strides = many(*shape), many(*strides) if strides else None

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        def release(_):
            Exported.released += 1

        self._release = release
        self._managed = self._Tensor(address, *device, len(shape), code, bits, lanes, self._shape, self._strides,
                                     0, None, ctypes.cast(release, ctypes.c_void_p))

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._managed), b"dltensor", None)


def exported(array, **options):
    strides = [step // array.itemsize for step in array.strides]
    return Exported(array.ctypes.data, array.shape, strides=strides, keep=array, **options)


def tensors(seed=0, dtype="f16", seq=40, heads=2, batch=1):
    generator = numpy.random.default_rng(seed)
    return [random_tensor(generator, (batch, seq, heads, 64), dtype) for _ in range(3)]


def expected(q, k, v, **options):
    return swap(attention(swap(q), swap(k), swap(v), **options)[0])


class DLPack(unittest.TestCase):
    def test_memory_is_used_in_place_and_given_back(self):
        q, k, v = tensors()
        out = numpy.zeros_like(q)
        before = Exported.released
        exports = [exported(t) for t in (q, swap(swap(k)), v, out)]
        flash_attn_func(*exports[:3], out=exports[3])
        self.assertLess(largest_error(out, expected(q, k, v)), TOLERANCE["f16"])
        self.assertEqual(Exported.released - before, 4)

    def test_bf16_has_its_own_type(self):
        q, k, v = tensors(dtype="bf16")
        out = numpy.zeros_like(q)
        flash_attn_func(*(exported(t, code=4) for t in (q, k, v)), out=exported(out, code=4))
        self.assertLess(largest_error(out, expected(q, k, v)), TOLERANCE["bf16"])
        self.assertLess(abs(from_bf16(to_bf16(numpy.float32([1.00390625]))) - 1).max(), 1e-6)  # ties to even

    def test_no_strides_are_those_of_c_order(self):
        q, k, v = tensors()
        out = flash_attn_func(q, Exported(k.ctypes.data, k.shape, keep=k), v)
        self.assertLess(largest_error(out, expected(q, k, v)), TOLERANCE["f16"])

    def test_refusals(self):
        q, k, v = tensors()
        for message, wrong in (
            ("argument 'k' is on a device of DLPack's type 2", exported(k, device=(KDL_CUDA, 0))),
            ("argument 'k' has elements of DLPack's type code 2 with 16 bits and 4 lanes", exported(k, lanes=4)),
            ("argument 'k' has elements of DLPack's type code 9", exported(k, code=9)),
        ):
            with self.assertRaisesRegex(hocket.InvalidInput, message):
                flash_attn_func(q, wrong, v)
        with self.assertRaisesRegex(hocket.InvalidInput, "argument 'out' is missing: for 'q' of type '.*Exported'"):
            flash_attn_func(exported(q), k, v)

        class Broken(Exported):
            def __dlpack__(self, stream=None):
                raise BufferError("not today")

        with self.assertRaisesRegex(hocket.InvalidInput, "argument 'v' does not give its memory: .*not today"):
            flash_attn_func(q, k, Broken(v.ctypes.data, v.shape))


class Threads(unittest.TestCase):
    def test_many_at_once_on_the_same_tensors(self):
        q, k, v = tensors(seq=70)
        results = [None] * 8

        def compute(number):
            results[number] = flash_attn_func(q, k, v, causal=bool(number % 2))

        threads = [threading.Thread(target=compute, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, result in enumerate(results):
            error = largest_error(result, expected(q, k, v, causal=bool(number % 2)))
            self.assertLess(error, TOLERANCE["f16"])

    def test_the_interpreter_goes_on_meanwhile(self):
        q, k, v = tensors(seq=700, heads=8)
        flash_attn_func(q, k, v)
        turns, done = 0, threading.Event()

        def compute():
            flash_attn_func(q, k, v)
            done.set()

        thread = threading.Thread(target=compute)
        sys.setswitchinterval(1e-4)
        thread.start()
        while not done.is_set():
            turns += 1
        thread.join()
        # With the lock held there are only the few turns before the other thread asks for it and after.
        self.assertGreater(turns, 1000)


class Interruption(unittest.TestCase):
    """A simulation of hours ends at once; SIGALRM ends the test if it does not."""

    def setUp(self):
        # Those who run tests may ignore it, which processes inherit.
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(self, raised, **options):
        shape = (1, 200000, 8, 128)
        q, k, v = (numpy.zeros(shape, numpy.float16) for _ in range(3))
        signal.alarm(120)
        timer = threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(raised):
            flash_attn_func(q, k, v, **options)
        signal.alarm(0)

    def still_works(self):
        q, k, v = tensors()
        self.assertLess(largest_error(flash_attn_func(q, k, v), expected(q, k, v)), TOLERANCE["f16"])

    def test_ctrl_c(self):
        self.interrupted(KeyboardInterrupt)
        self.interrupted(KeyboardInterrupt, num_splits=4)
        self.still_works()

    def test_what_a_handler_raises(self):
        class Enough(Exception):
            pass

        def handler(number, frame):
            raise Enough()

        old = signal.signal(signal.SIGINT, handler)
        try:
            self.interrupted(Enough)
        finally:
            signal.signal(signal.SIGINT, old)
        self.still_works()

    def test_signals_without_exception_do_not_end_it(self):
        seen = []
        old = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
        q, k, v = tensors(seq=1000, heads=8)
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        timer.start()
        out = flash_attn_func(q, k, v)
        timer.join()
        signal.signal(signal.SIGUSR1, old)
        self.assertEqual(seen, [signal.SIGUSR1])
        self.assertLess(largest_error(out, expected(q, k, v)), TOLERANCE["f16"])


class Fork(unittest.TestCase):
    def test_a_child_computes_too(self):
        q, k, v = tensors()
        flash_attn_func(q, k, v)
        child = os.fork()
        if child == 0:
            os._exit(0 if largest_error(flash_attn_func(q, k, v), expected(q, k, v)) < TOLERANCE["f16"] else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
