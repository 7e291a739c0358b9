"""The package in an empty environment: the program, the data and the functions are inside."""

import json
import pathlib
import subprocess
import sys
import unittest

from support import Test, printed
import roofcast


class WithoutNumpy(Test):
    def test_nothing_else_is_there(self):
        with self.assertRaises(ImportError):
            import numpy  # noqa: F401

    def test_prediction(self):
        expected = printed("predict", "--gpu", "rtx-4090", "--model", "llama-3.1-8b")["predictions"][0]
        p = roofcast.predict("llama-3.1-8b", "rtx-4090")
        self.assertEqual(p.latency_ms, expected["latency_ms"])
        self.assertTrue(pathlib.Path(roofcast.Gpu("t4").file).is_relative_to(sys.prefix))

    def test_columns_are_memoryviews(self):
        sweep = roofcast.sweep("llama-3.1-8b", "rtx-4090", batch=[1, 8])
        self.assertIsInstance(sweep["latency_ms"], memoryview)
        self.assertEqual(list(sweep["batch"]), [1, 8])
        self.assertEqual(list(sweep["gpu"]), [roofcast.Gpu("rtx-4090").id] * 2)
        self.assertEqual(sweep.row(0)["latency_ms"], roofcast.predict("llama-3.1-8b", "rtx-4090").latency_ms)

    def test_the_command_is_installed(self):
        command = pathlib.Path(sys.prefix) / "bin" / "roofcast"
        out = subprocess.run([command, "predict", "-g", "t4", "-m", "resnet50", "--format", "json"], capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(out.stdout)["predictions"][0]["latency_ms"], roofcast.predict("resnet50", "t4").latency_ms)
        out = subprocess.run([sys.executable, "-m", "roofcast", "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(out.stdout.strip(), f"roofcast {roofcast.__version__}")

    def test_libraries_travel_with_the_wheel(self):
        package = pathlib.Path(roofcast.__file__).parent
        for binary in [*package.glob("_roofcast*.so"), package / "bin" / "roofcast"]:
            found = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
            self.assertNotIn("not found", found)
            for line in found.splitlines():
                if "libfmt" in line or "libnlopt" in line:
                    self.assertIn(str(package), line)


if __name__ == "__main__":
    unittest.main()
