"""Operators of a measurement file: what another GPU, or another program, ran is timed here. No torch."""
import csv
import random

from . import operators as o
from .rows import FileError

PRODUCTS = ("linear", "linear_bias", "bmm")
COLUMNS = {
    "gemm": ("m", "n", "k"),
    "conv2d": ("in_channels", "height", "width", "out_channels", "kernel_size"),
    "softmax": ("rows", "cols"),
    "layernorm": ("rows", "cols"),
    "rmsnorm": ("rows", "cols"),
    "elementwise": ("elements",),
}  # that a row of an operator must give


def whole(row, column, default=None):
    text = row.get(column) or default
    return text if isinstance(text, int) else int(text)


def shape(row):
    """The cells of a row's operator beside its precision, or None where measure_operators does not run such an operator."""
    kind, function = row.get("op"), row.get("function")
    if kind not in COLUMNS:
        return None
    cells = {column: whole(row, column) for column in COLUMNS[kind]}
    if kind == "gemm":
        return {"function": function, "batch": whole(row, "batch", 1), **cells} if function in PRODUCTS else None
    if kind == "conv2d":  # its function is the algorithm that was seen there
        kernel = cells["kernel_size"]
        given = {"stride": 1, "padding": kernel // 2, "groups": 1}
        layout = {"layout": row.get("layout") or "nchw"}
        square = cells["height"] == cells["width"]
        return {"batch": whole(row, "batch", 1), **cells, **{c: whole(row, c, d) for c, d in given.items()}, **layout} if square else None
    if kind == "elementwise":
        return {"function": function, **cells} if function in o.UNARY + o.BINARY + o.WITH_A_SCALAR else None
    return cells


def operator(row):
    """None where it cannot be run."""
    cells = shape(row)
    if cells is None or row.get("precision") not in o.PRECISIONS:
        return None
    kind = cells["function"].removesuffix("_bias") if row["op"] == "gemm" else row["op"]
    found = o.Operator(kind, row["precision"], "cold" if row.get("cache") == "cold" else "warm", tuple(cells.items()))
    return found if o.offered(found) else None


def read(paths, selection_kinds, selection_precisions, seed):
    """(operators of the files without duplicates, in random but fixed order, and how many rows are none). Raises FileError."""
    found, passed_over = {}, 0
    for path in paths:
        try:
            with open(path, newline="", encoding="utf-8-sig") as file:
                rows = csv.DictReader(line for line in file if not line.startswith("#"))
                for number, row in enumerate(rows, 1):
                    try:
                        op = operator(row)
                    except (TypeError, ValueError) as error:
                        raise FileError(f"{path}, row {number}: a size of '{row.get('op')}' is missing or no whole number ({error})") from error
                    if op is None:
                        passed_over += 1
                    elif op.kind in (selection_kinds or o.OPERATORS) and op.precision in (selection_precisions or o.PRECISIONS):
                        found[op] = None
        except OSError as error:
            raise FileError(f"{path}: {error.strerror}") from error
    ordered = list(found)
    random.Random(seed).shuffle(ordered)
    return ordered, passed_over
