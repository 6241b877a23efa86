"""What people write about the tasks of a table: the block ``tasks`` of a data set, read and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, cast

from idbpd.errors import ConfigurationError
from idbpd.mtl.kinds import KINDS, Kind

SEVERAL: tuple[Kind, ...] = ("labels", "distribution")  # the kinds that have several columns
OWN_KEYS = ("column", "columns", "kind", "positive")


@dataclass(frozen=True)
class TaskBlock:
    """One task as it was written: its columns, and its kind and positive value if they were stated."""

    name: str
    columns: tuple[str, ...]
    kind: Kind | None = None
    positive: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)


def read_tasks(given: Mapping[Any, Any], place: str) -> tuple[TaskBlock, ...]:
    """The tasks in the order of the block; a `ConfigurationError` names what cannot be read."""
    if not isinstance(given, Mapping) or not given:
        raise ConfigurationError(f"{place}: 'tasks' is {given!r}; write one line per task, such as churn: churned")
    tasks = tuple(_task(str(name), value, f"{place}: tasks.{name}") for name, value in given.items())
    used: dict[str, str] = {}
    for task in tasks:
        for column in task.columns:
            if column in used:
                where = "twice" if used[column] == task.name else f"in two tasks, {used[column]!r} and {task.name!r}"
                raise ConfigurationError(f"{place}: column {column!r} is {where}; a column is for one task")
            used[column] = task.name
    return tasks


def _task(name: str, value: Any, place: str) -> TaskBlock:
    if isinstance(value, list | tuple):
        return TaskBlock(name, _columns(value, place), "labels")
    if not isinstance(value, Mapping):
        # YAML reads a column named 2026 as a number.
        return TaskBlock(name, _columns([value], place))
    block = dict(value)
    if ("column" in block) == ("columns" in block):
        close = [key for key in block if key not in OWN_KEYS and get_close_matches(str(key), OWN_KEYS[:2], n=1)]
        hint = f"; did you mean 'column' by {close[0]!r}?" if close else ""
        raise ConfigurationError(f"{place} needs 'column' (one) or 'columns' (a list), and not both{hint}")
    kind = _kind(block.pop("kind", None), place)
    several = "columns" in block
    named = block.pop("columns" if several else "column")
    if several != isinstance(named, list | tuple):
        key = "columns" if several else "column"
        raise ConfigurationError(f"{place}.{key} = {named!r} is not valid; write column: a, or columns: [a, b]")
    columns = _columns(named if several else [named], place)
    if several and kind is None:
        kind = "labels"
    if len(columns) > 1 and kind not in SEVERAL:
        raise ConfigurationError(f"{place}.kind = {kind!r} is for one column; several are labels or a distribution")
    positive = block.pop("positive", None)
    if positive is not None and kind not in (None, "binary"):
        raise ConfigurationError(f"{place}.positive = {positive!r} is for a task of kind binary, not {kind}")
    return TaskBlock(name, columns, kind, positive, block)


def _columns(given: Sequence[Any], place: str) -> tuple[str, ...]:
    if not given or any(column is None or isinstance(column, list | dict) for column in given):
        raise ConfigurationError(f"{place} names no column; write the name of a column, or a list of names")
    return tuple(str(column) for column in given)


def _kind(given: Any, place: str) -> Kind | None:
    if given is None or given in KINDS:
        return cast("Kind | None", given)
    close = get_close_matches(str(given), KINDS, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise ConfigurationError(f"{place}.kind = {given!r} is not valid; {hint}kinds are {', '.join(KINDS)}")
