"""Files that grow with every case: CSV rows for roofcast, JSON with every sample."""
import csv
import json
import os

COLUMNS = (
    "gpu,model,family,precision,weight_precision,batch,prompt_tokens,output_tokens,image_size,gpus,phase,execution,metric,value,"
    "value_std,value_mean,value_min,value_max,value_p95,value_p99,runs,software,source"
).split(",")
IDENTITY = "model,precision,weight_precision,batch,prompt_tokens,image_size,phase,execution".split(",")
SOURCE = "roofcast measure_models"

# Metrics of the measurement format. Others, such as first_call_ms, are in the JSON only.
ROW_METRICS = ("latency_ms", "ttft_ms", "tpot_ms", "memory_gb", "power_w")


class FileError(Exception):
    """A file that cannot be used as asked."""


def time_metric(case):
    return {"forward": "latency_ms", "prefill": "ttft_ms", "decode": "tpot_ms"}[case.phase]


def case_cells(case):
    """Columns that identify a case. Weight-only int8 computes in bf16."""
    tokens = case.tokens or ""
    int8 = case.precision == "int8"
    return {
        "model": case.model.id,
        "family": case.model.family,
        "precision": "bf16" if int8 else case.precision,
        "weight_precision": "int8" if int8 else "",
        "batch": str(case.batch),
        "prompt_tokens": str(tokens),
        # A decode row needs a second token to be told from prefill.
        "output_tokens": {"prefill": "1", "decode": "2"}.get(case.phase, ""),
        "image_size": str(case.model.image_size) if case.model.image_size and case.phase != "decode" else "",
        "gpus": "1",
        "phase": case.phase,
        "execution": case.execution,
    }


def number(value):
    return f"{value:.6g}"


def metric_rows(case, gpu, software, metrics):
    """One row a metric of `metrics`, a dict of statistics."""
    for metric in ROW_METRICS:
        if metric not in metrics:
            continue
        s = metrics[metric]
        row = {"gpu": gpu, **case_cells(case), "metric": metric, "value": number(s["median"]), "runs": str(s["runs"])}
        if s["runs"] > 1:
            row.update({f"value_{key}": number(s[key]) for key in ("std", "mean", "min", "max", "p95", "p99")})
        # The word that tells readers of the rows the layout of convolutions; images of other families pass one convolution only.
        yield {**row, "software": software + (" nhwc" if case.model.channels_last else ""), "source": SOURCE}


class RowFile:
    """Appends rows as they are measured. With `resume`, knows which cases are done and drops a row that was cut.

    `identity` are the columns that tell cases apart.
    """

    def __init__(self, path, comments, resume, columns=tuple(COLUMNS), identity=tuple(IDENTITY)):
        self.path, self.columns, self.identity = path, list(columns), identity
        self.done = set()
        if os.path.exists(path) and os.path.getsize(path) > 0:
            if not resume:
                raise FileError(f"{path} exists already: --resume continues it, --output names another")
            self._take_up()
            return
        with open(path, "w", newline="", encoding="utf-8") as out:
            out.writelines(f"# {line}\n" for line in comments)
            csv.writer(out, lineterminator="\n").writerow(self.columns)

    def _take_up(self):
        with open(self.path, "r+", newline="", encoding="utf-8") as file:
            text = file.read()
            whole = text[: text.rfind("\n") + 1]
            file.seek(0)
            file.truncate(len(whole.encode()))
        lines = [line for line in whole.splitlines() if not line.startswith("#")]
        rows = list(csv.reader(lines))
        if not rows or rows[0] != self.columns:
            raise FileError(f"{self.path} has other columns than this program writes: --output names another file")
        for row in rows[1:]:
            cells = dict(zip(self.columns, row))
            if cells.get("metric", "latency_us") in ("latency_us", "latency_ms", "ttft_ms", "tpot_ms"):
                self.done.add(self.key(cells))

    def key(self, cells):
        return tuple(cells[column] for column in self.identity)

    def contains(self, cells):
        return self.key(cells) in self.done

    def append(self, rows):
        with open(self.path, "a", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, self.columns, restval="", lineterminator="\n")
            for row in rows:
                writer.writerow(row)
                self.done.add(self.key(row))


class JsonFile:
    """{case: {metric: {mean, std, min, max, median, p95, p99, runs, values}}}, replaced as a whole after each case."""

    def __init__(self, path, resume):
        self.path = path
        self.document = {}
        if resume and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.document = json.load(file)

    def add(self, case, metrics):
        self.document[case.label()] = metrics
        temporary = self.path + ".part"
        with open(temporary, "w", encoding="utf-8") as out:
            json.dump(self.document, out, indent=1)
        os.replace(temporary, self.path)
