"""Which models, shapes and modes are timed. No torch here: `--list` works without it."""
import random
from dataclasses import dataclass

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
GENERATING_BATCHES = (1, 2, 4, 8, 16, 32, 64)
PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "int8")
EXECUTIONS = ("eager", "compiled", "cuda_graph")
PROMPTS = (128, 1024, 4096)
CONTEXTS = (128, 1024, 4096)
COMPILED_BATCHES = (1, 8, 64)  # compiling takes most of a minute
ORDER_SEED = 1


@dataclass(frozen=True)
class Model:
    """A model that builders.py can build. `id` is the one of `roofcast model list`."""

    id: str
    family: str  # cnn, vit, encoder, llm or vlm: the first three run forward, the others prefill and decode
    image_size: int = 0  # pixels; 0: no image
    lengths: tuple = ()  # tokens of an encoder's input
    parameters: float = 0  # for the expected duration, as is the next
    image_operations: float = 0  # of one image, a multiply-add counting two

    @property
    def generates(self):
        return self.family in ("llm", "vlm")

    @property
    def channels_last(self):
        return self.family == "cnn"


MODELS = (
    Model("resnet50", "cnn", 224, parameters=25.6e6, image_operations=8.2e09),
    Model("convnext-base", "cnn", 224, parameters=88.6e6, image_operations=3.08e10),
    Model("vit-base-patch16-224", "vit", 224, parameters=86.6e6, image_operations=3.52e10),
    Model("vit-large-patch16-224", "vit", 224, parameters=304e6, image_operations=1.23e11),
    Model("bert-base", "encoder", lengths=(128, 512), parameters=110e6),
    Model("bert-large", "encoder", lengths=(128, 512), parameters=335e6),
    Model("all-minilm-l6-v2", "encoder", lengths=(128, 256), parameters=22.7e6),
    Model("llama-3.2-1b", "llm", parameters=1.24e9),
    Model("llama-3.2-3b", "llm", parameters=3.21e9),
    Model("llama-3.1-8b", "llm", parameters=8.03e9),
    Model("llama-2-7b", "llm", parameters=6.74e9),
    Model("llama-2-13b", "llm", parameters=13.0e9),
    Model("mixtral-8x7b-8-layers", "llm", parameters=11.8e9),
    Model("qwen2.5-vl-3b", "vlm", 448, parameters=3.75e9, image_operations=1.3e12),
)


@dataclass(frozen=True)
class Case:
    model: Model
    precision: str
    batch: int
    phase: str  # forward, prefill or decode
    execution: str
    tokens: int = 0  # input of an encoder, prompt of a prefill, tokens in the cache of a decode

    def label(self):
        """For people and for the JSON: 'llama-3.1-8b bf16 decode eager batch=8 tokens=1024'."""
        tokens = f" tokens={self.tokens}" if self.tokens else ""
        return f"{self.model.id} {self.precision} {self.phase} {self.execution} batch={self.batch}{tokens}"


@dataclass(frozen=True)
class Selection:
    """What the user asked for. None means all."""

    models: tuple = None
    precisions: tuple = None
    executions: tuple = None
    phases: tuple = None
    batches: tuple = None


def wanted(choices, value):
    return choices is None or value in choices


def shapes(model):
    """(phase, tokens) pairs of a model."""
    if model.generates:
        return [("prefill", n) for n in PROMPTS] + [("decode", n) for n in CONTEXTS]
    return [("forward", n) for n in model.lengths or (0,)]


def worthwhile(case):
    """Leaves out what takes minutes and says nothing new: fp32 of billions of parameters, prompts of a million tokens."""
    if case.model.generates and case.precision in ("fp32", "tf32"):
        return False
    if case.execution == "compiled" and case.batch not in COMPILED_BATCHES:
        return False
    return case.phase != "prefill" or case.batch * case.tokens <= 32768


def cases(selection):
    """All cases in random but fixed order, so that a cut run has something of everything."""
    found = []
    for model in MODELS:
        if not wanted(selection.models, model.id):
            continue
        for batch in GENERATING_BATCHES if model.generates else BATCHES:
            for phase, tokens in shapes(model):
                for precision in PRECISIONS:
                    for execution in EXECUTIONS:
                        case = Case(model, precision, batch, phase, execution, tokens)
                        if worthwhile(case) and selects(selection, case):
                            found.append(case)
    random.Random(ORDER_SEED).shuffle(found)
    return found


def selects(selection, case):
    return (
        wanted(selection.precisions, case.precision)
        and wanted(selection.executions, case.execution)
        and wanted(selection.phases, case.phase)
        and wanted(selection.batches, case.batch)
    )


def operations(case):
    """Of one call, about; a multiply-add counting two."""
    images = 0 if case.phase == "decode" else case.model.image_operations
    tokens = 1 if case.phase == "decode" else case.tokens
    return case.batch * (images + 2 * case.model.parameters * tokens)


def expected_seconds(case, runs):
    """Building, compiling and running on a middling GPU, for planning only."""
    build = 1 + case.model.parameters / 1e9
    compiling = 40 if case.execution == "compiled" else 0
    rate = 10e12 if case.precision == "fp32" else 60e12
    one = max(operations(case) / rate, 2 * case.model.parameters / 500e9, 0.002)
    return build + compiling + runs * one
