"""Runs cases one after the other: an error ends its case, not the run."""
import time

from .cases import expected_seconds
from .rows import case_cells, metric_rows


class CaseError(Exception):
    """One case cannot be measured."""


def run(cases, measure, gpu, software, rows, samples, settings, message, clock=time.monotonic):
    """Measures `cases` by `measure(case) -> {metric: statistics}` until they, or settings.budget seconds, are spent.

    Returns (measured, failed, already there).
    """
    begin, measured, failed, there = clock(), 0, 0, 0
    for case in cases:
        if rows.contains(case_cells(case)):
            there += 1
            continue
        left = settings.budget - (clock() - begin) if settings.budget else None
        if left is not None and expected_seconds(case, settings.runs) > left:
            continue
        try:
            metrics = measure(case)
        except CaseError as error:
            failed += 1
            message(f"{case.label()}: {error}")
            continue
        rows.append(metric_rows(case, gpu, software, metrics))
        samples.add(case, metrics)
        measured += 1
    return measured, failed, there
