"""Which framework operators are timed, and on which shapes. No torch here: `--list` works without it."""
import math
import random
from dataclasses import dataclass, field

OPERATORS = ("linear", "bmm", "conv2d", "attention", "softmax", "layernorm", "rmsnorm", "elementwise")
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
ELEMENTWISE = ("add", "mul", "relu", "gelu", "tanh")  # of the designed cases
BINARY = ("add", "sub", "mul", "div", "pow")
WITH_A_SCALAR = ("add_scalar", "sub_scalar", "mul_scalar", "div_scalar", "pow_scalar")
UNARY = ("relu", "gelu", "silu", "sigmoid", "tanh", "exp", "sqrt", "neg")
HIDDEN_SIZES = (384, 768, 1024, 1280, 2048, 2560, 4096, 5120, 8192)
LARGEST_BYTES = 4e9  # of all operands
SHAPES = {"linear": 60, "bmm": 30, "conv2d": 40, "attention": 30, "softmax": 24, "layernorm": 24, "rmsnorm": 12, "elementwise": 30}
PLANNING_RATE = {"fp32": 10e12}  # FLOP/s of a middling GPU; other precisions 60e12
PLANNING_BANDWIDTH = 500e9


@dataclass(frozen=True)
class Operator:
    """One operator on one shape; `cells` are the columns of the measurement format that describe it."""

    kind: str  # of OPERATORS
    precision: str
    cache: str  # cold or warm
    cells: tuple = field(default=())  # (column, value) pairs

    def __getitem__(self, column):
        return dict(self.cells)[column]

    def label(self):
        return f"{self.kind} {self.precision} {self.cache} " + " ".join(f"{k}={v}" for k, v in self.cells)


def log_uniform(draw, low, high):
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def multiple(value, of):
    return max(of, value // of * of)


def linear(draw):
    step = draw.choice((1, 8, 64, 64, 128))
    sizes = {"m": log_uniform(draw, 1, 16384), "n": multiple(log_uniform(draw, 64, 32768), step), "k": multiple(log_uniform(draw, 64, 16384), step)}
    return {"function": draw.choice(("linear", "linear_bias")), "batch": 1, **sizes}


def bmm(draw):
    """Of attention without fusion: scores, or values."""
    rows, cols, head = multiple(log_uniform(draw, 16, 4096), 8), multiple(log_uniform(draw, 16, 4096), 8), draw.choice((32, 64, 80, 128))
    n, k = draw.choice(((cols, head), (head, cols)))
    return {"function": "bmm", "batch": log_uniform(draw, 2, 512), "m": rows, "n": n, "k": k}


def conv2d(draw):
    depthwise = draw.random() < 0.2
    kernel, stride = draw.choice((3, 5, 7) if depthwise else (1, 1, 3, 3, 5, 7)), draw.choice((1, 1, 2))
    size = log_uniform(draw, 7, 224)
    channels, outputs = 8 * log_uniform(draw, 1, 128), 8 * log_uniform(draw, 1, 128)
    return {"batch": log_uniform(draw, 1, 128), "in_channels": channels, "height": size, "width": size, "out_channels": channels if depthwise else outputs,
            "kernel_size": kernel, "stride": stride, "padding": kernel // 2, "groups": channels if depthwise else 1, "layout": draw.choice(("nchw", "nhwc"))}


def attention(draw):
    """Prefill with as many key heads as query heads, as frameworks' scaled_dot_product_attention is called by most models."""
    heads, length = draw.choice((12, 16, 32)), log_uniform(draw, 32, 8192)
    return {"batch": log_uniform(draw, 1, 64), "heads": heads, "kv_heads": heads, "head_dim": draw.choice((64, 128)), "query_len": length,
            "kv_len": length, "causal": draw.choice((0, 1))}


def row_wise(draw):
    cols = draw.choice(HIDDEN_SIZES) if draw.random() < 0.6 else log_uniform(draw, 16, 16384)
    return {"rows": log_uniform(draw, 1, 65536), "cols": cols}


def elementwise(draw):
    return {"function": draw.choice(ELEMENTWISE), "elements": log_uniform(draw, 1000, 3e8)}


DRAWERS = {"linear": linear, "bmm": bmm, "conv2d": conv2d, "attention": attention, "softmax": row_wise, "layernorm": row_wise, "rmsnorm": row_wise,
           "elementwise": elementwise}


def element_bytes(precision):
    return 2 if precision in ("bf16", "fp16") else 4


def work(op):
    """(FLOPs, bytes) of one call, each operand once."""
    size = element_bytes(op.precision)
    if op.kind in ("linear", "bmm"):
        b, m, n, k = (op[c] for c in ("batch", "m", "n", "k"))
        return 2 * b * m * n * k, size * b * (m * k + k * n + m * n)
    if op.kind == "conv2d":
        out = (op["height"] + 2 * op["padding"] - op["kernel_size"]) // op["stride"] + 1
        taps = op["kernel_size"] ** 2 * op["in_channels"] // op["groups"]
        pixels_in, pixels_out = op["batch"] * op["height"] ** 2, op["batch"] * out**2
        return 2 * pixels_out * op["out_channels"] * taps, size * (pixels_in * op["in_channels"] + pixels_out * op["out_channels"] + op["out_channels"] * taps)
    if op.kind == "attention":
        tokens = op["batch"] * op["heads"] * op["query_len"] * op["head_dim"]
        return 4 * tokens * op["kv_len"], 4 * size * tokens
    elements = op["rows"] * op["cols"] if "rows" in dict(op.cells) else op["elements"]
    return 8 * elements, 3 * size * elements


def offered(op):
    """Leaves out attention in full precision, which no fused kernel offers, and what does not fit or takes long."""
    flops, moved = work(op)
    if op.kind == "attention" and element_bytes(op.precision) != 2:
        return False
    return moved <= LARGEST_BYTES and flops <= (2e12 if op.precision == "fp32" else 1e13)


def operators(selection_kinds, selection_precisions, seed):
    """All cases in random but fixed order, so that a cut run has something of everything."""
    found = []
    for kind in OPERATORS:
        for precision in PRECISIONS:
            draw = random.Random(f"{seed} {kind} {precision}")  # choosing one kind leaves the shapes of the others as they are
            drawn = [Operator(kind, precision, draw.choice(("cold", "warm")), tuple(DRAWERS[kind](draw).items())) for _ in range(SHAPES[kind])]
            if kind in (selection_kinds or OPERATORS) and precision in (selection_precisions or PRECISIONS):
                found += [(rank / SHAPES[kind], op) for rank, op in enumerate(drawn) if offered(op)]
    return [op for _, op in sorted(found, key=lambda entry: entry[0])]


def expected_seconds(op):
    """For planning only."""
    flops, moved = work(op)
    return 0.1 + 40 * max(flops / PLANNING_RATE.get(op.precision, 60e12), moved / PLANNING_BANDWIDTH)
