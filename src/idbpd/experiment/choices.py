"""What people may write where they choose one of several by name: the name, or the name with options."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError


class Choice(NamedTuple):
    """A name of a registry, and the options to make its entry with."""

    name: str
    options: dict[str, Any]


def chosen(given: Any, registry: Mapping[str, Callable[..., Any]], kind: str, **set_elsewhere: Any) -> Choice:
    """Read ``name``, ``{name: {option: value}}`` or, for an entry with one required option, ``{name: value}``.

    ``set_elsewhere`` are options with a parameter of their own; an entry that has one of them gets its value, unless
    the choice states another. A ValueError says what is wrong.
    """
    if isinstance(given, dict) and len(given) != 1:
        raise ValueError(f"choose one {kind}, got {', '.join(map(str, given)) or 'none'}")
    name, options = next(iter(given.items())) if isinstance(given, dict) else (given, {})
    if not isinstance(name, str) or name not in registry:
        raise ValueError(f"there is no {kind} {name!r}; known are {', '.join(registry)}")
    parameters = inspect.signature(registry[name]).parameters
    known = list(parameters)
    needed = [option for option in known if parameters[option].default is inspect.Parameter.empty]
    if not isinstance(options, dict):
        if not known or len(needed) > 1:
            how = f"takes {_listed(known)}, each by its name" if known else f"takes no options, got {options!r}"
            raise ValueError(f"the {kind} {name!r} {how}")
        options = {known[0]: options}
    for option in options:
        if option not in known:
            raise ValueError(f"the {kind} {name!r} has no option {option!r}; it takes {_listed(known)}")
    kinds = get_type_hints(registry[name])
    values = {option: value for option, value in set_elsewhere.items() if option in known}
    values |= {option: _as(kinds.get(option, Any), option, value) for option, value in options.items()}
    for option in needed:
        if option not in values:
            raise ValueError(f"the {kind} {name!r} needs the option {option!r}: write {{{name}: {{{option}: ...}}}}")
    registry[name](**values)  # which refuses values without meaning
    return Choice(name, values)


def _as(kind: Any, option: str, value: Any) -> Any:
    try:
        return TypeAdapter(kind, config=ConfigDict(allow_inf_nan=False, coerce_numbers_to_str=True)).validate_python(
            value
        )
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        raise ValueError(f"option {option!r} = {value!r}: {message[0].lower()}{message[1:]}") from error


def _listed(options: list[str]) -> str:
    return f"the options {', '.join(options)}" if options else "no options"
