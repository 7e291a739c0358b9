"""docs/accuracy/: index.md, model.md, engine.md, kernels.md, and the CSV file beside each."""
import collections

from . import rows
from .markdown import MODELS, TITLES, engine_name, percent, table, wrapped
from .tables import as_csv, figures, grouped, percentile

FIGURES = ["rows", "mape_percent", "median_ape_percent", "p90_ape_percent", "bias_percent", "in_interval_percent", "roofline_mape_percent"]

READING = """## How to read the figures
- **APE** is |predicted - measured| / measured of one row. **MAPE** is the mean of the rows' APE, **median** their median.
- **Bias** is the median of predicted / measured - 1. A negative bias means that predictions are too fast.
- **Bands** of accuracy (100 - MAPE): Excellent from 95, Good from 90, Fair from 80, else Needs improvement.
- **GPU measured**: rows of a GPU with a fit of its own, each predicted by a fit that did not see it (cross-validation).
- **GPU never measured**: rows of a GPU, predicted by a fit to other GPUs alone.
- **In the fit**: rows that the fit saw. Expect a larger error on others.
- **Within 80 % interval**: fraction of rows inside the interval that comes with a prediction; near 80 is right.
- **Roofline**: FLOPs over data-sheet peak or bytes over data-sheet bandwidth, the larger. It stands beside as the plain alternative.
"""


def repeated(judged):
    """Half spreads of rows that were measured several times, in percent."""
    return [50 * float(r["spread"]) for r in judged if int(r["repeats"]) > 1]


def noise_floor(judged):
    spreads = repeated(judged["kernels"] + judged["models"])
    return (f"- **Noise floor**: {len(spreads):,} rows were measured several times. Half the spread between repeats is "
            f"{percent(percentile(spreads, 0.5))} % in the median and {percent(percentile(spreads, 0.9))} % at P90. "
            "An error below that is within noise.\n") if spreads else ""


def rooflines(judged):
    """Mean roofline error by coarse kind of work, of all rows in fits."""
    kinds = {"gemm": "GEMM", "attention": "attention", "conv2d": "convolution", "moe": "mixture of experts", "quantize": "quantization"}
    kinds |= dict.fromkeys(["elementwise", "layernorm", "rmsnorm", "softmax"], "element-wise, norms, softmax")
    kinds |= dict.fromkeys(["all_reduce", "all_gather", "all_to_all", "reduce_scatter", "memcpy_d2d", "memcpy_h2d", "memcpy_d2h"], "collectives, copies")
    kinds |= dict.fromkeys(["llm_prefill", "llm_decode", "llm_generate"], "language models") | {"vision": "image models, detectors"}
    kinds |= dict.fromkeys(["encoder", "other_model"], "encoders, other models")
    of = collections.defaultdict(list)
    for row in judged["kernels"] + judged["models"]:
        if row["work"] in kinds and row["roofline"] is not None:
            of[kinds[row["work"]]].append(abs(row["roofline"] / row["measured"] - 1) * 100)
    return {kind: percentile(errors, 0.5) for kind, errors in of.items()}


def kinds_table(program, judged):
    roofline = rooflines(judged)
    lines = [[k["kind"], k["measured_rows"], percent(k["measured_mape_percent"]), k["unseen_rows"], percent(k["unseen_mape_percent"]),
              percent(roofline.get(k["kind"]))] for k in program.json("calibrate", "--summary", "--by-kind")["accuracy"]]
    return table(["work", "rows", "GPU measured, MAPE %", "rows", "GPU never measured, MAPE %", "roofline, median %"], lines)


def served_table(judged):
    lines = []
    of = [r for r in judged["loads"] if r["work"]]
    for (engine, work), group in grouped(of, "engine", "work").items():
        line = [engine_name(engine), TITLES[work]]
        for fit in ("own", "none"):
            known = [r for r in group if (r["fit"] == "own") == (fit == "own")]
            f = figures(known) if known else None
            line += [f["rows"] if f else 0, percent(f["median_ape_percent"] if f else None), percent(f["mape_percent"] if f else None)]
        lines.append(line)
    return table(["engine", "figure", "rows", "GPU measured, median %", "MAPE %", "rows", "GPU never measured, median %", "MAPE %"], lines)


def gpu_table(program, expected):
    known = {"own": "measured", "architecture": "few rows measured", "none": "never measured"}
    lines = []
    for answer in expected:
        of = {e["work"]: e for e in answer["errors"] if not e["engine"]}
        lines.append([f"[{answer['name']}](gpu/{answer['gpu']}.md)", answer["architecture"], known[answer["fit"]]] +
                     [percent(of[w]["mape_percent"] if w in of else None) for w in ("llm_prefill", "llm_decode", "vision", "gemm")])
    return table(["GPU", "predicted as", "data", "LLM prefill", "LLM decode", "image models", "GEMM"], lines)


def index(program, judged, expected):
    text = f"# Accuracy\n\nFits of {program.fit_date()}. `tools/update-accuracy` writes this folder; `--check` runs in the tests.\n\n"
    text += wrapped("Find your GPU [below](#by-gpu), or ask `roofcast accuracy --gpu X`. Other tables: [models](model.md), "
                    "[engines under load](engine.md), [kernels](kernels.md). A CSV file of the same name lies beside each page.") + "\n"
    text += "## By kind of work\nMAPE on rows that no fit saw:\n\n" + kinds_table(program, judged)
    text += "\n```\nroofcast calibrate --summary --by-kind\n```\n\n## Served loads\nTTFT and TPOT of current engines under load. No fit of a GPU saw them.\n"
    text += wrapped("Launch costs of engines were fitted to a third of the loads of up to 64 users.") + "\n" + served_table(judged)
    text += f"\n```\nroofcast validate --data {rows.SOURCES['loads']} --by software,gpu,model,metric\n```\n\n" + READING + noise_floor(judged)
    text += "\n" + wrapped("Some facts were read off rows of whole models of all GPUs, and no fit left them out: what engines do and cost their CPUs "
                           "(`software/`), and how fast the machines of some sources were (`software/hosts.toml`).")
    text += "\n" + wrapped("`tests/golden` holds predictions to these figures. Each family and phase stays below a ceiling, about half above the MAPE of the "
                           "day when the ceiling was set. Pairs of rows that differ in one setting test predicted gains: fp16 over fp32, int8 over "
                           "fp16, and a larger batch. Gains go the measured way in at least 85, 85 and 93 % of the pairs.")
    text += "\n## By GPU\nThe MAPE to expect, in percent, on rows that no fit saw. Each page says whose rows tell it.\n\n" + gpu_table(program, expected)
    return text


def unseen_section(judged):
    """Sessions that no fit has, by kernel class or family of models."""
    lines = []
    for row in judged["unseen"]:
        row["class"] = row["family"] if row["op"] == "model" else row["op"]
    for (gpu, kind, precision), of in grouped(judged["unseen"], "gpu", "class", "precision").items():
        f = figures(of)
        lines.append({"gpu": gpu, "class": kind, "precision": precision} | f)
    return lines


def model(program, judged):
    of = [r for r in judged["models"] if r["work"] in MODELS]
    lines = [{"models": k[0] or "not shipped", "work": k[1], "engine": k[2], "gpu": k[3]} | figures(g)
             for k, g in grouped(of, "models", "work", "engine", "gpu").items()]
    short = []
    for (work, engine, fit), g in grouped([r | {"fit": "yes" if r["fit"] == "own" else "no"} for r in of], "work", "engine", "fit").items():
        f = figures(g)
        short.append([TITLES[work], engine_name(engine), fit, len({r["gpu"] for r in g}), *(v if k == "rows" else percent(v) for k, v in f.items() if k in FIGURES)])
    text = f"# Accuracy of whole models\n\nFits of {program.fit_date()}.\n\n"
    text += wrapped("Most of these rows are in a fit, so expect a larger error on others: [by kind of work](index.md#by-kind-of-work) has rows that "
                    "no fit saw. GPUs with a fit of their own and GPUs without one are apart. [model.csv](model.csv) has each file of models/ on each GPU.")
    text += "\n" + table(["work", "engine", "own fit", "GPUs", "rows", "MAPE %", "median %", "P90 %", "bias %", "in 80 % interval", "roofline MAPE %"], short)
    text += f"\n```\nroofcast validate --data {rows.SOURCES['models']} --by family,phase,software,gpu\n```\n\n## Sessions that no fit has\n"
    text += wrapped("An H100 and an H200, measured again on shapes and models that were kept out of every fit: `validation_data/unseen`.") + "\n"
    text += table(["GPU", "class", "precision", "rows", "MAPE %", "median %", "P90 %", "bias %", "in 80 % interval", "roofline MAPE %"],
                  [[l["gpu"], l["class"], l["precision"], *(l[k] if k == "rows" else percent(l[k]) for k in FIGURES)] for l in unseen_section(judged)])
    return {"model.md": text, "model.csv": as_csv(lines, ["models", "work", "engine", "gpu", *FIGURES])}


def engine(program, judged):
    text = f"# Accuracy under load, by engine\n\nFits of {program.fit_date()}. No fit of a GPU saw these rows.\n\n"
    text += wrapped("Versions of an engine are together here; [engine.csv](engine.csv) has them apart.") + "\n"
    of = [r for r in judged["loads"] if r["work"]]
    lines = []
    for (name, gpu, model_name), g in grouped(of, "engine", "gpu", "model").items():
        work = {k[0]: figures(v) for k, v in grouped(g, "work").items()}
        cells = []
        for key in ("serving_tpot", "serving_ttft"):
            f = work.get(key)
            cells += [percent(f["median_ape_percent"] if f else None), percent(f["mape_percent"] if f else None)]
        lines.append([engine_name(name), gpu, model_name, max(f["rows"] for f in work.values()), *cells])
    text += table(["engine", "GPU", "model", "loads", "TPOT median %", "MAPE %", "TTFT median %", "MAPE %"], lines)
    text += f"\n```\nroofcast validate --data {rows.SOURCES['loads']} --by software,gpu,model,metric\n```\n\n## Other served loads\n"
    others = []
    for source in rows.SERVED[1:]:
        for (software, gpu, work), g in grouped([r for r in judged[source] if r["work"]], "software", "gpu", "work").items():
            f = figures(g)
            others.append([software, gpu, TITLES[work], f["rows"], percent(f["median_ape_percent"]), percent(f["mape_percent"]),
                           percent(f["roofline_mape_percent"])])
    text += table(["software", "GPU", "figure", "rows", "median %", "MAPE %", "roofline MAPE %"], others)
    text += "\n" + "".join(f"```\nroofcast validate --data {rows.SOURCES[s]} --by software,gpu,metric\n```\n" for s in rows.SERVED[1:])
    text += "\n" + wrapped("`validation_data/serving/tensorrt_llm_throughput.csv` takes minutes to simulate and is not in these tables. At its last run, "
                           "the throughput of its 248 loads was 11.0 % off (MAPE), 7.2 % in the median.")
    text += "\n## Memory\nWhat engines' own logs say. No fit saw these rows.\n\n"
    memory = [[engine_name(k[0]), TITLES[k[1]], *(figures(g)[f] if f == "rows" else percent(figures(g)[f]) for f in FIGURES[:3])]
              for k, g in grouped([r for r in judged["memory"] if r["work"] and r["measured"]], "engine", "work").items()]
    text += table(["engine", "part", "rows", "MAPE %", "median %"], memory)
    text += f"\n```\nroofcast validate --data {rows.SOURCES['memory']} --by software,metric\n```\n"
    full = [{"source": s, "software": k[0], "gpu": k[1], "model": k[2], "metric": k[3]} | figures(g)
            for s in rows.SERVED for k, g in grouped(judged[s], "software", "gpu", "model", "metric").items()]
    return {"engine.md": text, "engine.csv": as_csv(full, ["source", "software", "gpu", "model", "metric", *FIGURES])}


def kernels(program, judged):
    lines = program.json("calibrate", "--summary")["accuracy"]
    of_kernels = [l for l in lines if not l["op"].startswith("model_")]
    text = f"# Accuracy of kernels\n\nFits of {program.fit_date()}. [kernels.csv](kernels.csv) has whole models, too.\n\n## As the fits state it\n"
    text += wrapped("MAPE in percent. \"Cross-validated\": rows of shapes that the GPU's fit did not see. \"Never measured\": rows of the GPU, "
                    "predicted by a fit to other GPUs.") + "\n"
    text += table(["GPU", "operator class", "precision", "rows", "in the fit", "cross-validated", "never measured"],
                  [[l["gpu"], l["op"], l["precision"], l["rows"], *(percent(l[k]) for k in
                    ("in_fit_mape_percent", "cross_validated_mape_percent", "never_measured_mape_percent"))] for l in of_kernels])
    text += "\n```\nroofcast calibrate --summary\n```\n"
    for source, title, note in (("kernels", "Beside the roofline", "Rows of GPUs with a fit are in that fit."),
                                ("engine_kernels", "Kernels that engines bring", "Fits of kernel families saw these rows.")):
        text += f"\n## {title}\n{note}\n\n"
        text += table(["operator", "rows", "MAPE %", "median %", "P90 %", "bias %", "in 80 % interval", "roofline MAPE %"],
                      [[k[0], *(figures(g)[f] if f == "rows" else percent(figures(g)[f]) for f in FIGURES)]
                       for k, g in grouped(judged[source], "op").items()])
        text += f"\n```\nroofcast validate --data {rows.SOURCES[source]} --by op\n```\n"
    return {"kernels.md": text, "kernels.csv": as_csv(lines, list(lines[0]))}


def all_pages(program, judged, expected):
    """Text of each page and CSV file, by name."""
    flat = [{"gpu": a["gpu"]} | e for a in expected for e in a["errors"]]
    texts = {"index.md": index(program, judged, expected), "index.csv": as_csv(flat, list(flat[0]))}
    for part in (model, engine, kernels):
        texts |= part(program, judged)
    return texts
