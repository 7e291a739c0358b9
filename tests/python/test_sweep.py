"""Grids as columns."""

import csv
import io
import os
import pickle
import signal
import subprocess
import threading
import time
import unittest

import numpy
import pandas
import roofcast
from support import PROGRAM, ROOT, Test

GRID = {"batch": "1:64:*2", "precision": ["fp16", "int8"], "tp": [1, 2], "kv_block": 16}
WORDS = ["--batch", "1:64:*2", "--precision", "fp16,int8", "--tp", "1,2", "--kv-block", "16"]
GPUS = ["a100-sxm4-80gb", "rtx-4090", "t4"]
MODELS = ["llama-3.1-8b", "resnet50"]


def printed_rows():
    command = [PROGRAM, "sweep", *(f"--gpu={g}" for g in GPUS), *(f"--model={m}" for m in MODELS), *WORDS, "--format", "csv"]
    environment = {**os.environ, "ROOFCAST_DATA": str(ROOT)}
    text = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


class Sweep(Test):
    @classmethod
    def setUpClass(cls):
        cls.sweep = roofcast.sweep(MODELS, GPUS, **GRID)

    def test_rows_are_those_of_the_program(self):
        rows = printed_rows()
        self.assertEqual(len(self.sweep), len(rows))
        self.assertEqual(self.sweep.grid_points, len(rows))
        self.assertEqual(list(self.sweep.keys()), list(rows[0]))
        for key in ("model", "gpu", "precision"):
            self.assertEqual(list(self.sweep[key]), [row[key] for row in rows])
        for key in ("latency_ms", "tpot_ms", "memory_gb", "batch"):
            expected = numpy.array([float(row[key]) if row[key] else numpy.nan for row in rows])
            numpy.testing.assert_allclose(self.sweep[key], expected, rtol=1e-12)

    def test_types_of_columns(self):
        self.assertEqual(self.sweep["batch"].dtype, numpy.int64)
        self.assertEqual(self.sweep["latency_ms"].dtype, numpy.float64)
        self.assertIsInstance(self.sweep["gpu"], roofcast.Texts)
        self.assertEqual(self.sweep["gpu"].codes.dtype, numpy.int32)
        cannot = self.sweep["reason"] == "nothing like this"
        self.assertFalse(cannot.any())
        self.assertTrue(numpy.isnan(self.sweep["latency_ms"]).any())

    def test_pandas_takes_numbers_in_place(self):
        frame = self.sweep.to_pandas()
        self.assertTrue(numpy.shares_memory(frame["latency_ms"].to_numpy(), self.sweep["latency_ms"]))
        self.assertEqual(frame["gpu"].dtype, "category")
        self.assertEqual(len(frame[frame.gpu == "t4"]), len(frame) // 3)
        best = frame[frame.model == "llama-3.1-8b"].sort_values("tokens_per_s").iloc[-1]
        self.assertEqual(best.batch, 64)
        self.assertIsInstance(frame, pandas.DataFrame)

    def test_columns_can_be_chosen(self):
        few = roofcast.sweep("resnet50", "t4", batch=[1, 2], columns=["batch", "latency_ms"])
        self.assertEqual(list(few.keys()), ["batch", "latency_ms"])
        with self.raises(found="latency"):
            roofcast.sweep("resnet50", "t4", columns=["latency"])
        with self.assertRaisesRegex(KeyError, "did you mean latency_ms"):
            few["latency_m"]

    def test_shards_joined_are_the_whole(self):
        shards = [roofcast.sweep(MODELS, GPUS, **GRID, shard=f"{i}/5") for i in range(1, 6)]
        whole = roofcast.Sweep.concat([pickle.loads(pickle.dumps(shard)) for shard in shards])
        pandas.testing.assert_frame_equal(whole.to_pandas(), self.sweep.to_pandas(), check_categorical=False, check_dtype=False)
        one = roofcast.sweep(MODELS, GPUS, **GRID, threads=1)
        numpy.testing.assert_array_equal(one["latency_ms"], self.sweep["latency_ms"])

    def test_errors_name_keywords(self):
        with self.raises(what="the list has a value twice", key="batch", found="8"):
            roofcast.sweep("resnet50", "t4", batch=[8, 8])
        with self.raises(what="unknown precision", key="precision", found="fp17"):
            roofcast.sweep("resnet50", "t4", precision=["fp16", "fp17"])
        with self.raises(key="shard", found="3/2"):
            roofcast.sweep("resnet50", "t4", shard="3/2")

    def test_other_threads_go_on(self):
        """A thread that counts makes headway while another sweeps: the interpreter is not held."""
        done, counted = threading.Event(), 0

        def work():
            roofcast.sweep("llama-3.1-8b", "h100", batch="1:40", prompt="64:2048:64", threads=1)
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            counted += 1
            time.sleep(0.001)
        thread.join()
        self.assertGreater(counted, 5)

    def test_a_long_sweep_can_be_interrupted(self):
        def interrupt(number, frame):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        start = time.monotonic()
        try:
            with self.assertRaises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                roofcast.sweep("llama-3.1-8b", "h100-sxm5-80gb", batch="1:1000", prompt="1:1000")
        finally:
            signal.signal(signal.SIGALRM, before)
        # The grid would take more than half a minute.
        self.assertLess(time.monotonic() - start, 10)

    def test_it_is_a_mapping_of_columns(self):
        self.assertEqual(list(self.sweep), list(self.sweep.keys()))
        self.assertIn("latency_ms", self.sweep)
        self.assertNotIn("latency", self.sweep)
        with self.assertRaises(KeyError):
            self.sweep[0]
        slow = self.sweep["latency_ms"] > 1
        self.assertEqual(len(self.sweep["gpu"][slow]), int(slow.sum()))

    def test_text_for_people(self):
        self.assertIn(f"Sweep of {len(self.sweep)} points", repr(self.sweep))
        self.assertIn("in every row: kv_block 16", repr(self.sweep))
        self.assertIn("<table>", self.sweep._repr_html_())


if __name__ == "__main__":
    unittest.main()
