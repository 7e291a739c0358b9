"""The command line of measure_operators.py."""
import argparse
import datetime
import sys
import time

from . import measured_shapes, operators as o
from .campaign import each
from .command import positive, words
from .rows import FileError, RowFile, number
from .statistics import statistics

SHAPE_COLUMNS = (
    "batch,m,n,k,in_channels,height,width,out_channels,kernel_size,stride,padding,groups,layout,heads,kv_heads,head_dim,query_len,kv_len,causal,"
    "elements,rows,cols"
).split(",")
IDENTITY = ["op", "precision", "function", *SHAPE_COLUMNS, "cache"]
STATISTICS = ("std", "mean", "min", "max", "p95", "p99")
COLUMNS = ["gpu", *IDENTITY, "launch", "latency_us", *(f"latency_{s}_us" for s in STATISTICS), "runs", "software", "source"]
SOURCE = "roofcast measure_operators"


def operator_cells(op):
    cells = {column: "" for column in IDENTITY}
    kind = "gemm" if op.kind in ("linear", "bmm") else op.kind
    cells.update(op=kind, precision=op.precision, cache=op.cache, **{column: str(value) for column, value in op.cells})
    return cells


def operator_row(op, gpu, software, samples_us):
    s = statistics(samples_us)
    row = {"gpu": gpu, **operator_cells(op), "launch": "excluded", "latency_us": number(s["median"]), "runs": str(s["runs"])}
    return {**row, **{f"latency_{k}_us": number(s[k]) for k in STATISTICS}, "software": software, "source": SOURCE}


def parser():
    p = argparse.ArgumentParser(prog="measure_operators.py", description="Times PyTorch's operators, launch cost excluded; writes rows for roofcast.")
    p.add_argument("--operators", type=words(o.OPERATORS), help=f"of {', '.join(o.OPERATORS)} (default: all)")
    p.add_argument("--precisions", type=words(o.PRECISIONS), help="of fp32, tf32, bf16, fp16 (default: all)")
    p.add_argument("--shapes", type=lambda text: text.split(","), metavar="FILES",
                   help="measured rows, separated by commas, whose operators to time in place of the designed cases")
    p.add_argument("--budget", type=positive, help="seconds (default: all cases)")
    p.add_argument("--seed", type=int, default=1, help="of shapes and data (default: 1)")
    p.add_argument("--gpu", help="what to write as the GPU, an id of `roofcast gpu list` (default: the driver's name)")
    p.add_argument("--output", default="operators.csv", help="rows (default: operators.csv)")
    p.add_argument("--resume", action="store_true", help="continue the file of a run that was cut")
    p.add_argument("--list", action="store_true", help="print the cases; needs no torch")
    return p


def run(cases, measure, gpu, software, rows, budget, message, clock=time.monotonic):
    """Measures by `measure(op) -> microseconds of each replay` until the cases, or `budget` seconds, are spent."""
    begin = clock()
    return each(
        cases, operator_cells, rows, lambda op: budget is None or clock() - begin < budget,
        lambda op: rows.append([operator_row(op, gpu, software, measure(op))]), message
    )


def chosen(options):
    if not options.shapes:
        return o.operators(options.operators, options.precisions, options.seed)
    cases, passed_over = measured_shapes.read(options.shapes, options.operators, options.precisions, options.seed)
    if passed_over:
        names = ", ".join(options.shapes)
        print(f"measure_operators.py: {passed_over} rows of {names} are passed over: operators, formats or sizes that it does not time", file=sys.stderr)
    return cases


def main(arguments):
    options = parser().parse_args(arguments)
    try:
        cases = chosen(options)
    except FileError as error:
        print(f"measure_operators.py: {error}", file=sys.stderr)
        return 2
    if options.list:
        total = sum(o.expected_seconds(op) for op in cases)
        print("\n".join([f"{o.expected_seconds(op):8.2f} s  {op.label()}" for op in cases] + ["", f"total {len(cases)} cases, {total:.0f} s expected"]))
        return 0
    try:
        from .operator_session import OperatorSession
    except ImportError as error:
        print(f"measure_operators.py: PyTorch is needed to measure ({error}); --list works without it", file=sys.stderr)
        return 1
    session = OperatorSession(options.seed)
    comments = ["measure_operators: medians of CUDA graph replays between events, launch cost excluded", f"GPU: {session.gpu_name}",
                f"software: {session.software}", f"date: {datetime.date.today().isoformat()}"]
    try:
        rows = RowFile(options.output, comments, options.resume, COLUMNS, IDENTITY)
        measured, failed, there = run(cases, session.measure, options.gpu or session.gpu_name, session.software, rows, options.budget,
                                      lambda text: print(text, file=sys.stderr))
    except FileError as error:
        print(f"measure_operators.py: {error}", file=sys.stderr)
        return 2
    print(f"{measured} cases measured, {failed} not possible, {there} already there; rows in {options.output}", file=sys.stderr)
    return 0 if measured + there > 0 else 1
