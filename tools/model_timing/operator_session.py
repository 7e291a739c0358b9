"""Times operators of PyTorch as nodes of a CUDA graph. Imports torch."""
import math

import torch
from torch.nn import functional as f

from .campaign import CaseError
from .operators import BINARY, WITH_A_SCALAR, work

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
WANTED_REPLAY_MS = 0.3
MOST_LAUNCHES = 64
WARM_UP_REPLAYS, RUNS = 3, 20
SCALAR = 3.0  # an exponent that powers have a kernel of their own for, as rows of `pow_scalar` mean
COLD_BYTES = 1e9  # of all copies of the operands: several times the largest L2


def tensor(op, *shape):
    return torch.randn(shape, device="cuda", dtype=DTYPES[op.precision])


def linear(op):
    x, w = tensor(op, op["m"], op["k"]), tensor(op, op["n"], op["k"])
    bias = tensor(op, op["n"]) if op["function"] == "linear_bias" else None
    return lambda: f.linear(x, w, bias)


def bmm(op):
    a, b = tensor(op, op["batch"], op["m"], op["k"]), tensor(op, op["batch"], op["k"], op["n"])
    return lambda: torch.bmm(a, b)


def conv2d(op):
    layout = torch.channels_last if op["layout"] == "nhwc" else torch.contiguous_format
    x = tensor(op, op["batch"], op["in_channels"], op["height"], op["width"]).contiguous(memory_format=layout)
    w = tensor(op, op["out_channels"], op["in_channels"] // op["groups"], op["kernel_size"], op["kernel_size"]).contiguous(memory_format=layout)
    return lambda: f.conv2d(x, w, None, op["stride"], op["padding"], 1, op["groups"])


def attention(op):
    q, k, v = (tensor(op, op["batch"], op["heads"], op["query_len"], op["head_dim"]) for _ in range(3))
    return lambda: f.scaled_dot_product_attention(q, k, v, is_causal=bool(op["causal"]))


def softmax(op):
    x = tensor(op, op["rows"], op["cols"])
    return lambda: f.softmax(x, -1)


def layernorm(op):
    x, w, b = tensor(op, op["rows"], op["cols"]), tensor(op, op["cols"]), tensor(op, op["cols"])
    return lambda: f.layer_norm(x, (op["cols"],), w, b)


def rmsnorm(op):
    x, w = tensor(op, op["rows"], op["cols"]), tensor(op, op["cols"])
    return lambda: f.rms_norm(x, (op["cols"],), w)


def elementwise(op):
    function, x = op["function"], tensor(op, op["elements"])
    if function.startswith("pow") or function == "sqrt":
        x = x.abs()  # of negative numbers there are no results
    if function in BINARY:
        y = tensor(op, op["elements"])
        return lambda: getattr(torch, function)(x, y)
    if function in WITH_A_SCALAR:
        of_two = getattr(torch, function.removesuffix("_scalar"))
        return lambda: of_two(x, SCALAR)
    of_one = getattr(f if function in ("relu", "gelu", "silu") else torch, function)
    return lambda: of_one(x)


MAKERS = {"linear": linear, "bmm": bmm, "conv2d": conv2d, "attention": attention, "softmax": softmax, "layernorm": layernorm, "rmsnorm": rmsnorm,
          "elementwise": elementwise}


class OperatorSession:
    def __init__(self, seed):
        if not torch.cuda.is_available():
            raise SystemExit("measure_operators.py: PyTorch sees no NVIDIA GPU")
        torch.manual_seed(seed)
        self.gpu_name = torch.cuda.get_device_name()
        self.software = f"pytorch {torch.__version__.split('+')[0]} CUDA {torch.version.cuda}"
        self._flushed = torch.ones(64 * 2**20, device="cuda")  # 256 MiB: larger than any L2

    def measure(self, op):
        """Microseconds a call, of each replay. Raises CaseError when it cannot be measured."""
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = op.precision == "tf32"
        try:
            with torch.inference_mode():
                return self._measured(op)
        except torch.cuda.OutOfMemoryError as error:
            raise CaseError("out of memory") from error
        except RuntimeError as error:
            raise CaseError(str(error).splitlines()[0]) from error

    def _measured(self, op):
        calls = [MAKERS[op.kind](op)]
        calls[0]()  # loads the kernel, which takes longer than it runs
        torch.cuda.synchronize()
        estimate_ms = self._timed(calls[0])
        launches = min(MOST_LAUNCHES, max(1, math.ceil(WANTED_REPLAY_MS / estimate_ms)))
        if op.cache == "cold":  # a copy of the operands for each launch, so that none is found in L2
            launches = min(launches, max(1, int(COLD_BYTES / work(op)[1])))
            calls += [MAKERS[op.kind](op) for _ in range(launches - 1)]
        graph = self._captured(calls, launches)
        samples = []
        for i in range(WARM_UP_REPLAYS + RUNS):
            if op.cache == "cold":
                self._flushed.sum()
            else:
                graph.replay()
            elapsed = self._timed(graph.replay)
            if i >= WARM_UP_REPLAYS:
                samples.append(1e3 * elapsed / launches)
        return samples

    @staticmethod
    def _captured(calls, launches):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for call in calls:
                call()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(launches):
                calls[i % len(calls)]()
        return graph

    @staticmethod
    def _timed(call):
        """Milliseconds between two events around a call. A wait before it lets the CPU queue all of it: its cost stays outside."""
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(400_000)  # cycles: some 0.2 ms
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)
