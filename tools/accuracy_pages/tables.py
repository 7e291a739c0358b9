"""Tables of rows that no fit states: served loads, memory, whole models by family. The program reads them as data."""
import collections
import csv
import io
import math

from . import rows

COLUMNS = ["work", "engine", "models", "gpu", "architecture", "fit", "gpus", "rows", "mape_percent", "median_ape_percent", "p90_ape_percent",
           "bias_percent", "in_interval_percent", "roofline_mape_percent", "file"]


def percentile(values, share):
    """Interpolated linearly between order statistics, as the program does."""
    values = sorted(values)
    place = share * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def figures(judged):
    """Accuracy of judged rows in percent, rounded to hundredths."""
    apes = [100 * abs(r["predicted"] / r["measured"] - 1) for r in judged if r["measured"]]
    ratios = [r["predicted"] / r["measured"] for r in judged if r["measured"]]
    bounded = [r for r in judged if r["low"] is not None and r["high"] is not None]
    rooflines = [100 * abs(r["roofline"] / r["measured"] - 1) for r in judged if r["roofline"] is not None and r["measured"]]
    found = {"rows": len(apes), "mape_percent": sum(apes) / len(apes), "median_ape_percent": percentile(apes, 0.5),
             "p90_ape_percent": percentile(apes, 0.9), "bias_percent": 100 * (percentile(ratios, 0.5) - 1)}
    found["in_interval_percent"] = 100 * sum(r["low"] <= r["measured"] <= r["high"] for r in bounded) / len(bounded) if bounded else None
    found["roofline_mape_percent"] = sum(rooflines) / len(rooflines) if rooflines else None
    return {k: round(v, 2) + 0.0 if isinstance(v, float) else v for k, v in found.items()}


def grouped(judged, *keys):
    groups = collections.defaultdict(list)
    for row in judged:
        groups[tuple(row[k] for k in keys)].append(row)
    return dict(sorted(groups.items()))


def as_csv(lines, columns, comment=""):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(lines)
    return comment + text.getvalue()


def line(judged, file, **place):
    return {"models": "", "gpu": "", "architecture": "", "fit": "none", "gpus": len({r["gpu"] for r in judged}), "file": file} | place | figures(judged)


SCOPES = (["gpu", "architecture", "fit"], ["architecture", "fit"], ["fit"])


def places(judged, file, keys, scopes=SCOPES):
    """Lines of `judged` by `keys` for each GPU, for GPUs of an architecture and for all; GPUs that fits know alike together."""
    lines = []
    for scope in scopes:
        for values, of in grouped(judged, *keys, *scope).items():
            lines.append(line(of, file, **dict(zip(keys + scope, values))))
    return lines


def served_lines(judged):
    """Of the first source that has a GPU's loads of an engine, and for several GPUs together of the first that has the engine: rows of old
    versions by other measurers are not blended with those of current ones."""
    lines = []
    for source in rows.SERVED:
        of = [r for r in judged[source] if r["work"] and r["gpu"]]
        for keys in (["work", "engine"], ["work", "engine", "models"]):
            named = [r for r in of if "models" not in keys or r["models"]]
            for line_of in places(named, rows.SOURCES[source], keys):
                whose = ("work", "engine", "models", "gpu", "architecture")
                if not any(all(l[k] == line_of[k] for k in whose) and l["file"] != line_of["file"] for l in lines):
                    lines.append(line_of)
    return lines


def memory_lines(judged):
    lines = []
    for source in rows.MEMORY_SOURCES:
        of = [r for r in judged[source] if r["metric"] in rows.MEMORY_WORK and r["measured"]]
        lines += [line(g, rows.SOURCES[source], work=k[0], engine=k[1]) for k, g in grouped(of, "work", "engine").items()]
        named = [r for r in of if r["models"]]
        lines += [line(g, rows.SOURCES[source], work=k[0], engine=k[1], models=k[2])
                  for k, g in grouped(named, "work", "engine", "models").items()]
    return lines


def model_lines(judged):
    of = [r for r in judged["models"] if r["models"] and not r["metric"] in rows.MEMORY_WORK]
    lines = places(of, rows.SOURCES["models"], ["work", "engine", "models"], (SCOPES[0], SCOPES[2]))
    return lines + places([r for r in of if r["fit"] == "none"], rows.SOURCES["models"], ["work", "engine"], SCOPES[:1])


def all_tables(program, judged):
    """Text of each file in validation_data/accuracy/, by name."""
    comment = f"# Written by tools/update-accuracy from the rows of `roofcast validate --data FILE` under the fits of {program.fit_date()}.\n"
    return {"served_loads.csv": as_csv(served_lines(judged), COLUMNS, comment),
            "memory.csv": as_csv(memory_lines(judged), COLUMNS, comment),
            "whole_models.csv": as_csv(model_lines(judged), COLUMNS, comment)}
