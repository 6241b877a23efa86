"""Typed configuration. An error names the wrong parameter in one line."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError

from idbpd.errors import ConfigurationError


def validated(name: str, kind: Any, value: Any) -> Any:
    """Convert ``value`` to the type ``kind``; a `ConfigurationError` names the first invalid part."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigurationError(_first_problem(name, kind, error)) from error


def dotted_names(types: Mapping[str, Any]) -> list[str]:
    """The names that a user can set; a block gives one dotted name per field."""
    names = []
    for name, kind in types.items():
        if isinstance(kind, type) and issubclass(kind, BaseModel) and not issubclass(kind, RootModel):
            names += [f"{name}.{field.alias or key}" for key, field in kind.model_fields.items()]
        else:
            names.append(name)
    return names


def suggestion(name: str, valid: list[str], blocks: Iterable[str] = ()) -> str:
    """The end of an error message: the most likely name, and all valid names."""
    # Users forget the block as often as they mistype: 'lambda' for 'problem.lambda'.
    inside = [choice for choice in valid if choice.rpartition(".")[2] == name]
    close = inside or get_close_matches(name, [*blocks, *valid], n=1)
    return (f"; did you mean {close[0]!r}?" if close else ";") + f" valid parameters are {', '.join(sorted(valid))}"


def _first_problem(name: str, kind: Any, error: ValidationError) -> str:
    problem = error.errors()[0]
    path = ".".join([name, *(str(part) for part in problem["loc"])])
    if problem["type"] == "extra_forbidden":
        return f"unknown parameter {path!r}{suggestion(path, dotted_names({name: kind}))}"
    if problem["type"] == "missing":
        return f"parameter {path!r} is missing"
    message = problem["msg"]
    own = message.removeprefix("Value error, ")  # our own text: it may begin with a name, so its case stays
    reason = own if own != message else message[0].lower() + message[1:]
    return f"parameter {path!r} = {problem['input']!r} is not valid: {reason}"
