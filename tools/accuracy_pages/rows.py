"""Rows that the program judged, and what they are: kind of work, engine, file of the model."""
import csv
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

# Sources of rows, each judged once; every table is derived from these rows.
SOURCES = {
    "models": "validation_data/models",
    "kernels": "validation_data/kernels",
    "engine_kernels": "validation_data/kernels_by_family",
    "unseen": "validation_data/unseen",
    "memory": "validation_data/memory",
    "loads": "validation_data/serving/current_engines.csv",
    "online": "validation_data/serving/tensorrt_llm_online.csv",
    "gpustack": "validation_data/serving/gpustack_throughput.csv",
    "batches": "validation_data/serving/vllm_latency.csv",
}
SERVED = ("loads", "online", "gpustack", "batches")

MEMORY_SOURCES = ("memory", "models")
SERVED_WORK = {"ttft_ms": "serving_ttft", "tpot_ms": "serving_tpot", "tokens_per_s": "serving_throughput", "latency_ms": "serving_latency"}
MEMORY_WORK = {"weights_gib": "memory_weights", "kv_cache_gib": "memory_kv_cache", "kv_cache_tokens": "memory_kv_cache",
               "activation_gib": "memory_other", "graphs_gib": "memory_other", "memory_gb": "memory_peak"}
MODEL_WORK = {"cnn": "vision", "vit": "vision", "swin": "vision", "hybrid": "vision", "detector": "vision", "encoder": "encoder"}


class Program:
    """The program, and the data of the checkout that it reads."""

    def __init__(self, root, program):
        self.root, self.program = root, program

    def run(self, *arguments):
        environment = os.environ | {"ROOFCAST_DATA": str(self.root), "XDG_DATA_HOME": "/nonexistent"}
        done = subprocess.run([str(self.program), *arguments], capture_output=True, text=True, cwd=self.root, env=environment)
        if done.returncode != 0:
            sys.exit(f"roofcast {' '.join(arguments)}: exit status {done.returncode}\n{done.stderr}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--format", "json"))

    @functools.cache
    def gpus(self):
        """What `gpu list` says of each GPU, by id."""
        return {g["id"]: g for g in self.json("gpu", "list")["gpus"]}

    @functools.cache
    def known(self):
        """How each GPU is known to fits, and by the fit of which architecture, by id."""
        return {a["gpu"]: a for a in self.json("accuracy", "--gpu", ",".join(self.gpus()))["accuracy"]}

    @functools.cache
    def fit_date(self):
        """The date of the newest fit."""
        return max(a["fit_date"] for a in self.known().values() if a["fit_date"])

    @functools.cache
    def engines(self):
        """Patterns of `software` columns, the longest first, with their families."""
        found = {}
        for engine in self.json("software", "list")["software"]:
            for name in engine["software"]:
                found.setdefault(name, engine["family"])
        patterns = [(re.compile(re.escape(n).replace(r"\*", "[^ ]*") + r"(?![^ /:.+])", re.IGNORECASE), n, f) for n, f in found.items()]
        return sorted(patterns, key=lambda p: -len(p[1]))

    def engine(self, software):
        for pattern, _, family in self.engines():
            if pattern.match(software):
                return family
        return software.split()[0].lower() if software else "unknown"

    @functools.cache
    def model_files(self):
        """Files of models in models/ without their endings, by the ids and aliases in them."""
        files = {}
        for config in sorted((self.root / "models" / "hub").glob("*.json")):
            files[config.stem.replace("__", "/", 1).lower()] = config.stem
        for file in sorted((self.root / "models").glob("*.toml")):
            document = tomllib.loads(file.read_text())
            for variant in document.get("variant", [document]):
                model = variant.get("id", file.stem)
                for name in [model, model.replace("-", "_"), *variant.get("aliases", [])]:
                    files[name.lower()] = file.stem
        for name in list(files):
            files.setdefault(name.split("/")[-1], files[name])
        return files


def models_of(program, name):
    """File of the model that a row names; checkpoints that state their weight format are those of the model. Empty: not shipped."""
    name = re.sub(r"-(fp8|fp4|nvfp4)$", "", name.lower())
    for known in (name, name.split("/")[-1]):
        if known in program.model_files():
            return program.model_files()[known]
    return ""


def work_of(row, source):
    """Key of the kind of work of a judged row; empty: none that is tabled."""
    if source in SERVED:
        return SERVED_WORK.get(row["metric"], "")
    if row["metric"] in MEMORY_WORK:
        return MEMORY_WORK[row["metric"]]
    if row["op"] != "model":
        return row["op"]
    family = row["family"]
    if family in ("llm", "vlm"):
        return {"decode": "llm_decode", "generate": "llm_generate"}.get(row["phase"], "llm_prefill")
    return MODEL_WORK.get(family, "other_model")


def as_row(program, record, source):
    known = program.known().get(record["gpu"], {})
    row = {k: record[k] for k in ("gpu", "op", "model", "precision", "metric", "family", "phase", "software", "repeats", "spread")}
    row |= {k: float(record[k]) if record[k] else None for k in ("measured", "predicted", "roofline", "low", "high")}
    row["work"] = work_of(record, source)
    row["engine"] = program.engine(record["software"])
    row["models"] = models_of(program, record["model"])
    row["architecture"], row["fit"] = known.get("architecture", ""), known.get("fit", "none")
    return row


def judged(program):
    """Judged rows by source."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for source, data in SOURCES.items():
            file = pathlib.Path(folder) / f"{source}.csv"
            program.run("validate", "--data", data, "--worst", "0", "--format", "csv", "--rows", str(file))
            with file.open() as text:
                found[source] = [as_row(program, record, source) for record in csv.DictReader(text)]
    return found
