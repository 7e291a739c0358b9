"""Runs cases one after the other: an error ends its case, not the run."""
import time

from .cases import expected_seconds
from .rows import case_cells, metric_rows


class CaseError(Exception):
    """One case cannot be measured."""


def each(cases, cells, rows, affordable, measure, message):
    """Calls `measure(case)`, which writes its rows, for each case that `rows` lacks and that is `affordable(case)` when its turn comes.

    `cells(case)` are the columns that identify it. Returns (measured, failed, already there).
    """
    measured, failed, there = 0, 0, 0
    for case in cases:
        if rows.contains(cells(case)):
            there += 1
            continue
        if not affordable(case):
            continue
        try:
            measure(case)
            measured += 1
        except CaseError as error:
            failed += 1
            message(f"{case.label()}: {error}")
    return measured, failed, there


def run(cases, measure, gpu, software, rows, samples, settings, message, clock=time.monotonic):
    """Measures `cases` by `measure(case) -> {metric: statistics}` until they, or settings.budget seconds, are spent: those that should take
    longer than what is left are passed over."""
    begin = clock()

    def affordable(case):
        return not settings.budget or expected_seconds(case, settings.runs) <= settings.budget - (clock() - begin)

    def measure_and_write(case):
        metrics = measure(case)
        rows.append(metric_rows(case, gpu, software, metrics))
        samples.add(case, metrics)

    return each(cases, case_cells, rows, affordable, measure_and_write, message)
