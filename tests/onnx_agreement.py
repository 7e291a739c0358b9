"""Nets written as exporters write them agree with the descriptors of `models/`. Usage: onnx_agreement.py PROGRAM FOLDER

Parameters and multiply-adds are equal; latencies are within 1 % on three kinds of GPU in the usual execution modes.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
import onnx_models  # noqa: E402

GPUS = "t4,rtx-4090,h100-sxm"
ENGINES = ["cuda_graph", "compiled", "tensorrt"]
FUSING = ["compiled", "tensorrt"]
TOLERANCE = 0.01
# Net, descriptor, options, execution modes, whether parameters agree. Norms that an exporter folded into convolutions leave a bias where
# there were a scale and a shift, and no kernel of their own: only software that folds them too runs the same kernels.
PAIRS = [
    ("resnet50", "resnet50", [], ["eager", *ENGINES], True),
    ("resnet50-folded", "resnet50", [], ["tensorrt"], False),
    ("mobilenet-v2", "mobilenet-v2", [], ["eager", *ENGINES], True),
    ("efficientnet-b0", "efficientnet-b0", [], ["eager", *ENGINES], True),
    ("vit-b-16", "vit-base-patch16-224", [], ["eager", *ENGINES], True),
    ("bert-base", "bert-base", ["--prompt", "512"], ["eager", *ENGINES], True),
    ("opt-125m", "opt-125m", ["--prompt", "512"], ["eager", *ENGINES], True),
    # The descriptor's own script folds the norms before an eager framework runs it.
    ("yolov8n", "yolov8n", ["--image-size", "640"], ENGINES, True),
    ("yolov8n-folded", "yolov8n", ["--image-size", "640"], ["eager", *FUSING], False),
]


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def rows(program, model, options, modes, key):
    """Latencies by GPU, mode and batch."""
    common = ["--gpu", GPUS, "--execution", ",".join(modes), "--batch", "1,16", "--precision", "fp16", "--format", "csv"]
    table = csv.DictReader(io.StringIO(run(program, "sweep", "--model", model, *common, *options)))
    found = {}
    for row in table:
        assert row["reason"] == "", f"{model}: {row['reason']}"
        found[row["gpu"], row["execution"], row["batch"]] = float(row[key])
    return found


def figures(program, model, options=()):
    answer = json.loads(run(program, "model", "show", model, "--format", "json", *options))
    return answer["parameters"], answer["gmacs"]


def main(program, folder):
    onnx_models.main(folder)
    differences, ratios = [], []
    for net, descriptor, options, modes, counts in PAIRS:
        file = str(Path(folder) / f"{net}.onnx")
        ours, theirs = figures(program, file, options), figures(program, descriptor)
        if ours[1] != theirs[1] or (counts and ours[0] != theirs[0]):
            differences.append(f"{net}: {ours} parameters and GMACs, {theirs} of {descriptor}")
        expected = rows(program, descriptor, options, modes, "ttft_ms" if descriptor.startswith("opt") else "latency_ms")
        latencies = rows(program, file, options, modes, "latency_ms")
        assert latencies.keys() == expected.keys()
        ratios += [(latencies[place] / expected[place], net, *place) for place in expected]
    beyond = [ratio for ratio in ratios if abs(ratio[0] - 1) > TOLERANCE]
    differences += [f"{ratio[0]:.4f} of the descriptor's latency: {' '.join(ratio[1:])}" for ratio in beyond]
    print("\n".join(differences))
    print(f"{len(ratios)} latencies, {len(beyond)} beyond {TOLERANCE:.0%}; largest deviation {max(abs(r[0] - 1) for r in ratios):.2%}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
