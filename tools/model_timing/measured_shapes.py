"""Operators of a measurement file: what another GPU, or another program, ran is timed here. No torch."""
import csv
import random

from . import operators as o
from .rows import FileError

GEMMS = ("linear", "linear_bias", "bmm")
COLUMNS = {
    "gemm": ("m", "n", "k"),
    "conv2d": ("in_channels", "height", "width", "out_channels", "kernel_size"),
    "softmax": ("rows", "cols"),
    "layernorm": ("rows", "cols"),
    "rmsnorm": ("rows", "cols"),
    "elementwise": ("elements",),
}  # that a row of an operator must give; attention is not taken from rows


class SizeError(Exception):
    """A size of a row that is missing or makes no sense."""


def whole(row, column, default=None, least=1):
    """A size of the measurement format; `default` where the cell is empty."""
    text = row.get(column) or ""
    if not text and default is not None:
        return default
    if not text.isdecimal() or int(text) < least:
        raise SizeError(f"'{column}' of {row.get('op')}: found '{text}', expected a whole number of at least {least}")
    return int(text)


def gemm(row, cells):
    """Several at once are timed as `bmm` only."""
    function, batch = row.get("function") or "linear", whole(row, "batch", 1)
    if function not in GEMMS or (function != "bmm" and batch > 1):
        return None
    return {"function": function, "batch": batch, **cells}


def convolution(row, cells):
    """Square maps only. `function` is the algorithm that was seen there."""
    given = {"stride": whole(row, "stride", 1), "padding": whole(row, "padding", 0, least=0), "groups": whole(row, "groups", 1)}
    if cells["kernel_size"] > cells["height"] + 2 * given["padding"]:
        raise SizeError(f"'kernel_size' of conv2d: found {cells['kernel_size']}, expected no more than the padded map has")
    if cells["height"] != cells["width"]:
        return None
    return {"batch": whole(row, "batch", 1), **cells, **given, "layout": row.get("layout") or "nchw"}


def shape(row):
    """The cells of a row's operator without its precision, or None where no such operator is timed. Raises SizeError."""
    kind = row.get("op")
    if kind not in COLUMNS:
        return None
    cells = {column: whole(row, column) for column in COLUMNS[kind]}
    if kind == "gemm":
        return gemm(row, cells)
    if kind == "conv2d":
        return convolution(row, cells)
    if kind == "elementwise":
        return {"function": row.get("function"), **cells} if row.get("function") in o.UNARY + o.BINARY + o.WITH_A_SCALAR else None
    return cells


def operator(row):
    """None where it is not timed: another operator, format or cache, or too large."""
    precision, weights, cache = row.get("precision"), row.get("weight_precision"), row.get("cache") or "warm"
    if precision not in o.PRECISIONS or (weights and weights != precision) or cache not in ("cold", "warm"):
        return None
    cells = shape(row)
    if cells is None:
        return None
    kind = cells["function"].removesuffix("_bias") if row["op"] == "gemm" else row["op"]
    found = o.Operator(kind, precision, cache, tuple(cells.items()))
    return found if o.offered(found) else None


def rows_of(path):
    """(number of the line, cells) of each row. Raises FileError."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [(number, line) for number, line in enumerate(file, 1) if not line.startswith("#")]
        reader = csv.DictReader(line for _, line in lines)
        return [(lines[reader.line_num - 1][0], row) for row in reader]
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path}: no CSV in UTF-8: {error}") from error


def read(paths, selection_kinds, selection_precisions, seed):
    """(operators of the files without duplicates, in random but fixed order, and how many rows are passed over). Raises FileError."""
    found, passed_over = {}, 0
    for path in paths:
        for number, row in rows_of(path):
            try:
                op = operator(row)
            except SizeError as error:
                raise FileError(f"{path}:{number}: {error}") from error
            if op is None:
                passed_over += 1
            elif op.kind in (selection_kinds or o.OPERATORS) and op.precision in (selection_precisions or o.PRECISIONS):
                found[op] = None
    if not found:
        names = ", ".join(paths)
        raise FileError(f"{names}: no row of an operator that is timed; expected columns as docs/reference/measurements.md has them, op and precision among them")
    ordered = list(found)
    random.Random(seed).shuffle(ordered)
    return ordered, passed_over
