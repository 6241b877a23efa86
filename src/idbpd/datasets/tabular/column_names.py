"""The names of a table's columns: what they must be, and how errors speak of them."""

from collections.abc import Sequence
from difflib import get_close_matches

from idbpd.datasets.table import Origin
from idbpd.datasets.tabular.numeral import is_number
from idbpd.errors import ConfigurationError, DataError

LABEL_PREFIX = "label:"
GROUP_COLUMN = "group"


def require_names(names: Sequence[str], origin: Origin) -> None:
    """Raise a `DataError` if a column has no name or two columns have the same name."""
    first: dict[str, int] = {}
    for at, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"{origin.name}: column {at} has no name")
        if "\n" in name or "\r" in name:
            raise DataError(f"{origin.name}: the name of column {at} spans several lines; is a quote missing?")
        if name in first:
            raise DataError(f"{origin.name}: columns {first[name]} and {at} are both named {name!r}")
        first[name] = at


def require_column(wanted: str, names: Sequence[str], origin: Origin) -> None:
    """Raise a `ConfigurationError` if the table has no column of that name."""
    if wanted in names:
        return
    close = [name for name in names if name.casefold() == wanted.strip().casefold()]
    close = close or get_close_matches(wanted, names, n=1)
    if close:
        hint = f"; did you mean {close[0]!r}?"
    elif all(is_number(name) for name in names):
        hint = (
            f"; its first line has only numbers ({listed_names(names)}): the first line of the file must name the "
            "columns"
        )
    else:
        hint = f"; its columns are {listed_names(names)}"
    raise ConfigurationError(f"{origin.name} has no column {wanted!r}{hint}")


def listed_names(names: Sequence[str]) -> str:
    """At most ten names and the number of the others, for messages."""
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
