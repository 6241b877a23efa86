"""Turn raw columns into the numbers that the network takes, and say which values had to be replaced.

Training, scoring and serving all use `encode`. A copy of this file becomes part of every served model, so it imports
nothing of this project.

An encoding is plain data, written as JSON beside a model:

- ``columns``: the columns of the table, in its order;
- ``numbers``: for each column of numbers its median, and whether values were missing in training (``gap``);
- ``categories``: for each column of texts its ``values``, one feature each, and the ``rare`` values that share one
  feature. ``null`` stands for a missing value;
- ``dates``: for each date its median in seconds since 1970, ``gap``, and whether there is a time of day (``times``).

``written`` of a column says how its texts are read where that is not plain: ``decimal``, ``unit``, ``form`` and
``missing``.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import date
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

DAY = 86_400.0  # seconds
YEAR = 365.2425  # days
WEEK = 7.0
# What people write where a value is missing; a category of this name is a category.
MISSING_WORDS = frozenset({"", "?", "-", "--", ".", "na", "n/a", "#n/a", "nan", "nat", "null", "none", "<na>"})
YES_WORDS = frozenset({"true", "yes", "y", "t", "1"})
NO_WORDS = frozenset({"false", "no", "n", "f", "0"})
# Networks compute in float32.
LARGEST = float(np.finfo(np.float32).max)
# A row without most of its columns gets a short text too.
TOLD_PER_ROW = 5
TOLD_LENGTH = 40
_UNIT = re.compile(r"^([+-]?)[€$£¥%]\s*|\s*[€$£¥%]$")
_BLANKS = re.compile(r"(?<=\d)[ \u00a0\u202f'](?=\d{3}(?!\d))")
_THOUSANDS = {sign: re.compile(rf"(?<=\d)[{other}](?=\d{{3}}(?!\d))") for sign, other in ((",", "."), (".", ","))}
_Read = Callable[["pd.Series[Any]", Mapping[str, Any]], NDArray[np.float64]]


class Encoded(NamedTuple):
    """The features of some rows, and for each row a short text of what was replaced; empty if nothing was."""

    matrix: NDArray[np.float64]  # (rows, features)
    replaced: list[str]


class _Notes:
    """What was replaced in which row."""

    def __init__(self, rows: int) -> None:
        self.of_all: list[str] = []  # kept once: a file may lack hundreds of columns
        self._of_row: dict[int, list[str]] = {}
        self._rows = rows

    def row(self, row: int, text: str) -> None:
        self._of_row.setdefault(row, []).append(text)

    def texts(self) -> list[str]:
        usual = _joined(self.of_all)
        return [
            _joined([*self.of_all, *self._of_row[row]]) if row in self._of_row else usual for row in range(self._rows)
        ]


def encode(frame: pd.DataFrame, encoding: Mapping[str, Any]) -> Encoded:
    """Encode rows with columns in any order; what is missing, unknown or unreadable is replaced and reported.

    Columns that the encoding does not know are ignored.
    """
    frame = frame.loc[:, ~frame.columns.duplicated()]
    notes = _Notes(len(frame))
    matrix = np.zeros((len(frame), len(feature_names(encoding))))
    at = len(encoding["numbers"])
    for place, column in enumerate(encoding["numbers"]):
        matrix[:, place], missing = _filled(frame, column, numbers, f"{column['median']:.10g}", notes)
        if column["gap"]:
            matrix[:, at] = missing
            at += 1
    for column in encoding["categories"]:
        places = _places(frame, column, notes)
        seen = np.flatnonzero(places >= 0)
        matrix[seen, at + places[seen]] = 1
        at += len(_category_names(column))
    for column in encoding["dates"]:
        values, missing = _filled(frame, column, seconds, _shown_date(column["median"]), notes)
        parts = date_parts(values, column["times"])
        matrix[:, at : at + parts.shape[1]] = parts
        at += parts.shape[1]
        if column["gap"]:
            matrix[:, at] = missing
            at += 1
    return Encoded(matrix, notes.texts())


def feature_names(encoding: Mapping[str, Any]) -> tuple[str, ...]:
    """The name of every feature, in the order of the encoded matrix."""
    numbers_ = encoding["numbers"]
    return (
        *(column["name"] for column in numbers_),
        *(f"{column['name']} is missing" for column in numbers_ if column["gap"]),
        *(name for column in encoding["categories"] for name in _category_names(column)),
        *(name for column in encoding["dates"] for name in _date_names(column)),
    )


def _category_names(column: Mapping[str, Any]) -> list[str]:
    name = column["name"]
    names = [f"{name} is missing" if value is None else f"{name}={value}" for value in column["values"]]
    return [*names, f"{name}=rare"] if column["rare"] else names


def _date_names(column: Mapping[str, Any]) -> list[str]:
    cycles = ["year", "week", *(["day"] if column["times"] else [])]
    parts = ["days", *(f"{cycle}, {wave}" for cycle in cycles for wave in ("sine", "cosine"))]
    names = [f"{column['name']} ({part})" for part in parts]
    return [*names, f"{column['name']} is missing"] if column["gap"] else names


def date_parts(values: NDArray[np.float64], times: bool) -> NDArray[np.float64]:
    """Days since 1970, and where in the year, the week and (with ``times``) the day the moment is.

    A place in a cycle is two numbers, sine and cosine, so that the end of a cycle is next to its beginning.
    """
    days = values / DAY
    periods = [YEAR, WEEK, *([1.0] if times else [])]
    angles = [2 * np.pi * (days % period) / period for period in periods]
    return np.column_stack([days, *(wave(angle) for angle in angles for wave in (np.sin, np.cos))])


def numbers(cells: "pd.Series[Any]", written: Mapping[str, Any]) -> NDArray[np.float64]:
    """Cells as numbers; NaN where there is none. Texts such as " 12.5" are read."""
    kind = cells.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind):
        values = cells.to_numpy(np.float64, na_value=np.nan)
    else:
        values = np.array([_number(cell, written) for cell in cells.tolist()], dtype=np.float64)
    stated = [_number(word, written) for word in written.get("missing", ())]  # -999, say
    return np.where(np.isin(values, stated), np.nan, values)


def seconds(cells: "pd.Series[Any]", written: Mapping[str, Any]) -> NDArray[np.float64]:
    """Cells as seconds since 1970; NaN where there is no date."""
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        moments = pd.to_datetime(cells, utc=True)
    else:
        words = {*MISSING_WORDS, *written.get("missing", ())}
        texts = [None if _is_missing(cell, words) else str(cell).strip() for cell in cells.tolist()]
        cells = pd.Series(texts, dtype=object)
        moments = pd.to_datetime(cells, errors="coerce", format="ISO8601", utc=True)
        if "form" in written:
            moments = moments.fillna(pd.to_datetime(cells, errors="coerce", format=written["form"], utc=True))
    values = moments.dt.tz_localize(None).to_numpy("datetime64[us]")
    return np.where(np.isnat(values), np.nan, values.astype(np.int64) / 1e6)


def _filled(
    frame: pd.DataFrame, column: Mapping[str, Any], read: _Read, used: str, notes: _Notes
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The values of a column with the median where there is none, and where that is."""
    name, written = column["name"], column.get("written", {})
    if name not in frame:
        notes.of_all.append(f"{name} missing, {used} used")
        return np.full(len(frame), column["median"]), np.ones(len(frame), dtype=np.bool_)
    values = read(frame[name], written)
    missing: NDArray[np.bool_] = ~(np.abs(values) <= LARGEST)
    words = {*MISSING_WORDS, *written.get("missing", ())}
    for row in np.flatnonzero(missing).tolist():
        cell = frame[name].iloc[row]
        what = "missing" if _is_missing(cell, words) else f"{_shown(cell)} not usable"
        notes.row(row, f"{name} {what}, {used} used")
    return np.where(missing, column["median"], values), missing


def _places(frame: pd.DataFrame, column: Mapping[str, Any], notes: _Notes) -> NDArray[np.intp]:
    """Which feature of a category each row has; -1 for none."""
    name, places = column["name"], _Places(column)
    words = {*MISSING_WORDS, *column.get("written", {}).get("missing", ())}
    if name not in frame:
        notes.of_all.append(f"{name} missing")
        return np.full(len(frame), places.missing, dtype=np.intp)
    found: dict[str | None, int | None] = {}  # there are few different texts
    result = np.empty(len(frame), dtype=np.intp)
    for row, cell in enumerate(frame[name].tolist()):
        text = _text(cell)
        if text not in found:
            found[text] = places.of(text, words)
        place = found[text]
        if place is None:
            notes.row(row, f"{name} missing" if _is_missing(text, words) else f"{name} {_shown(text)} unknown")
            place = places.unseen
        result[row] = place
    return result


class _Places:
    """Finds the feature of a text, also where it is written a little differently than in training."""

    def __init__(self, column: Mapping[str, Any]) -> None:
        values, rare = column["values"], column["rare"]
        self.unseen = len(values) if rare else -1
        self._exact: dict[str | None, int] = {value: at for at, value in enumerate(values)}
        self._exact |= dict.fromkeys(rare, len(values))
        self.missing = self._exact.get(None, self.unseen)
        self._similar = _only_once((_plain(text), at) for text, at in self._exact.items() if text is not None)
        # A column of yes and no may be written as True and False, or 1 and 0, elsewhere.
        if set(self._similar) <= YES_WORDS | NO_WORDS:
            for words in (YES_WORDS, NO_WORDS):
                places = {at for text, at in self._similar.items() if text in words}
                if len(places) == 1:
                    self._similar |= dict.fromkeys(words, places.pop())

    def of(self, text: str | None, missing_words: Set[str]) -> int | None:
        """The place of a text; None if it was not seen in training."""
        if text in self._exact:
            return self._exact[text]
        if text is not None and (similar := self._similar.get(_plain(text))) is not None:
            return similar
        return self._exact.get(None) if _is_missing(text, missing_words) else None


def _only_once(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The pairs as a dictionary, without keys that stand for two places."""
    places: dict[str, set[int]] = {}
    for key, place in pairs:
        places.setdefault(key, set()).add(place)
    return {key: place.pop() for key, place in places.items() if len(place) == 1}


def _plain(text: str) -> str:
    """A text without the differences that programs make: spaces, capitals, and 3.0 for 3."""
    text = text.strip().casefold()
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:.15g}"


def _text(cell: Any) -> str | None:
    """A cell of a category as text; None if it is missing."""
    if isinstance(cell, str):
        return cell
    if _is_missing(cell):
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # pandas turns whole numbers into floats in a column with gaps
    return str(cell)


def _number(cell: Any, written: Mapping[str, Any]) -> float:
    if isinstance(cell, str):
        text, unit, decimal = cell.strip(), written.get("unit", ""), written.get("decimal")
        if unit and text.casefold().endswith(unit):
            text = text[: -len(unit)].rstrip()
        text = _BLANKS.sub("", _UNIT.sub(r"\1", text))
        if decimal is not None:
            text = _THOUSANDS[decimal].sub("", text).replace(decimal, ".")
    elif isinstance(cell, Number | np.bool_) and not isinstance(cell, complex):
        text = cell  # type: ignore[assignment]
    else:
        return np.nan
    try:
        return float(text)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return np.nan


def _is_missing(cell: Any, words: Set[str] = MISSING_WORDS) -> bool:
    if isinstance(cell, str):
        return cell.strip() in words or cell.strip().casefold() in words
    return cell is None or (pd.api.types.is_scalar(cell) and bool(pd.isna(cell)))


def _shown(cell: Any) -> str:
    text = repr(cell) if isinstance(cell, str) else str(cell)
    return text if len(text) <= TOLD_LENGTH else f"{text[:TOLD_LENGTH]}..."


def _shown_date(moment: float) -> str:
    shown = np.datetime64(round(moment), "s").item()
    return str(shown.date() if moment % DAY == 0 and isinstance(shown, date) else shown)


def _joined(texts: list[str]) -> str:
    more = len(texts) - TOLD_PER_ROW
    return "; ".join(texts[:TOLD_PER_ROW] + ([f"and {more} more"] if more > 0 else []))
