"""The command line."""
import argparse
import sys

from . import cases as c
from .campaign import run
from .rows import FileError, JsonFile, RowFile


def words(known):
    """An argparse type: names separated by commas."""

    def parse(text):
        names = tuple(text.split(","))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"found '{unknown[0]}', expected of {', '.join(known)}")
        return names

    return parse


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected 1 or more")
    return value


def batches(text):
    return tuple(positive(word) for word in text.split(","))


def parser():
    p = argparse.ArgumentParser(prog="measure_models.py", description="Times whole models with random weights; writes rows for roofcast.")
    p.add_argument("--models", type=words([m.id for m in c.MODELS]), help="names separated by commas (default: all)")
    p.add_argument("--precisions", type=words(c.PRECISIONS), help="of fp32, tf32, bf16, fp16, int8 (weights only)")
    p.add_argument("--executions", type=words(c.EXECUTIONS), help="of eager, compiled, cuda_graph")
    p.add_argument("--phases", type=words(("forward", "prefill", "decode")), help="of forward, prefill, decode")
    p.add_argument("--batches", type=batches, help="of 1, 2, 4, ... 256")
    p.add_argument("--runs", type=positive, default=30, help="timed runs of a case (default: 30)")
    p.add_argument("--warmup", type=positive, default=5, help="runs before them (default: 5)")
    p.add_argument("--no-warmup", action="store_true", help="time from the first call on")
    p.add_argument("--budget", type=positive, help="seconds; cases that should take longer than what is left are passed over")
    p.add_argument("--seed", type=int, default=1, help="of weights and inputs (default: 1)")
    p.add_argument("--gpu", help="what to write as the GPU, an id of `roofcast gpu list` (default: the driver's name)")
    p.add_argument("--output", default="models.csv", help="rows (default: models.csv)")
    p.add_argument("--json", help="all samples, and first-call times (default: OUTPUT with .json for .csv)")
    p.add_argument("--resume", action="store_true", help="continue the files of a run that was cut")
    p.add_argument("--list", action="store_true", help="print the cases and how long they should take; needs no torch")
    return p


def listing(chosen, runs):
    total = sum(c.expected_seconds(case, runs) for case in chosen)
    lines = [f"{c.expected_seconds(case, runs):8.1f} s  {case.label()}" for case in chosen]
    return "\n".join(lines + ["", f"total {len(chosen)} cases, {total / 60:.0f} minutes expected on a middling GPU"])


def measure_all(options, chosen):
    try:
        from .session import Session
    except ImportError as error:
        print(f"measure_models.py: PyTorch is needed to measure ({error}); --list works without it", file=sys.stderr)
        return 1
    session = Session(runs=options.runs, warmup=0 if options.no_warmup else options.warmup, seed=options.seed)
    gpu = options.gpu or session.gpu_name
    json_path = options.json or options.output.removesuffix(".csv") + ".json"
    rows = RowFile(options.output, session.description(), options.resume)
    measured, failed, there = run(
        chosen, session.measure, gpu, session.software, rows, JsonFile(json_path, options.resume), options, lambda text: print(text, file=sys.stderr)
    )
    print(f"{measured} cases measured, {failed} not possible, {there} already there; rows in {options.output}", file=sys.stderr)
    return 0 if measured + there > 0 else 1


def main(arguments):
    options = parser().parse_args(arguments)
    selection = c.Selection(options.models, options.precisions, options.executions, options.phases, options.batches)
    chosen = c.cases(selection)
    if options.list:
        print(listing(chosen, options.runs))
        return 0
    try:
        return measure_all(options, chosen)
    except FileError as error:
        print(f"measure_models.py: {error}", file=sys.stderr)
        return 2
