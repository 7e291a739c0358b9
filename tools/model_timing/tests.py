"""Tests of the host logic: no torch, no GPU. Run by ctest: python3 -m unittest model_timing.tests."""
import io
import json
import os
import tempfile
import types
import unittest
from contextlib import redirect_stderr, redirect_stdout

from . import cases as c
from . import measured_shapes, operator_command, operators
from .campaign import CaseError, run
from .command import main
from .rows import COLUMNS, FileError, JsonFile, RowFile, case_cells, metric_rows
from .statistics import percentile, statistics

RESNET = next(m for m in c.MODELS if m.id == "resnet50")
LLAMA = next(m for m in c.MODELS if m.id == "llama-3.1-8b")


def case(batch=1, precision="bf16"):
    return c.Case(RESNET, precision, batch, "forward", "eager")


class StatisticsTest(unittest.TestCase):
    def test_figures_worked_out_by_hand(self):
        # Mean 12; squares 4 + 1 + 0 + 1 + 4 = 10 over 4; P95 at position 3.8 of 10 ... 14.
        s = statistics([14, 10, 12, 11, 13])
        self.assertEqual((s["mean"], s["median"], s["min"], s["max"], s["runs"]), (12, 12, 10, 14, 5))
        self.assertAlmostEqual(s["std"], 2.5**0.5)
        self.assertAlmostEqual(s["p95"], 13.8)

    def test_one_value_has_no_deviation(self):
        self.assertEqual(statistics([3.0])["std"], 0)
        self.assertEqual(percentile([3.0], 0.99), 3.0)


class CasesTest(unittest.TestCase):
    def test_every_model_and_mode_is_there(self):
        found = c.cases(c.Selection())
        self.assertEqual({x.model.id for x in found}, {m.id for m in c.MODELS})
        self.assertEqual({x.execution for x in found}, set(c.EXECUTIONS))
        self.assertEqual({x.phase for x in found}, {"forward", "prefill", "decode"})
        self.assertEqual(len(found), len(set(found)))

    def test_selection_narrows(self):
        found = c.cases(c.Selection(models=("resnet50",), precisions=("fp16",), executions=("eager",), batches=(1, 8)))
        self.assertEqual(sorted(x.batch for x in found), [1, 8])

    def test_prompts_stay_within_reason(self):
        for x in c.cases(c.Selection(phases=("prefill",))):
            self.assertLessEqual(x.batch * x.tokens, 32768)


class RowsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "rows.csv")

    def tearDown(self):
        self.folder.cleanup()

    def test_decode_rows_say_what_they_start_from(self):
        cells = case_cells(c.Case(LLAMA, "int8", 4, "decode", "cuda_graph", 1024))
        self.assertEqual((cells["precision"], cells["weight_precision"]), ("bf16", "int8"))
        self.assertEqual((cells["prompt_tokens"], cells["output_tokens"]), ("1024", "2"))

    def test_only_metrics_of_the_format_become_rows(self):
        metrics = {"latency_ms": statistics([5.0, 6.0]), "first_call_ms": statistics([900.0]), "memory_gb": statistics([2.5])}
        rows = list(metric_rows(case(), "h200", "pytorch", metrics))
        self.assertEqual([r["metric"] for r in rows], ["latency_ms", "memory_gb"])
        self.assertEqual(rows[0]["value"], "5.5")
        self.assertNotIn("value_std", rows[1])
        self.assertLessEqual(set(rows[0]), set(COLUMNS))

    def test_rows_of_convolutional_networks_say_their_layout(self):
        image = c.Case(next(m for m in c.MODELS if m.id == "resnet50"), "fp16", 1, "forward", "eager")
        language = c.Case(LLAMA, "bf16", 1, "decode", "eager", 128)
        software = [row["software"] for case in (image, language) for row in metric_rows(case, "h200", "pytorch 2", {"latency_ms": statistics([5.0])})]
        self.assertEqual(software, ["pytorch 2 nhwc", "pytorch 2"])

    def test_a_cut_row_is_dropped_on_resume(self):
        file = RowFile(self.path, ["comment"], False)
        for batch in (1, 2):
            file.append(metric_rows(case(batch), "h200", "pytorch", {"latency_ms": statistics([5.0])}))
        os.truncate(self.path, os.path.getsize(self.path) - 5)
        again = RowFile(self.path, [], True)
        self.assertTrue(again.contains(case_cells(case(1))))
        self.assertFalse(again.contains(case_cells(case(2))))
        self.assertFalse(again.contains(case_cells(case(1, "fp16"))))

    def test_files_are_not_overwritten(self):
        RowFile(self.path, [], False)
        with self.assertRaisesRegex(FileError, "--resume"):
            RowFile(self.path, [], False)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("a,b\n")
        with self.assertRaisesRegex(FileError, "other columns"):
            RowFile(self.path, [], True)


class CampaignTest(unittest.TestCase):
    def test_a_failing_case_does_not_end_the_run(self):
        def measure(x):
            if x.batch == 2:
                raise CaseError("out of memory")
            return {"latency_ms": statistics([float(x.batch)])}

        with tempfile.TemporaryDirectory() as folder:
            rows = RowFile(os.path.join(folder, "r.csv"), [], False)
            samples = JsonFile(os.path.join(folder, "r.json"), False)
            messages = []
            settings = types.SimpleNamespace(budget=None, runs=1)
            wanted = [case(b) for b in (1, 2, 4)]
            self.assertEqual(run(wanted, measure, "h200", "pytorch", rows, samples, settings, messages.append), (2, 1, 0))
            self.assertEqual(run(wanted, measure, "h200", "pytorch", rows, samples, settings, messages.append), (0, 1, 2))
            self.assertIn("batch=2: out of memory", messages[0])
            with open(samples.path, encoding="utf-8") as file:
                self.assertEqual(json.load(file)[case(4).label()]["latency_ms"]["median"], 4)

    def test_cases_longer_than_the_budget_left_are_passed_over(self):
        settings = types.SimpleNamespace(budget=1, runs=1)
        with tempfile.TemporaryDirectory() as folder:
            rows = RowFile(os.path.join(folder, "r.csv"), [], False)
            samples = JsonFile(os.path.join(folder, "r.json"), False)
            self.assertEqual(run([case()], lambda x: self.fail(), "h200", "", rows, samples, settings, print), (0, 0, 0))


class OperatorsTest(unittest.TestCase):
    def test_shapes_stay_when_fewer_kinds_are_chosen(self):
        every = operators.operators(None, None, 1)
        self.assertEqual({op.kind for op in every}, set(operators.OPERATORS))
        some = operators.operators(("softmax",), ("bf16",), 1)
        self.assertEqual(some, [op for op in every if op.kind == "softmax" and op.precision == "bf16"])
        self.assertNotEqual(some, operators.operators(("softmax",), ("bf16",), 2))

    def test_shapes_are_possible(self):
        for op in operators.operators(None, None, 3):
            flops, moved = operators.work(op)
            self.assertGreater(flops, 0)
            self.assertLessEqual(moved, operators.LARGEST_BYTES)
            if op.kind == "conv2d":
                self.assertEqual(op["in_channels"] % op["groups"], 0)
            if op.kind == "attention":
                self.assertIn(op.precision, ("bf16", "fp16"))

    def test_work_of_a_product_and_a_convolution(self):
        gemm = operators.Operator("linear", "fp16", "warm", (("batch", 1), ("m", 2), ("n", 3), ("k", 5)))
        self.assertEqual(operators.work(gemm), (60, 2 * (10 + 15 + 6)))
        shape = dict(batch=1, in_channels=4, height=8, width=8, out_channels=6, kernel_size=3, stride=2, padding=1, groups=1)
        conv = operators.Operator("conv2d", "fp32", "cold", tuple(shape.items()))
        self.assertEqual(operators.work(conv), (2 * 16 * 6 * 36, 4 * (64 * 4 + 16 * 6 + 6 * 36)))

    def test_rows_and_resume(self):
        ops = operators.operators(("linear",), ("fp32",), 1)[:3]

        def measure(op):
            if op is ops[1]:
                raise CaseError("out of memory")
            return [3.0, 5.0]

        with tempfile.TemporaryDirectory() as folder:
            path, messages = os.path.join(folder, "o.csv"), []
            rows = RowFile(path, ["comment"], False, operator_command.COLUMNS, operator_command.IDENTITY)
            self.assertEqual(operator_command.run(ops, measure, "h100", "pytorch", rows, None, messages.append), (2, 1, 0))
            self.assertIn("out of memory", messages[0])
            again = RowFile(path, [], True, operator_command.COLUMNS, operator_command.IDENTITY)
            self.assertEqual(operator_command.run(ops, measure, "h100", "pytorch", again, None, print), (0, 1, 2))
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        self.assertEqual(len(lines), 4)
        self.assertIn("h100,gemm,fp32,linear", lines[2])
        self.assertIn(",excluded,4,", lines[2])

    def test_the_budget_ends_the_run(self):
        clock = iter(range(100))
        with tempfile.TemporaryDirectory() as folder:
            rows = RowFile(os.path.join(folder, "o.csv"), [], False, operator_command.COLUMNS, operator_command.IDENTITY)
            ops = operators.operators(("linear",), ("fp32",), 1)
            self.assertEqual(operator_command.run(ops, lambda op: [1.0], "h100", "", rows, 3, print, lambda: next(clock)), (2, 0, 0))

    def test_list_needs_no_torch(self):
        out = io.StringIO()
        with redirect_stdout(out):
            self.assertEqual(operator_command.main(["--list", "--operators", "softmax", "--precisions", "fp16"]), 0)
        self.assertIn("softmax fp16", out.getvalue())
        self.assertIn(f"total {operators.SHAPES['softmax']} cases", out.getvalue())


class MeasuredShapesTest(unittest.TestCase):
    HEADER = "gpu,op,precision,function,batch,m,n,k,in_channels,height,width,out_channels,kernel_size,rows,cols,elements,latency_us,cache"
    LINEAR = "v100,gemm,fp32,linear,,3,4,5,,,,,,,,,7,warm"
    CONV = "v100,conv2d,fp32,fft,2,,,,8,9,9,16,3,,,,7,cold"

    def read(self, *rows, kinds=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(("# comment", self.HEADER) + rows) + "\n")
            return measured_shapes.read([path], kinds, None, 1)

    def test_rows_become_operators_and_their_own_rows_again(self):
        found, passed_over = self.read(self.LINEAR, self.CONV, "v100,softmax,fp32,,,,,,,,,,,6,7,,7,")
        self.assertEqual(passed_over, 0)
        by_kind = {op.kind: operator_command.operator_cells(op) for op in found}
        self.assertEqual([by_kind["linear"][c] for c in "mnk"], ["3", "4", "5"])
        self.assertEqual((by_kind["linear"]["function"], by_kind["linear"]["batch"], by_kind["linear"]["cache"]), ("linear", "1", "warm"))
        conv = by_kind["conv2d"]
        self.assertEqual((conv["function"], conv["stride"], conv["padding"], conv["groups"], conv["layout"]), ("", "1", "0", "1", "nchw"))
        self.assertEqual((conv["cache"], by_kind["softmax"]["rows"]), ("cold", "6"))

    def test_equal_shapes_are_timed_once_and_others_counted(self):
        unknown = "v100,moe,fp32,,,,,,,,,,,,,,7,"
        found, passed_over = self.read(self.LINEAR, self.LINEAR, unknown, self.CONV.replace("9,9", "9,8"), self.LINEAR.replace("fp32", "fp64"))
        self.assertEqual((len(found), passed_over), (1, 3))

    def test_what_would_be_timed_as_something_else_is_passed_over(self):
        header = self.HEADER.split(",")
        batch, cache = header.index("batch"), header.index("cache")

        def with_cell(column, text):
            cells = self.LINEAR.split(",")
            cells[column] = text
            return ",".join(cells)

        found, passed_over = self.read(self.LINEAR, with_cell(batch, "7"), with_cell(cache, "rotated"), with_cell(header.index("function"), ""))
        self.assertEqual((len(found), passed_over), (1, 2))  # a GEMM without a name is linear

    def test_kinds_can_be_chosen(self):
        found, passed_over = self.read(self.LINEAR, self.CONV, kinds=("conv2d",))
        self.assertEqual(([op.kind for op in found], passed_over), (["conv2d"], 0))

    def test_a_row_without_its_sizes_is_an_error(self):
        for text in ("x", "-3", "0", ""):
            with self.assertRaisesRegex(FileError, f"rows.csv:4: 'm' of gemm: found '{text}', expected a whole number of at least 1"):
                self.read(self.CONV, self.LINEAR.replace(",3,", f",{text},"))
        with self.assertRaisesRegex(FileError, "'kernel_size' of conv2d: found 30"):
            self.read(self.CONV.replace(",3,,", ",30,,"))
        with self.assertRaisesRegex(FileError, "no row of an operator"):
            self.read(self.LINEAR.replace("gemm", "moe"))
        with self.assertRaisesRegex(FileError, "No such file"):
            measured_shapes.read(["/nowhere/rows.csv"], None, None, 1)


class CommandTest(unittest.TestCase):
    def test_list_needs_no_torch(self):
        out = io.StringIO()
        with redirect_stdout(out):
            self.assertEqual(main(["--list", "--models", "bert-base", "--executions", "eager", "--precisions", "fp16"]), 0)
        self.assertIn("bert-base fp16 forward eager batch=1 tokens=128", out.getvalue())
        self.assertIn("total 18 cases", out.getvalue())

    def test_shapes_of_a_file_are_listed(self):
        rows = os.path.join(os.path.dirname(__file__), "..", "..", "validation_data", "kernels", "t4_fp32_pytorch.csv")
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            self.assertEqual(operator_command.main(["--list", "--operators", "softmax", "--shapes", rows]), 0)
            self.assertEqual(operator_command.main(["--list", "--shapes", "/nowhere.csv"]), 2)
        self.assertIn("total 100 cases", out.getvalue())
        self.assertIn("/nowhere.csv: No such file", err.getvalue())

    def test_unknown_names_are_refused(self):
        err = io.StringIO()
        with redirect_stderr(err), self.assertRaises(SystemExit) as stop:
            main(["--list", "--models", "bert-bse"])
        self.assertEqual(stop.exception.code, 2)
        self.assertIn("found 'bert-bse'", err.getvalue())


if __name__ == "__main__":
    unittest.main()
