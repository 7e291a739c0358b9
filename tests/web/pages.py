#!/usr/bin/env python3
"""Opens the page of each command in Chromium: at the width of a phone and of a laptop, light and dark, and printed.

Usage: pages.py ROOFCAST OUTPUT_FOLDER

Fails on messages of the console, on pages that scroll sideways, on charts that are missing or empty, on tables that do not sort, and
where the numbers of a page's tables are not those of the JSON that the same command prints.
"""

import json
import math
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from browser import PATIENCE, answers_of, chromium

SOURCE = Path(__file__).resolve().parents[2]
WIDTHS = {"phone": 390, "laptop": 1366}

LLM = ["--model", "llama-3.1-8b"]
# Name: arguments, and the charts that the page has.
COMMANDS = {
    "predict": (["predict", *LLM, "--gpu", "h100-sxm", "--batch", "8"], ["roofline", "memory"]),
    "predict-explain": (["predict", "--model", "resnet50", "--gpu", "t4", "--explain"], ["roofline", "memory"]),
    "predict-several": (["predict", *LLM, "--gpu", "a100-sxm4-80gb", "--gpu", "t4"], ["latency", "memory"]),
    "sweep": (["sweep", *LLM, "--gpu", "a100-sxm4-80gb,l40s", "--batch", "1,8,64"], ["throughput", "latency"]),
    "recommend": (["recommend", "--model", "resnet50", "--slo", "latency=30ms"], ["pareto"]),
    "cost": (["cost", *LLM, "--gpu", "h100-sxm", "--gpu", "a100-sxm4-80gb"], ["cost"]),
    "compare": (["compare", *LLM, "--gpu", "a100-sxm4-80gb", "--gpu", "h100-sxm"], ["speedup", "cost"]),
    "validate": (["validate", "--gpu", "p4"], ["parity", "errors"]),
    "calibrate": (
        ["calibrate", "--gpu", "p4", "--from-scratch", "--folds", "0", "--evaluations", "3"],
        ["errors", "parameters"],
    ),
    "serve-sim": (
        ["serve-sim", *LLM, "--gpu", "h100-sxm", "--rate", "6", "--requests", "200", "--slo", "ttft=500ms"],
        ["ttft", "tpot", "queue"],
    ),
    "memory": (["memory", *LLM, "--gpu", "t4"], ["memory"]),
    "memory-engine": (["memory", *LLM, "--gpu", "h100-sxm", "--software", "vllm"], ["memory"]),
    "gpu-list": (["gpu", "list"], []),
    "gpu-show": (["gpu", "show", "h100-sxm"], []),
    "model-show": (["model", "show", "llama-3.1-8b"], []),
}
PRINTED = ["predict", "validate"]
# Shows rounded GiB, as engines' logs do, and what is left over: the parts are checked by their sum.
ROUNDED = "memory-engine"


class Failures:
    def __init__(self):
        self.lines = []

    def check(self, holds, text):
        if not holds:
            self.lines.append(text)


def environment():
    return {**os.environ, "ROOFCAST_DATA": str(SOURCE), "XDG_DATA_HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"}


def printed(program, arguments, output_format):
    done = subprocess.run([program, *arguments, "--format", output_format], capture_output=True, text=True, env=environment(), check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"roofcast {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


# ---- what a page must be ----------------------------------------------------------------------------------------------------------


def check_page(answer, charts, failures):
    where = f"{answer['name']} at {answer['width']} pixels"
    if answer["failed"]:
        failures.check(False, f"{where}: {answer['failed']}")
        return
    failures.check(not answer["errors"], f"{where}: console: {answer['errors']}")
    failures.check(answer["overflow"] <= 0, f"{where}: scrolls sideways by {answer['overflow']} pixels")
    failures.check([c["key"] for c in answer["canvases"]] == charts, f"{where}: charts {answer['canvases']}, expected {charts}")
    failures.check([c["points"] for c in answer["canvases"]] == [c["points"] for c in answer["charts"]], f"{where}: points are missing")
    for canvas in answer["canvases"]:
        failures.check(canvas["painted"], f"{where}: {canvas['key']} is empty")
        failures.check(canvas["label"] and canvas["points"] > 0, f"{where}: {canvas['key']} has no description or no points")
    failures.check(answer["headersWithoutScope"] == 0, f"{where}: headers without scope")
    failures.check(not answer["sortingFaults"], f"{where}: does not sort by {answer['sortingFaults']}")
    failures.check(answer["tables"] and all(table["rows"] for table in answer["tables"]), f"{where}: a table is empty")


def numbers_in(value, found):
    """All numbers of a JSON document, those within its text too."""
    if isinstance(value, dict):
        for inner in value.values():
            numbers_in(inner, found)
    elif isinstance(value, list):
        found.add(float(len(value)))  # counts are shown of what is listed
        for inner in value:
            numbers_in(inner, found)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        found.add(float(value))
    elif isinstance(value, str):
        found.update(float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", value))


def objects_in(value):
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects_in(inner)


def is_same(number, other):
    return isinstance(other, (int, float)) and not isinstance(other, bool) and math.isclose(number, other, rel_tol=1e-9, abs_tol=1e-12)


def rounds_to(number, text):
    """Whether `text` is `number`, rounded to some two digits or more."""
    try:
        shown = float(text)
    except ValueError:
        return False
    return math.isclose(number, shown, rel_tol=0.06, abs_tol=1e-12)


def has_keys_of(cells, item):
    return all(isinstance(item.get(key), (int, float)) for key in cells)


def is_row_of(cells, objects):
    """Whether one of the objects has the numbers of a row under the row's own keys."""
    return any(all(is_same(number, item[key]) for key, number in cells.items()) for item in objects if has_keys_of(cells, item))


def check_numbers(answer, document, failures):
    """Rows stand in the JSON as they are where it has their keys; each number stands in it somewhere."""
    numbers, objects = set(), list(objects_in(document))
    numbers_in(document, numbers)
    known = sorted(numbers)
    counted = aligned = 0
    for table in answer["tables"]:
        for row in table["rows"]:
            cells = {}
            for key, (text, value) in zip(table["keys"], row):
                if value is None:
                    continue
                number = float(value)
                counted += 1
                cells[key] = number
                failures.check(rounds_to(number, text), f"{answer['name']}: {key} shows {text} for {value}")
                failures.check(
                    any(is_same(number, other) for other in known), f"{answer['name']}: {key} {value} is no number of the JSON"
                )
            if len(cells) >= 2 and any(has_keys_of(cells, item) for item in objects):
                aligned += is_row_of(cells, objects)
                failures.check(is_row_of(cells, objects), f"{answer['name']}: no object of the JSON has the row {cells}")
    return counted, aligned


def check_sum(answer, document, failures):
    parts = 0.0
    for table in answer["tables"]:
        column = table["keys"].index("gib")
        parts += sum(float(row[column][1]) for row in table["rows"])
    board = document["engines"][0]["gpu_memory_gib"]
    failures.check(math.isclose(parts, board, abs_tol=0.05), f"{answer['name']}: parts of {parts} GiB make no {board} GiB")


def check_print(folder, name, failures):
    file = folder / f"{name}.pdf"
    file.unlink(missing_ok=True)
    chromium(folder, "--no-pdf-header-footer", f"--print-to-pdf={file}", (folder / f"{name}.html").as_uri()).wait(PATIENCE)
    data = file.read_bytes() if file.exists() else b""
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    failures.check(data.startswith(b"%PDF-"), f"{name}: was not printed")
    failures.check(1 <= pages <= 12, f"{name}: {pages} pages in print")


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    failures = Failures()
    with ThreadPoolExecutor(2) as pool:
        pages = pool.map(lambda name: printed(program, COMMANDS[name][0], "html"), COMMANDS)
        documents = pool.map(lambda name: printed(program, COMMANDS[name][0], "json"), COMMANDS)
        pages, documents = dict(zip(COMMANDS, pages)), {name: json.loads(text) for name, text in zip(COMMANDS, documents)}
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    counted = aligned = 0
    for answer in answers_of(folder, pages, WIDTHS.values(), failures):
        check_page(answer, COMMANDS[answer["name"]][1], failures)
        if answer["width"] != WIDTHS["laptop"] or answer["failed"]:
            continue
        failures.check(answer["luminance"] > 0.9, f"{answer['name']}: is not light")
        document = documents[answer["name"]]
        failures.check(json.loads(answer["data"]) == document, f"{answer['name']}: the page holds other JSON than the command prints")
        if answer["name"] == ROUNDED:
            check_sum(answer, document, failures)
            continue
        sums = check_numbers(answer, document, failures)
        counted, aligned = counted + sums[0], aligned + sums[1]
    dark = {name: page for name, page in pages.items() if COMMANDS[name][1]}
    for answer in answers_of(folder, dark, [WIDTHS["laptop"]], failures, "--blink-settings=preferredColorScheme=0"):
        check_page(answer, COMMANDS[answer["name"]][1], failures)
        failures.check(answer["luminance"] < 0.2, f"{answer['name']}: is not dark where the system is")
    for name in PRINTED:
        check_print(folder, name, failures)
    for line in failures.lines:
        print(line)
    print(f"{len(COMMANDS)} pages, {counted} numbers, {aligned} rows compared with the JSON, {len(failures.lines)} failures")
    sys.exit(1 if failures.lines or counted == 0 or aligned == 0 else 0)


if __name__ == "__main__":
    main()
