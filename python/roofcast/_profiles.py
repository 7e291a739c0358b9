"""GPUs and models as objects that can be loaded, inspected, changed and made."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pathlib
import re
import tempfile
import tomllib
import warnings
from typing import Any, Iterator, Optional, Union

from . import _data, _roofcast, _toml
from ._errors import Error, Note
from ._records import Record, wrapped


@contextlib.contextmanager
def _file_of(text: str, name: str, called: str, blocks: Optional[pathlib.Path] = None, has_lines: bool = False) -> Iterator[str]:
    """A file with this text for as long as it is needed, beside `blocks` where these are. No user knows it: errors say what it is `called`
    instead, and the line where the text `has_lines` of the user's.
    """
    with tempfile.TemporaryDirectory(prefix="roofcast-") as folder:
        path = pathlib.Path(folder) / re.sub(r"[^A-Za-z0-9._-]", "-", name)
        path.write_text(text, encoding="utf-8")
        if blocks is not None and blocks.is_dir():
            (path.parent / "blocks").symlink_to(blocks.resolve())
        try:
            yield str(path)
        except Error as e:
            message = str(e)
            if e.file == str(path):
                message = message.replace(f"{path}:{e.line}", f"{called}, line {e.line}" if has_lines else called)
                e.file, e.line = None, e.line if has_lines else None
            e.args = (message.replace(str(path), called),)
            raise


class _Described:
    """What GPUs and models have in common: a core that predicts, and a document that describes it."""

    _kind = ""
    _show: tuple = ()
    _tables: tuple = ()
    _blocks: Optional[pathlib.Path] = None  #: folder beside the file that it was read from
    _core: Any
    _document: Any
    _figures: Any
    _report: Any
    _source: str
    _ending: str
    _changed: bool

    def __init__(self, source: Union[str, os.PathLike], **changes: Any) -> None:
        self._set(_source=os.fspath(source), _document=None, _changed=False, _figures=None, _ending=".toml")
        self._set(_core=self._loaded(self._source))
        self.update(**changes)

    def _set(self, **members: Any) -> None:
        for name, value in members.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _of_text(cls, text: str, document: dict, ending: str, name: str):
        made = cls.__new__(cls)
        made._set(_source=name, _document=document, _changed=True, _figures=None, _ending=ending)
        with _file_of(text, name + ending, f"{cls.__name__} {name}", has_lines=True) as path:
            made._set(_core=made._loaded(path))
        return made

    @classmethod
    def from_file(cls, path: Union[str, os.PathLike], **changes: Any):
        """Of a file in any format that the command reads."""
        path = os.fspath(path)
        return cls(path if os.sep in path else os.path.join(".", path), **changes)

    @classmethod
    def from_toml(cls, text: str):
        """Of TOML text, as in a file."""
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as e:
            raise Error(f"not valid TOML: {e}", what="not valid TOML", found=str(e)) from None
        return cls._of_text(text, document, ".toml", str(document.get("id", f"made-{cls._kind}")))

    def _loaded(self, name: str) -> Any:
        raise NotImplementedError

    def _read(self) -> dict:
        """The document that describes it."""
        raise NotImplementedError

    @property
    def document(self) -> dict:
        """A copy of its keys and values, as in its file."""
        return copy.deepcopy(self._own_document())

    def _own_document(self) -> dict:
        if self._document is None:
            self._set(_document=self._read())
        return self._document

    def _text(self, document: dict) -> str:
        return json.dumps(document) if self._ending == ".json" else _toml.dumps(document)

    @contextlib.contextmanager
    def _argument(self) -> Iterator[str]:
        """What names it on a command line."""
        if not self._changed:
            yield self._source
            return
        with self._file_of_document(self._own_document()) as path:
            yield path

    def _file_of_document(self, document: dict) -> contextlib.AbstractContextManager:
        name = self._core.id
        return _file_of(self._text(document), name + self._ending, f"{type(self).__name__} {name}", self._blocks)

    def _place(self, document: dict, name: str) -> Optional[tuple]:
        """Where the value called `name` is, or would be: itself, `table_key`, or the key of the only table that has it."""
        if name in document:
            return (name,)
        for table in self._tables:
            if name.startswith(table + "_") and isinstance(document.get(table), dict):
                return (table, name[len(table) + 1:])
        found = [table for table in self._tables if isinstance(document.get(table), dict) and name in document[table]]
        return (found[0], name) if len(found) == 1 else None

    def _names(self) -> list:
        document = self._own_document()
        names = list(document)
        for table in self._tables:
            names += [f"{table}_{key}" for key in document.get(table, {})]
        return names

    def update(self, **changes: Any) -> None:
        """Changes several values at once, where one alone would contradict the others. None takes a value away."""
        if not changes:
            return
        document = copy.deepcopy(self._own_document())
        for name, value in changes.items():
            place = self._place(document, name) or self._new_place(document, name)
            table = document if len(place) == 1 else document.setdefault(place[0], {})
            if value is None:
                table.pop(place[-1], None)
            else:
                table[place[-1]] = value
        with self._file_of_document(document) as path:
            core = self._loaded(path)
        self._set(_core=core, _document=document, _changed=True, _figures=None)

    def _new_place(self, document: dict, name: str) -> tuple:
        """Where a value goes that the document does not have yet: the loader refuses what it does not know."""
        return (name,)

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(**{name: value})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("id", "name", "file", "family") and hasattr(self._core, name):
            return getattr(self._core, name)
        document = self._own_document()
        place = self._place(document, name)
        if place is not None:
            table = document if len(place) == 1 else document[place[0]]
            if place[-1] in table:
                return wrapped(copy.deepcopy(table[place[-1]]))
        figures = self.figures
        if name in figures:
            return figures[name]
        hint = _roofcast.did_you_mean(name, self._names() + list(figures))
        raise AttributeError(f"{self.id} has no {name}" + (f"; {hint}" if hint else ""))

    def __dir__(self):
        return [*super().__dir__(), *self._names(), *self.figures]

    @property
    def figures(self) -> Record:
        """What the command's `show` says of it, derived and assumed values included."""
        if self._figures is None:
            with self._argument() as name:
                reports, _, _ = _roofcast.answer([*self._show, name])
            self._set(_figures=Record(self._chosen(reports[0].document())), _report=reports[0])
        return self._figures

    def _chosen(self, document: dict) -> dict:
        return document

    def copy(self):
        """One of its own that can be changed."""
        other = type(self).__new__(type(self))
        other._set(**{name: copy.deepcopy(value) if name == "_document" else value for name, value in self.__dict__.items()})
        return other

    def __reduce__(self):
        if not self._changed:
            return type(self), (self._source,)
        return type(self)._of_text, (self._text(self._own_document()), self._own_document(), self._ending, self._core.id)

    def __repr__(self) -> str:
        return f"roofcast.{type(self).__name__}({self._source!r})" + (" # changed" if self._changed else "")

    def _repr_html_(self) -> str:
        self.figures
        return self._report.fragment()


class Gpu(_Described):
    """A GPU: an id, alias or file, or TOML text with `Gpu.from_toml`.

    Values of its file are attributes, by their table and key: `gpu.memory_bandwidth_gb_s`, `gpu.power_tdp_watts`, `gpu.compute_sm_count`;
    the table may be left out where no other has the key. Units are in the names. What the file does not state is there too, as
    `roofcast gpu show` says it. A value that is set is checked at once; `update` sets several.

    A changed GPU has an id and a name of its own, "h100-sxm5-80gb-changed" unless you set `gpu.id` and `gpu.name`. It keeps the fitted
    efficiencies and the prices of the GPU that it was changed from.
    """

    id: str  #: can be set; of a changed one by default that of its origin and "-changed"
    name: str  #: can be set

    _kind = "gpu"
    _show = ("gpu", "show")
    _tables = ("memory", "compute", "interconnect", "power")

    def _loaded(self, name: str) -> Any:
        gpu, notes = _data.current().gpu(name)
        for note in notes:
            warnings.warn(note, Note, stacklevel=4)
        return gpu

    def _read(self) -> dict:
        with open(self._core.file, "rb") as file:
            return tomllib.load(file)

    def update(self, **changes: Any) -> None:
        """Changes several values at once, where one alone would contradict the others. None takes a value away."""
        if changes and not self._changed:
            origin = self._own_document().get("changed_from", self.id)
            own = {"id": f"{self.id}-changed", "name": f"{self.name} (changed)"}
            if _data.current().is_origin(origin):  # a file of the user's may have no fit to keep
                own["changed_from"] = origin
            changes = {**own, **changes}
        super().update(**changes)

    def _new_place(self, document: dict, name: str) -> tuple:
        if name in ("id", "changed_from"):
            return (name,)
        for table in self._tables:
            if name.startswith(table + "_"):
                return (table, name[len(table) + 1:])
        hint = _roofcast.did_you_mean(name, self._names())
        if hint:
            raise Error(f"{self.id} has no {name}; {hint}", what="unknown value of a GPU", key=name, suggestion=hint)
        return (name,)

    def _chosen(self, document: dict) -> dict:
        return {**document["gpu"], **{key: value for key, value in document.items() if key not in ("gpu", "schema_version")}}


class Model(_Described):
    """A model: an id, alias or hub id, a file, `file.toml#id`, or text with `Model.from_toml` and `Model.from_config`.

    Values of its file are attributes: `model.layers`, `model.hidden`; and so is what `roofcast model show` says of it, such as
    `model.parameters` and `model.kv_bytes_per_token`. A value that is set is checked at once; `update` sets several.
    """

    _kind = "model"
    _show = ("model", "show")

    @classmethod
    def from_config(cls, config: Union[str, dict], name: str = "made-model"):
        """Of a Hugging Face config.json, as text or dictionary; `name` becomes its id."""
        document = json.loads(config) if isinstance(config, str) else copy.deepcopy(config)
        return cls._of_text(json.dumps(document), document, ".json", name)

    def _loaded(self, name: str) -> Any:
        return _data.current().model(name)

    def _read(self) -> dict:
        file = self._core.file
        if file.endswith(".json"):
            self._set(_ending=".json")
            with open(file, encoding="utf-8") as text:
                return json.load(text)
        if not file.endswith(".toml"):
            raise Error(f"{self._core.id} is described by {file}, whose values cannot be read or changed here",
                        what="the values of this format cannot be read or changed here", file=file)
        self._set(_blocks=pathlib.Path(file).parent / "blocks")
        with open(file, "rb") as text:
            shared = tomllib.load(text)
        return _variant_of(shared, self._core.id)


def _variant_of(shared: dict, model: str) -> dict:
    """The keys of a model of several in a file, over those that all have."""
    variants = shared.pop("variant", None)
    if variants is None:
        return shared
    own = next(v for v in variants if v.get("id") == model or model in v.get("same_padding_aliases", []))
    document = {**shared, **own}
    for key, value in shared.items():
        if isinstance(value, dict) and isinstance(own.get(key), dict):
            document[key] = {**value, **own[key]}
    return document
