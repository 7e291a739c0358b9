"""Nets written as exporters write them agree with the descriptors of `models/`. Usage: onnx_agreement.py PROGRAM FOLDER

Parameters and multiply-adds are equal; latencies are within 1 % on three kinds of GPU in the usual execution modes.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent / "support"))
import onnx_models  # noqa: E402

GPUS = "t4,rtx-4090,h100-sxm"
ENGINES = ["cuda_graph", "compiled", "tensorrt"]
FUSING = ["compiled", "tensorrt"]
ALL = ["eager", *ENGINES]
TOLERANCE = 0.01


class Pair(NamedTuple):
    net: str
    descriptor: str
    modes: list
    of_net: tuple = ()  # options
    of_descriptor: tuple = ()
    precision: str = "fp16"
    time: str = "latency_ms"  # of the descriptor
    parameters: bool = True  # agree
    macs: bool = True


PROMPT, IMAGE = ("--prompt", "512"), ("--image-size", "640")
# Norms that an exporter folded into convolutions leave a bias where there were a scale and a shift, and no kernel of their own: only
# software that folds them too runs the same kernels. The script of YOLOv8 does so before an eager framework runs it.
PAIRS = [
    Pair("resnet50", "resnet50", ALL),
    Pair("resnet50-folded", "resnet50", ["tensorrt"], parameters=False),
    Pair("resnet50-folded-int8", "resnet50", ["tensorrt"], precision="int8", parameters=False),
    Pair("mobilenet-v2", "mobilenet-v2", ALL),
    Pair("efficientnet-b0", "efficientnet-b0", ALL),
    Pair("convnext-tiny", "convnext-tiny", ["eager", "cuda_graph", "tensorrt"]),
    Pair("vit-b-16", "vit-base-patch16-224", ALL),
    Pair("bert-base", "bert-base", ALL, PROMPT, PROMPT),
    Pair("bert-base-fused", "bert-base", ENGINES, PROMPT, PROMPT),  # one projection, of which eager frameworks run three
    Pair("opt-125m", "opt-125m", ALL, PROMPT, PROMPT, time="ttft_ms"),
    Pair("llama-3.2-1b", "llama-3.2-1b", ALL, (*PROMPT, "--dim", "past_sequence_length=0"), PROMPT, time="ttft_ms"),
    Pair("llama-3.2-1b", "llama-3.2-1b", ENGINES, ("--prompt", "1", "--dim", "past_sequence_length=511"),
         ("--prompt", "511", "--generate", "2"), time="tpot_ms", macs=False),
    Pair("yolov8n", "yolov8n", ENGINES, IMAGE, IMAGE),
    Pair("yolov8n-folded", "yolov8n", ["eager", *FUSING], IMAGE, IMAGE, parameters=False),
]


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def latencies(program, model, options, pair, time):
    """By GPU, mode and batch."""
    common = ["--gpu", GPUS, "--execution", ",".join(pair.modes), "--batch", "1,16", "--precision", pair.precision, "--format", "csv"]
    found = {}
    for row in csv.DictReader(io.StringIO(run(program, "sweep", "--model", model, *common, *options))):
        assert row["reason"] == "", f"{model}: {row['reason']}"
        found[row["gpu"], row["execution"], row["batch"]] = float(row[time])
    return found


def figures(program, model, options=()):
    answer = json.loads(run(program, "model", "show", model, "--format", "json", *options))
    return answer["parameters"], answer["gmacs"]


def main(program, folder):
    onnx_models.main(folder)
    differences, ratios = [], []
    for pair in PAIRS:
        file = str(Path(folder) / f"{pair.net}.onnx")
        ours, theirs = figures(program, file, pair.of_net), figures(program, pair.descriptor)
        if (pair.macs and ours[1] != theirs[1]) or (pair.parameters and ours[0] != theirs[0]):
            differences.append(f"{pair.net}: {ours} parameters and GMACs, {theirs} of {pair.descriptor}")
        expected = latencies(program, pair.descriptor, pair.of_descriptor, pair, pair.time)
        found = latencies(program, file, pair.of_net, pair, "latency_ms")
        assert found.keys() == expected.keys()
        ratios += [(found[place] / expected[place], pair.net, *place) for place in expected]
    beyond = [ratio for ratio in ratios if abs(ratio[0] - 1) > TOLERANCE]
    differences += [f"{ratio[0]:.4f} of the descriptor's latency: {' '.join(ratio[1:])}" for ratio in beyond]
    print("\n".join(differences))
    print(f"{len(ratios)} latencies, {len(beyond)} beyond {TOLERANCE:.0%}; largest deviation {max(abs(r[0] - 1) for r in ratios):.2%}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
