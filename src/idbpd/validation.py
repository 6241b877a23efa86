"""Typed configuration. An error names the wrong parameter in one line."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError

from idbpd.errors import ConfigurationError


def validated(name: str, kind: Any, value: Any) -> Any:
    """Convert ``value`` to the type ``kind``; a `ConfigurationError` names the first invalid part."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigurationError(_first_problem(name, kind, error)) from error


def unknown_parameter(name: str, types: Mapping[str, Any]) -> str:
    """The error message for a name that is neither a block nor a parameter: the nearest name, and those next to it."""
    # Users forget the block as often as they mistype: 'lambda' for 'problem.lambda'. The first of equal names is taken.
    known = {full.rpartition(".")[2]: full for full in reversed(_names(types))}
    close = get_close_matches(name, known, n=1)
    if not close:
        return f"unknown parameter {name!r}; parameters and blocks are {', '.join(sorted(types))}"
    nearest = known[close[0]]
    parent = nearest.rpartition(".")[0]
    shown = _members(nearest, _named(nearest, types)) or _members(parent, _named(parent, types))
    return f"unknown parameter {name!r}; did you mean {nearest!r}?{shown}"


def _first_problem(name: str, kind: Any, error: ValidationError) -> str:
    problem = error.errors()[0]
    parts = [str(part) for part in problem["loc"]]
    path = ".".join([name, *parts])
    if problem["type"] == "extra_forbidden":
        block, members = ".".join([name, *parts[:-1]]), _inside(kind, parts[:-1])
        close = get_close_matches(parts[-1], _fields(members), n=1)
        near = f"; did you mean {f'{block}.{close[0]}'!r}?" if close else ";"
        return f"unknown parameter {path!r}{near}{_members(block, members)}"
    if problem["type"] == "missing":
        return f"parameter {path!r} is missing"
    message = problem["msg"]
    own = message.removeprefix("Value error, ")  # our own text: it may begin with a name, so its case stays
    reason = own if own != message else message[0].lower() + message[1:]
    return f"parameter {path!r} = {problem['input']!r} is not valid: {reason}"


def _names(types: Mapping[str, Any]) -> list[str]:
    """The names that a user can set, and those of blocks, each block before what is in it."""
    names = []
    for name, kind in types.items():
        names += [name, *(f"{name}.{inner}" for inner in _names(_fields(kind)))]
    return names


def _fields(kind: Any) -> dict[str, Any]:
    """The types of what is in a block, by the names that users write; nothing where it is no block."""
    if not isinstance(kind, type) or not issubclass(kind, BaseModel) or issubclass(kind, RootModel):
        return {}
    return {field.alias or key: field.annotation for key, field in kind.model_fields.items()}


def _named(name: str, types: Mapping[str, Any]) -> Any:
    """The type of a block or parameter of that full name; None where there is none."""
    first, *rest = name.split(".")
    return _inside(types.get(first), rest)


def _inside(kind: Any, path: Iterable[str]) -> Any:
    """The type at a path of names inside a block; None where it cannot be followed."""
    for part in path:
        if isinstance(kind, type) and issubclass(kind, RootModel):
            kind = get_args(kind.model_fields["root"].annotation)[-1]  # the same for all names
        else:
            kind = _fields(kind).get(part)
    return kind


def _members(block: str, kind: Any) -> str:
    names = ", ".join(sorted(_fields(kind)))
    return f" the parameters of {block!r} are {names}" if names else ""
