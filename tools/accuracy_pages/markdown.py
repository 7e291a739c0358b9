"""Small parts of pages."""

TITLES = {
    "llm_prefill": "language models, prefill", "llm_decode": "language models, decode", "llm_generate": "language models, whole requests",
    "vision": "image models, detectors", "encoder": "encoders", "other_model": "other models", "gemm": "GEMM", "attention": "attention",
    "convolution": "convolution", "memory_bound": "element-wise, norms, softmax", "quantization": "quantization",
    "recurrent": "recurrence, hyper-connections", "sparse_attention": "sparse attention", "experts": "mixture of experts",
    "collectives": "collectives, copies", "serving_ttft": "TTFT", "serving_tpot": "TPOT", "serving_throughput": "throughput",
    "serving_latency": "latency of a batch", "memory_weights": "weights", "memory_kv_cache": "KV cache",
    "memory_other": "activations, CUDA graphs", "memory_peak": "peak of a run",
}
MODELS = ("llm_prefill", "llm_decode", "llm_generate", "vision", "encoder", "other_model")
# Names that engines write of themselves.
ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM", "llama-cpp": "llama.cpp", "pytorch": "PyTorch",
           "tensorrt": "TensorRT", "tensorflow": "TensorFlow", "fastertransformer": "FasterTransformer", "transformers": "Transformers"}


def engine_name(family):
    return ENGINES.get(family, family)


def percent(value):
    """Three significant digits at most: "9.43", "12.1", "127"; "-" for nothing."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}".rstrip("0").rstrip(".")


def table(headers, lines):
    """A Markdown table; numbers stand to the right."""
    numeric = [bool(lines) and all(isinstance(l[c], int) or l[c] == "-" or str(l[c]).replace(".", "", 1).lstrip("-").isdigit() for l in lines)
               for c in range(len(headers))]
    out = ["| " + " | ".join(headers) + " |", "|" + "|".join("---:" if n else "---" for n in numeric) + "|"]
    out += ["| " + " | ".join(str(c) for c in l) + " |" for l in lines]
    return "\n".join(out) + "\n"


def wrapped(text, width=110):
    """A paragraph in lines of `width`."""
    lines, current = [], ""
    for word in text.split():
        if current and len(current) + 1 + len(word) > width:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}" if current else word
    return "\n".join([*lines, current]) + "\n"


def count(number, what):
    return f"{number:,} {what}{'' if number == 1 else 's'}"
