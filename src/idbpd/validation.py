"""Typed configuration. An error names the wrong parameter in one line."""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError

from idbpd.errors import ConfigurationError
from idbpd.unknown_names import unknown_parameter


def validated(name: str, kind: Any, value: Any, *, listing: str = "") -> Any:
    """Convert ``value`` to the type ``kind``; a `ConfigurationError` names the first invalid part.

    ``listing`` is a command that lists the names, for a name that does not exist.
    """
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigurationError(_first_problem(name, kind, error, listing)) from error


def _first_problem(name: str, kind: Any, error: ValidationError, listing: str) -> str:
    problem = error.errors()[0]
    parts = [str(part) for part in problem["loc"]]
    path = ".".join([name, *parts])
    if problem["type"] == "extra_forbidden":
        block, members = ".".join([name, *parts[:-1]]), _fields(_inside(kind, parts[:-1]))
        known = [f"{block}.{member}" for member in members]
        return unknown_parameter(path, [name, *known] if listing else known, listing)
    if problem["type"] == "missing":
        return f"parameter {path!r} is missing"
    message = problem["msg"]
    own = message.removeprefix("Value error, ")  # our own text: it may begin with a name, so its case stays
    reason = own if own != message else message[0].lower() + message[1:]
    return f"parameter {path!r} = {problem['input']!r} is not valid: {reason}"


def parameter_names(types: Mapping[str, Any]) -> list[str]:
    """The names that a user can set, and those of blocks, each block before what is in it."""
    names = []
    for name, kind in types.items():
        names += [name, *(f"{name}.{inner}" for inner in parameter_names(_fields(kind)))]
    return names


def _fields(kind: Any) -> dict[str, Any]:
    """The types of what is in a block, by the names that users write; nothing where it is no block."""
    if not isinstance(kind, type) or not issubclass(kind, BaseModel) or issubclass(kind, RootModel):
        return {}
    return {field.alias or key: field.annotation for key, field in kind.model_fields.items()}


def _inside(kind: Any, path: Iterable[str]) -> Any:
    """The type at a path of names inside a block; None where it cannot be followed."""
    for part in path:
        if isinstance(kind, type) and issubclass(kind, RootModel):
            kind = get_args(kind.model_fields["root"].annotation)[-1]  # the same for all names
        else:
            kind = _fields(kind).get(part)
    return kind
