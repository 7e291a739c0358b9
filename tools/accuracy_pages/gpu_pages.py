"""docs/accuracy/gpu/<id>.md: how accurate predictions for one GPU are."""
from .markdown import MODELS, TITLES, count, engine_name, percent, table, wrapped

MEMORY = ("memory_weights", "memory_kv_cache", "memory_other", "memory_peak")
SERVED = ("serving_ttft", "serving_tpot", "serving_throughput", "serving_latency")


def whose(error):
    """Whose rows tell an error."""
    architecture = error["of_architecture"].capitalize() + " " if error["of_architecture"] else ""
    gpus = count(error["of_gpus"], f"{architecture}GPU")
    if error["basis"] == "cross_validated":
        return "this GPU, cross-validated"
    if error["basis"] == "gpu_left_out":
        return "this GPU, left out of the fit"
    if error["basis"] in ("architecture_left_out", "all_left_out"):
        return f"{gpus}, {'each ' if error['of_gpus'] > 1 else ''}left out of the fit"
    if error["basis"] == "fitted":
        return "this GPU, in the fit" if error["of_gpu"] else f"{gpus}, in fits"
    if error["work"] in MEMORY:
        return gpus
    known = {"own": "measured", "architecture": "few rows measured", "none": "never measured"}
    return "this GPU" if error["of_gpu"] else f"{gpus}, {known[error['fit']]}"


def by_kind(errors):
    """Errors of fits, whole models first."""
    of_fits = [e for e in errors if not e["engine"]]
    return [e for e in of_fits if e["work"] in MODELS] + [e for e in of_fits if e["work"] not in MODELS]


def status(answer):
    architecture = answer["architecture"].capitalize()
    if answer["fit"] == "own":
        return f"Measured. Predictions use its own fit of {answer['fit_date']}."
    if answer["fit"] == "architecture":
        return f"A few rows of it were measured. Predictions use the {architecture} fit of {answer['fit_date']}."
    known = "Measured rows of it are in no fit." if any(e["of_gpu"] for e in answer["errors"]) else "Never measured."
    if answer["fit_date"]:
        return f"{known} Predictions use the {architecture} fit of {answer['fit_date']}."
    return f"{known} No other GPU of its architecture is in a fit."


def sentence(error):
    rows = count(error["rows"], "row")
    return f"Expect {percent(error['mape_percent'])} % on {TITLES[error['work']]} ({rows}: {whose(error)})."


def engine_lines(errors):
    """What to expect of served loads, a line for each engine and for whose loads tell it."""
    lines = []
    for engine in sorted({e["engine"] for e in errors}):
        of = {n: e for n, w in (("TPOT", "serving_tpot"), ("TTFT", "serving_ttft")) for e in errors if e["engine"] == engine and e["work"] == w}
        for where in dict.fromkeys(whose(e) for e in of.values()):
            known = {n: e for n, e in of.items() if whose(e) == where}
            medians = " and ".join(f"{percent(e['median_ape_percent'])} % on {n}" for n, e in known.items())
            loads = count(next(iter(known.values()))["rows"], "load")
            elsewhere = "" if where == "this GPU" else "No load of this GPU was measured. "
            lines.append(f"- With {engine_name(engine)}, expect {medians} in the median ({loads}: {where}). {elsewhere}".rstrip() + "\n")
    return "".join(lines)


def page(program, answer):
    errors = answer["errors"]
    kinds = by_kind(errors)
    engines = [e for e in errors if e["work"] in SERVED]
    memory = [e for e in errors if e["work"] in MEMORY]
    command = f"roofcast accuracy --gpu {answer['gpu']}"
    text = f"# {answer['name']}: accuracy\n\n{wrapped(status(answer) + ' ' + f'Data of {program.fit_date()}.')}\n"
    text += "".join(f"- {sentence(e)}\n" for e in kinds if e["work"] in MODELS) + engine_lines(engines) + "\n"
    text += "## By kind of work\nNo fit saw these rows.\n\n"
    text += table(["work", "rows", "MAPE %", "median %", "from"],
                  [[TITLES[e["work"]], e["rows"], percent(e["mape_percent"]), percent(e["median_ape_percent"]), whose(e)] for e in kinds])
    measured = [e for e in errors if e["basis"] == "unseen" and e["work"] in MODELS]
    if measured:
        text += "\n## Models by engine\nRows of this GPU that are in no fit.\n\n"
        text += table(["engine", "work", "rows", "MAPE %", "median %", "roofline MAPE %"],
                      [[engine_name(e["engine"]), TITLES[e["work"]], e["rows"], percent(e["mape_percent"]), percent(e["median_ape_percent"]),
                        percent(e["roofline_mape_percent"])] for e in measured])
    text += "\n## Served loads by engine\nNo fit of a GPU saw these rows.\n\n"
    text += table(["engine", "figure", "rows", "MAPE %", "median %", "within 80 % interval, %", "roofline MAPE %", "from"],
                  [[engine_name(e["engine"]), TITLES[e["work"]], e["rows"], percent(e["mape_percent"]), percent(e["median_ape_percent"]),
                    percent(e["in_interval_percent"]), percent(e["roofline_mape_percent"]), whose(e)] for e in engines])
    text += "\n## Memory by engine\nMemory depends little on the GPU, so the rows are of all GPUs. No fit saw them.\n\n"
    text += table(["engine", "part", "rows", "MAPE %", "median %"],
                  [[engine_name(e["engine"]), TITLES[e["work"]], e["rows"], percent(e["mape_percent"]), percent(e["median_ape_percent"])]
                   for e in memory])
    text += f"\n[How to read these figures](../index.md#how-to-read-the-figures). The same on the command line:\n\n```\n{command}\n```\n"
    return text


def all_pages(program, expected):
    """Text of each page below docs/accuracy/, by name."""
    return {f"gpu/{answer['gpu']}.md": page(program, answer) for answer in expected}
