"""Statistics of repeated measurements; the same figures as `roofcast bench`."""
import math


def percentile(values, fraction):
    """Linear between order statistics; `values` is not empty."""
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    above = position - below
    if above == 0:
        return ordered[below]
    return ordered[below] + above * (ordered[below + 1] - ordered[below])


def statistics(values):
    """mean, std (n - 1; 0 for one value), min, max, median, p95, p99, runs and the values themselves."""
    mean = sum(values) / len(values)
    squares = sum((v - mean) ** 2 for v in values)
    return {
        "mean": mean,
        "std": math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0,
        "min": min(values),
        "max": max(values),
        "median": percentile(values, 0.5),
        "p95": percentile(values, 0.95),
        "p99": percentile(values, 0.99),
        "runs": len(values),
        "values": list(values),
    }
