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
MODES = "eager,cuda_graph,compiled,tensorrt"
TOLERANCE = 0.01
# Net, descriptor, options of both, options of the net alone.
PAIRS = [
    ("resnet50", "resnet50", [], []),
    ("mobilenet-v2", "mobilenet-v2", [], []),
    ("efficientnet-b0", "efficientnet-b0", [], []),
    ("vit-b-16", "vit-base-patch16-224", [], []),
    ("bert-base", "bert-base", ["--prompt", "128"], []),
    ("opt-125m", "opt-125m", ["--prompt", "512"], []),
    ("yolov8n", "yolov8n", ["--image-size", "640"], []),
]


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def rows(program, model, options, key):
    """Latencies by GPU, mode and batch."""
    common = ["--gpu", GPUS, "--execution", MODES, "--batch", "1,16", "--precision", "fp16", "--format", "csv"]
    table = csv.DictReader(io.StringIO(run(program, "sweep", "--model", model, *common, *options)))
    found = {}
    for row in table:
        assert row["reason"] == "", f"{model}: {row['reason']}"
        found[row["gpu"], row["execution"], row["batch"]] = float(row[key])
    return found


def figures(program, model, options):
    answer = json.loads(run(program, "model", "show", model, "--format", "json", *options))
    return answer["parameters"], answer["gmacs"]


def main(program, folder):
    onnx_models.main(folder)
    worst = []
    for net, descriptor, options, own in PAIRS:
        file = str(Path(folder) / f"{net}.onnx")
        language = descriptor.startswith("opt")
        theirs = rows(program, descriptor, options, "ttft_ms" if language else "latency_ms")
        ours = rows(program, file, options + own, "latency_ms")
        assert ours.keys() == theirs.keys()
        for place, latency in ours.items():
            worst.append((abs(latency / theirs[place] - 1), latency / theirs[place], net, *place))
    worst.sort(reverse=True)
    bad = [entry for entry in worst if entry[0] > TOLERANCE]
    for entry in bad or worst[:3]:
        print(f"{entry[1]:.4f}  {' '.join(entry[2:])}")
    print(f"{len(worst)} latencies, {len(bad)} beyond {TOLERANCE:.0%}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
