"""Times of single steps of a serving engine, for simulators."""

from __future__ import annotations

from typing import Any, Optional

from . import _calls, _data, _roofcast


class StepModel:
    """A model on a GPU under an engine, which prices steps in about a microsecond.

    A step computes tokens of prompts and one token of each decoding sequence. Times are interpolated in a table. They differ from
    `exact_step_us` by at most 0.2 % in the mean, by at most 1.5 % where a step has decodes or prompts alone, and by at most 4 % where it
    has both: as tested for one prompt that has nothing in the cache, and contexts of up to 16384 tokens. Several prompts, and chunks of
    prompts with long caches, can differ by tens of percent. A step at new sizes first computes points of the table, in up to some
    milliseconds; `prepare` computes them ahead. Any number of threads may share one.

    Keywords are those of `predict`, such as software, precision, weights, kv, tp, pp, ep, execution, and the largest step:
    max_sequences (1024), max_tokens (65536) and max_context (tokens; the model's, at most 131072).
    """

    def __init__(self, model: _calls.ModelLike, gpu: _calls.GpuLike, software: Optional[str] = None, **settings: Any) -> None:
        self.model, self.gpu = _calls.model_of(model), _calls.gpu_of(gpu)
        self._settings = {"software": software, **settings}
        self._times = _roofcast.StepTimes(_data.current(), self.model._core, self.gpu._core, _calls.settings_of(self._settings))

    def step_us(self, prefill_tokens: int = 0, decode_sequences: int = 0, context: float = 1, prefill_sequences: int = 1,
                prefill_past: float = 0) -> float:
        """Microseconds of one step.

        prefill_tokens: tokens of all prompts that the step computes.
        decode_sequences: sequences that get one token each.
        context: mean tokens in the caches of these, the new one included.
        prefill_sequences: prompts that prefill_tokens belong to.
        prefill_past: tokens that each of these prompts has in the cache already.
        """
        return self._times.step_us(prefill_tokens, decode_sequences, context, prefill_sequences, prefill_past)

    def exact_step_us(self, prefill_tokens: int = 0, decode_sequences: int = 0, context: float = 1, prefill_sequences: int = 1,
                      prefill_past: float = 0) -> float:
        """Microseconds of the same step from its kernels, without the table: some hundred times slower."""
        return self._times.exact_step_us(prefill_tokens, decode_sequences, context, prefill_sequences, prefill_past)

    def prepare(self) -> None:
        """Computes the table for steps of at most one prompt ahead, on all cores: some seconds."""
        self._times.prepare()

    @property
    def max_sequences(self) -> int:
        """Largest number of decoding sequences, and of prompts, in a step."""
        return self._times.max_sequences

    @property
    def max_tokens(self) -> int:
        """Largest number of tokens in a step."""
        return self._times.max_tokens

    @property
    def max_context(self) -> int:
        """Largest number of tokens in the cache of a sequence."""
        return self._times.max_context

    def __reduce__(self):
        return _made, (self.model, self.gpu, self._settings)

    def __repr__(self) -> str:
        return f"roofcast.StepModel({self.model.id!r}, {self.gpu.id!r})"


def _made(model: Any, gpu: Any, settings: dict) -> StepModel:
    return StepModel(model, gpu, **settings)
