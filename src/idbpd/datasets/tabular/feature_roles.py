"""What each column that is no target becomes: a number, a category, a date, or nothing, and why."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import Column, Origin, Role
from idbpd.datasets.tabular.column_names import listed_names
from idbpd.datasets.tabular.values import Values
from idbpd.datasets.tabular.written_numbers import two_readings
from idbpd.errors import DataError

logger = logging.getLogger(__name__)

# With fewer rows, values that all differ say nothing: a column of ages would be an identifier.
ROWS_TO_JUDGE = 20
NEARLY_ALL = 0.95
HALF = 0.5
MANY_CATEGORIES = 100

IDENTIFIER = "an identifier"
# Columns with these reasons say nothing, whatever role is stated.
NO_VALUES, ONE_VALUE, OF_TYPE = "no values", "one value in all rows", "values of type "
_FIRST_OR_LAST = frozenset({"id", "ids", "uuid", "guid", "identifier"})
_LAST = frozenset({"number", "no", "nr", "num", "key", "index"})
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_JOINED = re.compile(
    r"(account|case|client|customer|employee|house|member|order|patient|person|product|record|row|sample|session|"
    r"student|subject|transaction|user)id"
)


@dataclass(frozen=True)
class StatedRoles:
    """Columns whose role the block of the data set states; that of all others follows from their values."""

    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    dates: Sequence[str] = ()


@dataclass(frozen=True)
class Judged:
    """The features of a table, and the columns that are none, each with the reason."""

    features: tuple[Column, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that name a row."""
        return tuple(name for name, reason in self.left_out.items() if reason == IDENTIFIER)


def judge(columns: Sequence[Values], stated: StatedRoles, origin: Origin, rows: NDArray[np.intp]) -> Judged:
    """Give every column its role, as these rows tell; one line of the log says what became of them.

    The rows are those that are not copies of others: an identifier occurs twice in a table that has its rows twice.
    """
    features: list[Column] = []
    left_out: dict[str, str] = {}
    for values in columns:
        role = _stated_role(values, stated, origin)
        if role is None:
            reason = why_not(values.of_rows(rows))
            if reason is not None:
                left_out[values.name] = reason
                if values.remark is not None and reason != IDENTIFIER:
                    logger.warning("column %r is left out: %s", values.name, values.remark)
                continue
            role = "number" if values.content == "number" else "date" if values.content == "date" else "category"
        features.append(_column(values, role))
        _remark(values, role)
    _say(features, left_out)
    _say_gaps([values for values in columns if values.name not in left_out])
    return Judged(tuple(features), left_out)


def why_not(values: Values) -> str | None:
    """Why a column is of no use as a feature; None if it is one."""
    if values.content == "nothing":
        return NO_VALUES
    if values.content == "unreadable":
        return f"{OF_TYPE}{values.distinct[1][0]}"
    known = int(values.known.sum())
    if values.numbers is not None:
        constant = bool(np.nanmin(values.numbers) == np.nanmax(values.numbers))
    else:
        constant = len(values.distinct[1]) == 1
    if constant and known == len(values.known):
        return ONE_VALUE
    if known < ROWS_TO_JUDGE or values.content in ("date", "boolean"):
        return None
    if values.content == "number":
        return IDENTIFIER if _numbers_rows(values, known) else None
    return _why_no_category(values, known)


def _numbers_rows(values: Values, known: int) -> bool:
    if not values.integers or values.numbers is None:
        return False
    numbers = np.unique(values.numbers[values.known])
    run = len(numbers) == known and numbers[-1] - numbers[0] == known - 1
    return run or (len(numbers) >= NEARLY_ALL * known and _names_rows(values.name))


def _names_rows(name: str) -> bool:
    """Whether a column's name says that it holds identifiers: customer_id, orderNo, UUID."""
    return _says_id(name) or _words(name)[-1] in _LAST


def _says_id(name: str) -> bool:
    words = _words(name)
    return bool({words[0], words[-1]} & _FIRST_OR_LAST) or _JOINED.fullmatch(words[-1]) is not None


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)] or [name]


def _why_no_category(values: Values, known: int) -> str | None:
    words = values.distinct[1]
    if len(words) <= HALF * known:
        return None
    if sum(" " in word for word in words) > HALF * len(words):
        return "free text"
    if len(words) >= NEARLY_ALL * known and not two_readings(words):
        return IDENTIFIER
    return f"{len(words)} different values in {known} rows"


def _stated_role(values: Values, stated: StatedRoles, origin: Origin) -> Role | None:
    named: dict[Role, Sequence[str]] = {
        "category": stated.categorical,
        "number": stated.numeric,
        "date": stated.dates,
    }
    role = next((role for role, names in named.items() if values.name in names), None)
    if role is None or role == "category":
        return role if values.content not in ("nothing", "unreadable") else None
    if values.content == role:
        return role
    if values.content in ("nothing", "unreadable"):
        return None
    if role == "number" and values.content == "boolean":
        return role
    code = 0
    if role == "number" and values.content == "text":
        code = next((at for at, word in enumerate(values.distinct[1]) if _as_number(word) is None), -1)
        if code < 0:  # codes such as 007, which people want as numbers
            return role
    what = "a number" if role == "number" else "a date"
    place = origin.of(values.first_row_of(code))
    hint = values.remark or (
        f"say its form: dates: {{{values.name}: '%d/%m/%Y'}}"
        if role == "date"
        else "words for a missing value are listed under 'missing'"
    )
    raise DataError(f"{place}: column {values.name!r} is {values.distinct[1][code]!r}, which is not {what}; {hint}")


def _column(values: Values, role: Role) -> Column:
    if role == "category":
        codes, words = values.distinct
        return Column(values.name, role, codes.astype(np.int32), words, values.written)
    numbers = values.numbers
    if numbers is None:
        codes, words = values.distinct
        meanings = [_as_number(word) if values.content == "text" else float(word == "True") for word in words]
        numbers = np.array([*meanings, np.nan], dtype=np.float64)[codes]
    return Column(values.name, role, numbers, written=values.written)


def _as_number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _remark(values: Values, role: Role) -> None:
    if values.remark is not None:
        logger.warning("column %r is read as a %s: %s", values.name, role, values.remark)
    if role != "date" and _says_id(values.name) and len(values.distinct[1]) > ROWS_TO_JUDGE:
        logger.warning(
            "column %r is used as a %s, but its name says that it identifies something; if rows with the same value "
            "belong together, write group: %s",
            values.name,
            role,
            values.name,
        )
    if role == "category" and len(values.distinct[1]) > MANY_CATEGORIES:
        logger.info(
            "column %r has %d categories; the rare ones will share one place", values.name, len(values.distinct[1])
        )


def _say(features: Sequence[Column], left_out: Mapping[str, str]) -> None:
    plural: dict[Role, str] = {"number": "numbers", "category": "categories", "date": "dates"}
    parts = []
    for role, several in plural.items():
        count = sum(column.role == role for column in features)
        if count:
            parts.append(f"{count} {role if count == 1 else several}")
    told = f"features: {', '.join(parts) or 'none'}"
    if left_out:
        reasons = list(dict.fromkeys(left_out.values()))
        named = [(listed_names([name for name in left_out if left_out[name] == reason]), reason) for reason in reasons]
        told += f"; left out: {', '.join(f'{names} ({reason})' for names, reason in named)}"
        if not all(reason.startswith((NO_VALUES, ONE_VALUE, OF_TYPE)) for reason in reasons):
            told += "; name a column under 'categorical' or 'numeric' to use it"
    logger.info(told)


def _say_gaps(columns: Sequence[Values]) -> None:
    counts = {values.name: int((~values.known).sum()) for values in columns}
    named = [f"{name} ({count})" for name, count in counts.items() if count]
    if named:
        words = sorted({word for values in columns for word in values.gaps})
        written = f", written as {', '.join(map(repr, words))}; if one is a value, see 'not_missing'" if words else ""
        logger.info("features with missing values (and in how many rows): %s%s", listed_names(named), written)
