"""From keywords to the library and back: what the functions of the package have in common."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from typing import Any, Iterable, Optional, Union

from . import _data, _roofcast
from ._errors import Error, Note
from ._profiles import Gpu, Model
from ._records import Listing

GpuLike = Union[str, os.PathLike, Gpu]
ModelLike = Union[str, os.PathLike, Model]


@functools.lru_cache(maxsize=256)
def _named_gpu(name: str, data: Any) -> Gpu:
    return Gpu(name)


@functools.lru_cache(maxsize=256)
def _named_model(name: str, data: Any) -> Model:
    return Model(name)


def _described(kind: Any, named: Any, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if isinstance(value, os.PathLike):
        return kind.from_file(value)
    if not isinstance(value, str):
        raise Error(f"a {kind.__name__} or the name of one is needed, found {value!r}", what="wrong type", key=kind._kind, found=repr(value))
    # A file may change between two calls.
    return kind(value) if os.sep in value or os.path.exists(value) else named(value, _data.current())


def gpu_of(value: GpuLike) -> Gpu:
    return _described(Gpu, _named_gpu, value)


def model_of(value: ModelLike) -> Model:
    return _described(Model, _named_model, value)


def forget() -> None:
    """A new fit was written: GPUs are loaded again."""
    _named_gpu.cache_clear()
    _data.forget()


def listed(value: Any) -> list:
    is_array = hasattr(value, "tolist") and getattr(value, "ndim", 1) > 0
    return list(value) if is_array or isinstance(value, (list, tuple, set, frozenset, range)) else [value]


def text_of(value: Any) -> str:
    """A value as a command line has it."""
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()  # of NumPy
    if isinstance(value, dict):
        return "+".join(named(value))  # several names of one point
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def named(value: dict) -> list:
    """Names with their values, as command lines have them: NAME=VALUE."""
    return [f"{name}={text_of(inner)}" for name, inner in value.items()]


def settings_of(keywords: dict) -> list:
    return [(name, "+".join(map(text_of, listed(value)))) for name, value in keywords.items() if value is not None]


def tell(notes: Iterable[str], level: int = 4) -> None:
    for note in notes:
        warnings.warn(note, Note, stacklevel=level)


@functools.lru_cache(maxsize=None)
def options_of(command: tuple) -> dict:
    """Options of a command by keyword."""
    return {option["name"].replace("-", "_"): option for option in _roofcast.options(list(command))}


class _Words:
    """A command line in the making. Objects get files for as long as it is used."""

    def __init__(self, command: tuple, stack: contextlib.ExitStack) -> None:
        self.words = list(command)
        self._options = options_of(command)
        self._stack = stack

    def add(self, keyword: str, value: Any) -> None:
        if value is None:
            return
        option = self._options[keyword]
        name = "--" + option["name"]
        if option["flag"]:
            if value:
                self.words.append(name)
            return
        texts = named(value) if isinstance(value, dict) else [self._text(inner) for inner in listed(value)]
        self.words += [f"{name}={text}" for text in (texts if option["many"] else [",".join(texts)])]

    def _text(self, value: Any) -> str:
        return self._stack.enter_context(value._argument()) if isinstance(value, (Gpu, Model)) else text_of(value)


def answer(command: tuple, keywords: dict, kind: type, level: int = 4) -> Any:
    """The answer of a command. Several reports make a list."""
    with contextlib.ExitStack() as stack:
        words = _Words(command, stack)
        for keyword, value in keywords.items():
            words.add(keyword, value)
        reports, notes, _ = _roofcast.answer(words.words)
    if keywords.get("write"):
        forget()
    tell(notes, level + 1)
    results = [kind(_without_version(report.document()), report) for report in reports]
    return results[0] if len(results) == 1 else results


def _without_version(document: dict) -> dict:
    document.pop("schema_version", None)
    return document


def one(value: Any, keyword: str) -> Any:
    if isinstance(value, (list, tuple)):
        raise Error(f"{keyword}: predict takes one; sweep takes several", what="several values", key=keyword, suggestion="use sweep")
    return value


def predict(kind: type, model: ModelLike, gpu: GpuLike, keywords: dict, explain: Optional[bool]) -> Any:
    model_core, gpu_core = model_of(one(model, "model"))._core, gpu_of(one(gpu, "gpu"))._core
    report, notes = _data.current().predict([model_core], [gpu_core], settings_of(keywords), bool(explain))
    tell(notes)
    return kind(report.document()["predictions"][0], report)


def listing(command: tuple, keywords: dict, key: str) -> Listing:
    """The list that is under `key` of a command's answer."""
    with contextlib.ExitStack() as stack:
        words = _Words(command, stack)
        for keyword, value in keywords.items():
            words.add(keyword, value)
        reports, notes, _ = _roofcast.answer(words.words)
    tell(notes)
    return Listing(reports[0].document()[key], reports[0])
