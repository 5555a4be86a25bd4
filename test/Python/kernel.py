"""Kernels of one's own: compiling, running by name, checking, predicting, counting, drawing."""
import os
import pathlib
import signal
import threading
import unittest

import numpy
from reference import from_bf16, random_tensor, to_bf16, widen

import hocket
from hocket import InvalidInput, Schedule

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
GEMM = (KERNELS / "tile" / "gemm_bf16.mlir").read_text()

SCALE = """
tile.kernel @scale(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>, %factor: f32) target("gfx950") waves(4) {
  %row, %column = tile.block_tile %y rows(64) columns(256) : <?x?xf32>
  %wave_row = tile.wave_row %row rows(16)
  %block = tile.load %x[%wave_row, %column] : <?x?xf32> -> !tile.frag<16x256xf32, lines>
  %scaled = tile.map(%e = %block : !tile.frag<16x256xf32, lines>, %f = %factor : f32) -> !tile.frag<16x256xf32, lines> {
    %product = arith.mulf %e, %f : f32
    tile.yield %product : f32
  }
  tile.store %scaled, %y[%wave_row, %column] : !tile.frag<16x256xf32, lines>, <?x?xf32>
}
"""

COPY = """
tile.kernel @copy(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>) target("gfx950") waves(4) {
  %row, %column = tile.block_tile %y rows(64) columns(256) : <?x?xbf16>
  %wave_row = tile.wave_row %row rows(16)
  %block = tile.load %x[%wave_row, %column] : <?x?xbf16> -> !tile.frag<16x256xbf16, lines>
  tile.store %block, %y[%wave_row, %column] : !tile.frag<16x256xbf16, lines>, <?x?xbf16>
}
"""


def matrices(m=300, n=136, k=640):
    generator = numpy.random.default_rng(4)
    return random_tensor(generator, (m, k), "bf16"), random_tensor(generator, (n, k), "bf16")


class Running(unittest.TestCase):
    def test_tensors_and_numbers_by_name(self):
        kernel = hocket.compile(SCALE)
        self.assertEqual((kernel.name, kernel.arch), ("scale", "gfx950"))
        self.assertIn("scalars factor", kernel.signature)
        x = numpy.arange(30000, dtype=numpy.float32).reshape(100, 300)
        for factor in (3, 0.5, True, numpy.float64(2)):
            y = numpy.zeros_like(x)
            launch = kernel(x=x, y=y, factor=factor)
            self.assertTrue((y == x * numpy.float32(factor)).all())
            self.assertEqual(launch.workgroups, 4)
            self.assertGreater(launch.wave_instructions, 0)
        y = numpy.zeros_like(x)
        kernel.run({"x": x, "y": y, "factor": 2}, seed=5)
        self.assertTrue((y == 2 * x).all())

    def test_strides_and_places(self):
        kernel = hocket.compile(SCALE)
        around = numpy.full((104, 400), 7, numpy.float32)
        y = around[2:102, 40:340]
        x = numpy.random.default_rng(0).standard_normal((50, 600)).astype(numpy.float32)[:, ::2][:, :300]
        with self.assertRaisesRegex(InvalidInput, "x_stride_1|stride"):
            kernel(x=x, y=y[:50], factor=1)  # this kernel wants contiguous rows
        x = numpy.random.default_rng(0).standard_normal((100, 301)).astype(numpy.float32)[:, 1:]  # off by 4 bytes
        x.flags.writeable = False
        kernel(x=x, y=y, factor=3)
        self.assertTrue((y == 3 * x).all())
        around[2:102, 40:340] = 7
        self.assertTrue((around == 7).all(), "written beyond y")

    def test_elements_of_16_bits_that_end_in_the_middle_of_a_dword(self):
        kernel = hocket.compile(COPY)
        rooms = numpy.full((2, 32), 7, numpy.uint16)
        x, y = (room[:25].reshape(5, 5) for room in rooms)
        x[:] = to_bf16(numpy.arange(25).reshape(5, 5))
        kernel(x=x, y=y)
        self.assertTrue((y == x).all())
        self.assertTrue((rooms[:, 25:] == 7).all())

    def test_a_tensor_that_may_not_change(self):
        kernel = hocket.compile(SCALE)
        x = numpy.ones((64, 256), numpy.float32)
        y = numpy.zeros_like(x)
        y.flags.writeable = False
        with self.assertRaisesRegex(InvalidInput, "tensor 'y' is read-only, and the kernel writes it"):
            kernel(x=x, y=y, factor=3)
        self.assertTrue((y == 0).all())

    def test_refusals_name_what_is_wrong(self):
        kernel = hocket.compile(SCALE)
        x = numpy.zeros((64, 256), numpy.float32)
        for named, message in (
            ({"x": x, "y": x}, "scalar 'factor' is missing"),
            ({"x": x, "y": x, "factor": 1, "z": 2}, "it has no scalar 'z'"),
            ({"x": x, "factor": 1}, "tensor 'y' is missing"),
            ({"x": x.astype(numpy.float16), "y": x, "factor": 1}, "tensor 'x' has elements of f16, f32 are needed"),
            ({"x": "text", "y": x, "factor": 1}, "argument 'x' is a 'str', wanted a tensor"),
            ({"factor": 1}, "was given no tensor; it takes tensors x"),
        ):
            with self.assertRaisesRegex(InvalidInput, message):
                kernel(**named)

    def test_ctrl_c(self):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.alarm(120)
        loop = SCALE.replace("%scaled =", "%n = arith.constant 2000000000 : i32\n  %scaled =")
        x = numpy.zeros((1 << 20, 256), numpy.float32)
        kernel = hocket.compile(loop)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                kernel(x=x, y=x, factor=1)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                kernel.predict(x=x, y=x, factor=1)
        signal.alarm(0)


class Tuning(unittest.TestCase):
    def test_finds_what_is_no_slower_than_the_start(self):
        told = []
        found = hocket.tune(
            GEMM,
            {"m": 256, "n": 256, "k": 512},
            schedule="gemm_sequential",
            candidates=4,
            seed=1,
            vary=["barrier.latency=0"],
            progress=lambda tried, best: told.append((tried, best)),
        )
        self.assertEqual([tried for tried, _ in told], [1, 2, 3, 4])
        self.assertEqual(len(found.trials), 4)
        # The mean decides, the fastest of all is what progress hears of.
        self.assertEqual(found.best.mean, min(trial.mean for trial in found.trials if trial.mean))
        self.assertLess(found.best.mean, found.microseconds)
        self.assertEqual(told[-1][1], min(trial.microseconds for trial in found.ranking))
        self.assertIn("tile.schedule @tuned", found.schedule.text)
        self.assertIn("4 schedules tried", repr(found))
        again = hocket.compile(GEMM, schedule=found.schedule)
        a, b = matrices(70, 40, 256)
        c = numpy.zeros((70, 40), numpy.uint16)
        again(a=a, b=b, c=c)
        wanted = from_bf16(a) @ from_bf16(b).T
        self.assertLess(numpy.abs(from_bf16(c) - wanted).max(), 0.01 * numpy.abs(wanted).max())

    def test_what_progress_raises_ends_it(self):
        def stop(tried, best):
            raise KeyError(tried)

        with self.assertRaises(KeyError):
            hocket.tune(GEMM, {"m": 256, "n": 256, "k": 512}, schedule="gemm_sequential", progress=stop)

    def test_refusals_name_the_argument(self):
        for arguments, message in (
            ({"sizes": {"m": "many"}}, "'sizes' gives 'm' the value 'many'"),
            ({"candidates": -1}, "'candidates' is -1"),
            ({"vary": "trans.cycles=4"}, "'vary' is 'trans.cycles=4', wanted a list"),
            ({"vary": 4}, "'vary' is 4, wanted a list"),
            ({"vary": ["trans=4"]}, "there is no time parameter 'trans'"),
            ({"seconds": 0}, "'seconds' is 0"),
            ({"candidates": 0}, "at least one candidate"),
            ({"schedule": 3}, "argument 'schedule'"),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(InvalidInput, message):
                hocket.tune(GEMM, **arguments)


class Compiling(unittest.TestCase):
    def test_stages_report_and_manifest(self):
        kernel = hocket.compile(GEMM, name="gemm")
        stages = kernel.stages
        self.assertEqual(list(stages), ["attn", "tile", "clusters", "rocdl", "llvm", "asm", "hsaco"])
        self.assertIn("v_mfma", stages["asm"])
        self.assertEqual(stages["hsaco"], kernel.code_object)
        self.assertEqual(kernel.manifest["kernel"], "gemm_bf16")
        self.assertEqual(kernel.report["kernels"][0]["name"], "gemm_bf16")
        with self.assertRaisesRegex(InvalidInput, "'again' cannot be launched: .* at 'rocdl'; begin at 'tile'"):
            hocket.compile(stages["rocdl"], stage="rocdl", name="again")

    def test_schedules_by_name_text_and_path(self):
        a, b = matrices()
        results = []
        path = KERNELS / "schedules" / "gemm"
        shipped = sorted(file.stem for file in path.glob("*.mlir"))
        text = (path / f"{shipped[0]}.mlir").read_text()
        for schedule in (None, *shipped, Schedule(text), Schedule.from_file(path / f"{shipped[0]}.mlir"),
                         path / f"{shipped[-1]}.mlir"):
            with self.subTest(schedule=schedule):
                c = numpy.zeros((300, 136), numpy.uint16)
                hocket.compile(GEMM, schedule=schedule)(a=a, b=b, c=c)
                results.append(c)
        for result in results:
            self.assertTrue((result == results[0]).all())  # whatever the schedule
        self.assertLess(abs(from_bf16(results[0]) - widen(a) @ widen(b).T).max(), 0.5)

    def test_a_description_of_attention(self):
        text = "attn.forward @f element_type(bf16) head_dim(128) mask(causal) lse"
        kernel = hocket.compile(text, waves=4, schedule="sequential", debug=True)
        self.assertIn("tile.for_tiles", kernel.stages["tile"])
        self.assertEqual(kernel.report["kernels"][0]["workgroup_size"] // 64, 4)
        self.assertTrue(kernel.draw()._repr_svg_().startswith("<svg"))

    def test_errors_have_place_and_way_out(self):
        for text, options, message in (
            ("tile.kernel @x(", {"name": "mine.mlir"}, r"mine\.mlir:1:"),
            (GEMM, {"schedule": "none_such"}, "none_such"),
            (GEMM, {"schedule": Schedule("tile.schedule @s {", "late.mlir")}, r"late\.mlir:1"),
            (GEMM, {"schedule": 3}, "argument 'schedule' is a 'int'"),
            (GEMM, {"arch": "gfx90a"}, "gfx90a"),
            (GEMM, {"stage": "binary"}, "binary"),
        ):
            with self.subTest(options=options):
                with self.assertRaisesRegex(hocket.Error, message):
                    hocket.compile(text, **options)
        with self.assertRaisesRegex(hocket.Error, "has 0 schedules, a drawing shows one"):
            hocket.compile(SCALE).draw()


class Looking(unittest.TestCase):
    def test_check(self):
        kernel = hocket.compile(SCALE, debug=True, name="scale.mlir")
        x = numpy.ones((100, 300), numpy.float32)
        y = numpy.zeros_like(x)
        check = kernel.check(x=x, y=y, factor=2)
        self.assertTrue(check)
        self.assertEqual((repr(check), check.fault, check.note), ("no findings", "", ""))
        self.assertTrue((y == 2).all())
        # Both workgroups of a row of blocks write the same place: y is told to have one row for all.
        twice = numpy.lib.stride_tricks.as_strided(y, (128, 256), (0, 4))
        check = kernel.check(x=numpy.ones((128, 256), numpy.float32), y=twice, factor=2)
        self.assertFalse(check)
        self.assertEqual({finding.kind for finding in check.errors}, {"global-race"})
        self.assertIn("scale.mlir:", repr(check))

    def test_predict_steady_state_and_draw(self):
        a, b = matrices(1024, 1024, 1024)
        c = numpy.full((1024, 1024), 7, numpy.uint16)
        kernel = hocket.compile(GEMM)
        prediction = kernel.predict(a=a, b=b, c=c)
        self.assertAlmostEqual(prediction.microseconds, prediction.grid["us"], places=2)
        self.assertGreater(prediction.microseconds, 0)
        self.assertIn("predicted", repr(prediction))
        self.assertTrue(prediction._repr_svg_().startswith("<svg"))
        self.assertIn("cycles", prediction.workgroup)
        waves = kernel.steady_state(a=a, b=b, c=c)
        for wave in waves:
            self.assertGreater(wave.total["mfma"], 0)
            for kind, count in wave.total.items():
                self.assertEqual(count, sum(cluster[kind] for cluster in wave.clusters))
            self.assertIn("mfma", repr(wave))
        self.assertTrue((c == 7).all(), "predicting and counting leave tensors as they are")
        picture = kernel.draw()
        path = pathlib.Path("drawn.svg")
        picture.save(path)
        self.assertEqual(path.read_text(), picture.svg)
        with self.assertRaisesRegex(InvalidInput, "ran no loop with matrix instructions"):
            hocket.compile(SCALE).steady_state(x=numpy.ones((1, 1), numpy.float32), y=numpy.ones((1, 1), numpy.float32),
                                               factor=1)

    def test_what_is_no_option_is_named(self):
        text = "attn.forward @a element_type(bf16) head_dim(64) mask(none)"
        for options, message in (
            ({"waves": 2**70}, "argument 'waves' is 1180591620717411303424, wanted an integer from"),
            ({"kv_tile": "a"}, "argument 'kv_tile' is 'a', wanted an integer"),
            ({"block_order": 3}, "argument 'block_order' is a 'int', wanted a name"),
            ({"arch": None}, "argument 'arch' is a 'NoneType', wanted the name of a chip"),
            ({"name": None}, "argument 'name' is a 'NoneType', wanted a name"),
        ):
            with self.assertRaisesRegex(InvalidInput, message):
                hocket.compile(text, **options)
        with self.assertRaisesRegex(InvalidInput, "argument 'text' has half a character at 0"):
            hocket.compile("\ud800")
        for options, message in (
            ({"waves": 4}, "argument 'waves' is 4, wanted a list of integers"),
            ({"workgroups": "a"}, "argument 'workgroups' is 'a', wanted a list of integers"),
            ({"waves": [17]}, "waves to choose from are 17, expected 1 to 16"),
            ({"workgroups": [9]}, "workgroups to choose from are 9, expected 1 to 8"),
            ({"sizes": [3]}, "argument 'sizes' is a 'list', wanted a dict"),
        ):
            with self.assertRaisesRegex(InvalidInput, message):
                hocket.tune(text, **options)
        x = numpy.zeros((1, 1), numpy.float32)
        kernel = hocket.compile(SCALE)
        for named, options, message in (
            (None, {}, "argument 'named' is a 'NoneType', wanted a dict"),
            ({3: x}, {}, "argument 'named: 3' is a 'int', wanted a name"),
            ({"x": x, "y": x.copy(), "factor": 2**70}, {}, "argument 'factor' is 11805"),
            ({"x": x, "y": x.copy(), "factor": 1}, {"seed": -1}, "argument 'seed' is -1, wanted an integer from 0"),
        ):
            with self.assertRaisesRegex(InvalidInput, message):
                kernel.run(named, **options)


if __name__ == "__main__":
    unittest.main()
