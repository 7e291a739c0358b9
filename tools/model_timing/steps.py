"""One timed call of a case, as a function without arguments, and what must happen before each call. Imports torch."""
import inspect

import torch

from .builders import DTYPES


class Step:
    """`call` is timed; `prepare` runs before it, outside the time."""

    def __init__(self, call, prepare=lambda: None):
        self.call = call
        self.prepare = prepare


def forward_step(case, model, device):
    if case.model.image_size:
        size = case.model.image_size
        images = torch.randn(case.batch, 3, size, size, device=device, dtype=DTYPES[case.precision])
        if case.model.channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        return Step(lambda: model(images))
    tokens = torch.randint(1000, 30000, (case.batch, case.tokens), device=device)
    return Step(lambda: model(input_ids=tokens))  # no mask, as nothing is padded: looking for padding would wait for the GPU


def static_cache(model, case, length, device):
    """A key-value cache of fixed size. Its constructor's parameters changed over the releases: those it has are given."""
    from transformers import StaticCache

    text_config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    offered = dict(config=text_config, max_batch_size=case.batch, batch_size=case.batch, max_cache_len=length, device=device, dtype=DTYPES[case.precision])
    parameters = inspect.signature(StaticCache.__init__).parameters
    return StaticCache(**{name: value for name, value in offered.items() if name in parameters})


def generation_step(case, model, device):
    """Prefill of a prompt, or one token after `tokens` in the cache; images of a vision-language model join the prefill."""
    vocabulary = 30000
    cache = static_cache(model, case, case.tokens + 64 + image_tokens(case), device)
    inputs = {"past_key_values": cache, "use_cache": True}
    positions = inspect.signature(type(model).forward).parameters
    decodes = case.phase == "decode"
    count = 1 if decodes else case.tokens
    inputs["input_ids"] = torch.randint(1000, vocabulary, (case.batch, count), device=device)
    if case.model.family == "vlm" and not decodes:
        add_images(case, model, inputs, device)
        count = inputs["input_ids"].shape[1]
    if "cache_position" in positions:
        first = case.tokens if decodes else 0
        inputs["cache_position"] = torch.arange(first, first + count, device=device)
    if "logits_to_keep" in positions:
        inputs["logits_to_keep"] = 1
    if decodes:
        fill_cache(case, model, inputs, device)
    return Step(lambda: model(**inputs), (lambda: rewind(cache, case.tokens)) if decodes else cache.reset)


def rewind(cache, tokens):
    """Takes the cache back to `tokens`. Newer releases count in each layer, on the GPU, what was written; older ones take `cache_position`."""
    for layer in getattr(cache, "layers", ()):
        length = getattr(layer, "cumulative_length", None)
        if isinstance(length, torch.Tensor):
            length.fill_(tokens)


def fill_cache(case, model, inputs, device):
    """Keys and values of a random context: zeros would draw less power than a real cache."""
    filling = dict(inputs, input_ids=torch.randint(1000, 30000, (case.batch, case.tokens), device=device))
    if "cache_position" in filling:
        filling["cache_position"] = torch.arange(case.tokens, device=device)
    model(**filling)


def image_tokens(case):
    """Language tokens of one image: patches of 14 pixels, merged two by two."""
    return (case.model.image_size // 28) ** 2 if case.model.family == "vlm" else 0


def add_images(case, model, inputs, device):
    """One image a sequence before the prompt, as pixels cut into patches."""
    side = case.model.image_size // 14
    patch = 3 * 2 * 14 * 14
    image_id = model.config.image_token_id
    marks = torch.full((case.batch, image_tokens(case)), image_id, device=device)
    inputs["input_ids"] = torch.cat([marks, inputs["input_ids"]], dim=1)
    inputs["pixel_values"] = torch.randn(case.batch * side * side, patch, device=device, dtype=DTYPES[case.precision])
    inputs["image_grid_thw"] = torch.tensor([[1, side, side]] * case.batch, device=device)


def step_of(case, model, device):
    return generation_step(case, model, device) if case.model.generates else forward_step(case, model, device)
