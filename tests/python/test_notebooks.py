"""The notebooks of examples/ run from the first cell to the last."""

import os
import pathlib
import sys
import unittest

import nbformat
import roofcast
from nbconvert.preprocessors import ExecutePreprocessor
from support import ROOT, Test


class Notebooks(Test):
    def executed(self, name):
        # Whatever interpreter the installed kernel names, it imports this package.
        os.environ["PYTHONPATH"] = str(pathlib.Path(roofcast.__file__).parent.parent)
        os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
        os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        notebook = nbformat.read(ROOT / "examples" / name, as_version=4)
        for cell in notebook.cells:
            self.assertFalse(cell.get("outputs"), f"{name} is kept without outputs")
        ExecutePreprocessor(timeout=60, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(ROOT / "examples")}})
        return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]

    def check(self, name, pages, words):
        outputs = self.executed(name)
        self.assertFalse([output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"])
        html = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
        self.assertGreaterEqual(len(html), pages)
        texts = "\n".join(html + [output.text for output in outputs if output.output_type == "stream"])
        for word in words:
            self.assertIn(word, texts)
        self.assertNotIn("<script", texts)

    def test_which_gpu(self):
        self.check("which_gpu.ipynb", 5, ["USD an hour", "ms a token", "Cheapest GPUs for Llama 3.1 8B"])

    def test_calibrate(self):
        self.check("calibrate.ipynb", 4, ["on rows that the fit did not see", "better", "ms before"])


if __name__ == "__main__":
    unittest.main()
