"""Grids of predictions as columns."""

from __future__ import annotations

import html
import textwrap
from typing import Any, Iterator, Optional, Sequence

from . import _calls, _data, _roofcast
from ._errors import Error


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


class Texts:
    """A column of texts: `codes` (int32, -1 for none) of `categories`, as pandas.Categorical and dictionaries of Arrow have them."""

    def __init__(self, codes: Any, categories: Sequence[str]) -> None:
        self.codes, self.categories = codes, list(categories)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) or getattr(index, "ndim", 0) > 0:
            return Texts(self.codes[index], self.categories)
        code = self.codes[index]
        return None if code < 0 else self.categories[code]

    def __iter__(self) -> Iterator[Optional[str]]:
        names = [*self.categories, None]
        return (names[code] for code in self.codes)

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, Texts):
            return list(self) == list(other)
        code = self.categories.index(other) if other in self.categories else -2
        return self.codes == code if _numpy() is not None else [one == code for one in self.codes]

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return _numpy().array([*self.categories, None], dtype=object)[self.codes]

    def tolist(self) -> list:
        return list(self)

    def __repr__(self) -> str:
        return f"Texts({len(self)} rows of {len(self.categories)}: {', '.join(self.categories[:6])}{', …' * (len(self.categories) > 6)})"


def _array(column: Any) -> Any:
    """The values in place: a NumPy array, or a memoryview where there is no NumPy."""
    numpy = _numpy()
    values = memoryview(column)
    return values if numpy is None else numpy.asarray(values)


class Sweep:
    """Predictions of a grid, a row a point: `sweep["latency_ms"]`, `len(sweep)`, `sweep.to_pandas()`.

    Columns are those of `roofcast sweep --format csv`, with units in their names. Numbers are NumPy arrays of float64 (NaN: none) or
    int64, or memoryviews where there is no NumPy. Texts are `Texts`. `reason` says why a point cannot run.
    """

    def __init__(self, columns: dict, grid_points: int) -> None:
        self.columns = columns
        self.grid_points = grid_points

    def __getitem__(self, key: str) -> Any:
        try:
            return self.columns[key]
        except KeyError:
            hint = _roofcast.did_you_mean(key, list(self.columns)) if isinstance(key, str) else "columns have names; row(i) is a point"
            raise KeyError(f"no column {key}" + (f"; {hint}" if hint else "")) from None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, key: Any) -> bool:
        return key in self.columns

    def keys(self):
        """Names of the columns."""
        return self.columns.keys()

    def row(self, index: int) -> dict:
        """One point as a dictionary; None stands where there is no value."""
        return {key: _plain(values[index]) for key, values in self.columns.items()}

    def to_dict(self) -> dict:
        """Lists by column."""
        return {key: [_plain(value) for value in values] for key, values in self.columns.items()}

    def to_pandas(self):
        """A pandas.DataFrame. Numbers are not copied; texts become categories."""
        import pandas

        return pandas.DataFrame(
            {key: pandas.Categorical.from_codes(values.codes, values.categories) if isinstance(values, Texts) else values
             for key, values in self.columns.items()}, copy=False)

    def to_arrow(self):
        """A pyarrow.Table. Numbers are not copied; texts become dictionaries."""
        import pyarrow

        def arrow(values: Any) -> Any:
            if not isinstance(values, Texts):
                return pyarrow.array(values)
            absent = values.codes < 0
            return pyarrow.DictionaryArray.from_arrays(pyarrow.array(values.codes, mask=absent), values.categories)

        return pyarrow.table({key: arrow(values) for key, values in self.columns.items()})

    @staticmethod
    def concat(parts: Sequence["Sweep"]) -> "Sweep":
        """Parts of a grid, such as its shards in their order, as one. Needs NumPy."""
        if not parts:
            raise Error("concat needs at least one sweep", what="nothing to join", key="parts")
        columns = {key: _joined([part.columns[key] for part in parts]) for key in parts[0].columns}
        return Sweep(columns, parts[0].grid_points)

    def _is_constant(self, key: str) -> bool:
        values = self.columns[key]
        values = values.codes if isinstance(values, Texts) else values
        return len(self) > 1 and (bool((values == values[0]).all()) if _numpy() else all(value == values[0] for value in values))

    def _head(self, most: int) -> tuple:
        """What people are shown: what is the same in every row, then columns and the first rows. Columns without values are left out."""
        rows = [self.row(i) for i in range(min(most, len(self)))]
        shown = [key for key in self.columns if any(row[key] is not None for row in rows)]
        same = [key for key in shown if self._is_constant(key)]
        keys = [key for key in shown if key not in same]
        return ", ".join(f"{key} {_short(rows[0][key])}" for key in same), keys, [[_short(row[key]) for key in keys] for row in rows]

    def __repr__(self) -> str:
        same, keys, rows = self._head(12)
        keys, rows = keys[:10], [row[:10] for row in rows]
        widths = [max([len(key), *(len(row[i]) for row in rows)]) for i, key in enumerate(keys)]
        lines = [f"Sweep of {len(self)} points, {len(self.columns)} columns"]
        lines += textwrap.wrap("in every row: " + same, 100, subsequent_indent="  ") if same else []
        lines += ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in [keys, *rows]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        same, keys, rows = self._head(20)
        head = "".join(f"<th>{html.escape(key)}</th>" for key in keys)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
        note = f"<p>In every row: {html.escape(same)}</p>" if same else ""
        return (f'<div class="roofcast" style="overflow-x:auto"><p><b>Sweep of {len(self)} points</b></p>{note}<table><thead><tr>{head}</tr>'
                f"</thead><tbody>{body}</tbody></table></div>")


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value != value else value


def _short(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _joined(parts: list) -> Any:
    numpy = _numpy()
    if not any(isinstance(part, Texts) for part in parts):
        return numpy.concatenate(parts)
    categories: dict = {}
    codes = []
    for part in parts:
        if not isinstance(part, Texts):  # a shard without any text in this column
            codes.append(numpy.full(len(part), -1, dtype=numpy.int32))
            continue
        own = [categories.setdefault(category, len(categories)) for category in part.categories]
        codes.append(numpy.array([*own, -1], dtype=numpy.int32)[part.codes])
    return Texts(numpy.concatenate(codes), list(categories))


def sweep(model: Any, gpu: Any, keywords: dict, columns: Optional[Sequence[str]], shard: Optional[str], threads: Optional[int]) -> Sweep:
    models = [_calls.model_of(one)._core for one in _calls.listed(model)]
    gpus = [_calls.gpu_of(one)._core for one in _calls.listed(gpu)]
    settings = [(name, [_calls.text_of(one) for one in _calls.listed(value)]) for name, value in keywords.items() if value is not None]
    by_key, size, notes = _roofcast.sweep(_data.current(), models, gpus, settings, list(columns or []), shard or "1/1", threads or 0)
    _calls.tell(notes)
    arrays = {key: Texts(_array(column), column.categories) if column.texts else _array(column) for key, column in by_key.items()}
    return Sweep(arrays, size)
