"""Shapes between operators are those that the ONNX library infers. Usage: onnx_shapes.py ONNX_SHAPES FOLDER

ONNX_SHAPES is the program of tests/support/onnx_shapes.cpp. Nets get fixed sizes, since the library does not compute with symbols.
"""

import subprocess
import sys
from pathlib import Path

import onnx
from onnx import shape_inference

sys.path.insert(0, str(Path(__file__).parent / "support"))
import onnx_models  # noqa: E402

SIZES = {"batch": 2, "batch_size": 2, "sequence_length": 24, "past_sequence_length": 8, "past_sequence_length + sequence_length": 32,
         "height": 640, "width": 640}


def inferred(file, folder):
    """The net of `file` with numbers for symbols, and the shapes that the library finds."""
    model = onnx.load(file, load_external_data=False)
    for value in model.graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param:
                dimension.dim_value = SIZES[dimension.dim_param]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    stated = folder / f"{Path(file).stem}-stated.onnx"
    onnx.save(shape_inference.infer_shapes(model, data_prop=True), str(stated))
    return str(stated)


def main(program, folder):
    onnx_models.main(folder)
    files = [inferred(file, Path(folder)) for file in sorted(Path(folder).glob("*.onnx")) if "-stated" not in file.name]
    return subprocess.run([program, *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
