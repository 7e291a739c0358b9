"""Answers as objects: attributes are the keys of the JSON that the command prints (docs/reference/json.md)."""

from __future__ import annotations

import copy
import shutil
from typing import Any, Iterator, Optional

from . import _roofcast


def wrapped(value: Any) -> Any:
    """Objects as records, lists of objects as rows, all else as it is."""
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list) and value and all(isinstance(inner, dict) for inner in value):
        return Rows(value)
    return value


class Record:
    """Figures by name: `record.latency_ms`, or `record["latency_ms"]`."""

    _data: dict

    def __init__(self, data: dict) -> None:
        object.__setattr__(self, "_data", data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_data":
            raise AttributeError(name)
        if name not in self._data:
            hint = _roofcast.did_you_mean(name, list(self._data))
            raise AttributeError(f"{type(self).__name__} has no {name}" + (f"; {hint}" if hint else ""))
        return wrapped(self._data[name])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("answers cannot be changed")

    def __getitem__(self, name: str) -> Any:
        return wrapped(self._data[name])

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def keys(self):
        """Names of the figures."""
        return self._data.keys()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self):
        return [*super().__dir__(), *(key for key in self._data if key.isidentifier())]

    def to_dict(self) -> dict:
        """A copy as dictionaries and lists, equal to the command's JSON."""
        return copy.deepcopy(self._data)

    def __reduce__(self):
        return type(self), (self._data,)

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self._data.items() if not isinstance(value, (dict, list)))
        return f"{type(self).__name__}({shown})"


class Rows(list):
    """A list of records."""

    def __init__(self, rows: list) -> None:
        super().__init__(row if isinstance(row, Record) else Record(row) for row in rows)

    def to_pandas(self):
        """A pandas.DataFrame with a column a figure."""
        import pandas

        return pandas.DataFrame([row.to_dict() for row in self])


class Listing(Rows):
    """A list of records that a command lists."""

    def __init__(self, rows: list, report: Any) -> None:
        super().__init__(rows)
        self._report = report

    def to_pandas(self):
        """A pandas.DataFrame with the columns of `--format csv`."""
        import pandas

        return pandas.DataFrame(self._report.columns())

    def __reduce__(self):
        return type(self), ([row.to_dict() for row in self], Printed(self._report))

    def __repr__(self) -> str:
        return self._report.text(shutil.get_terminal_size().columns).rstrip("\n")

    def _repr_html_(self) -> str:
        return self._report.fragment()


class Result(Record):
    """An answer: figures by name, and text, tables and charts for people."""

    _report: Any

    def __init__(self, data: dict, report: Any) -> None:
        super().__init__(data)
        object.__setattr__(self, "_report", report)

    def to_pandas(self):
        """The main table, as `--format csv` prints it, as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self._report.columns())

    def charts(self) -> list:
        """The charts as SVG documents."""
        return self._report.charts()

    def to_html(self, title: Optional[str] = None) -> str:
        """A whole page that opens without a network, as `--format html` writes it."""
        return self._report.page(title or "roofcast")

    def __reduce__(self):
        return type(self), (self._data, Printed(self._report))

    def __repr__(self) -> str:
        return self._report.text(shutil.get_terminal_size().columns).rstrip("\n")

    def _repr_html_(self) -> str:
        return self._report.fragment()


class Printed:
    """What a report prints, for another process."""

    def __init__(self, report: Any) -> None:
        self._text, self._fragment, self._page = report.text(100), report.fragment(), report.page("roofcast")
        self._charts, self._columns = report.charts(), report.columns()

    def text(self, width: int) -> str:
        return self._text

    def fragment(self) -> str:
        return self._fragment

    def page(self, title: str) -> str:
        return self._page

    def charts(self) -> list:
        return self._charts

    def columns(self) -> dict:
        return self._columns
