"""Parameters against what the nodes say they take: unknown names and wrong values, each told in one line."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_type_hints

from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from pydantic import BaseModel, TypeAdapter, ValidationError

from idbpd.errors import ConfigurationError

PREFIX = "params:"


def parameter_types(pipelines: Iterable[Pipeline]) -> dict[str, Any]:
    """The type of every parameter that some node takes, by name."""
    return {name: kind for pipeline in pipelines for node in pipeline.nodes for name, kind in _node_parameters(node)}


def _node_parameters(node: Node) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(node.func, include_extras=True)
    # A node's inputs are listed in the order of its function's arguments, however they were given.
    for argument, dataset in zip(inspect.signature(node.func).parameters, node.inputs, strict=False):
        if dataset.startswith(PREFIX):
            yield dataset.removeprefix(PREFIX), hints.get(argument, Any)


def check_parameters(given: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    """Raise a `ConfigurationError` for the first name that no node takes or value that its node would refuse."""
    for name in given:
        if name not in types:
            raise ConfigurationError(f"unknown parameter {name!r}{_suggestion(name, _dotted_names(types), types)}")
    for name, kind in types.items():
        if name in given:
            try:
                TypeAdapter(kind).validate_python(given[name])
            except ValidationError as error:
                raise ConfigurationError(_first_problem(name, kind, error)) from error


def _first_problem(name: str, kind: Any, error: ValidationError) -> str:
    problem = error.errors()[0]
    path = ".".join([name, *(str(part) for part in problem["loc"])])
    if problem["type"] == "extra_forbidden":
        return f"unknown parameter {path!r}{_suggestion(path, _dotted_names({name: kind}))}"
    if problem["type"] == "missing":
        return f"parameter {path!r} is missing"
    message = problem["msg"].removeprefix("Value error, ")
    return f"parameter {path!r} = {problem['input']!r} is not valid: {message[0].lower()}{message[1:]}"


def _dotted_names(types: Mapping[str, Any]) -> list[str]:
    names = []
    for name, kind in types.items():
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names += [f"{name}.{field.alias or key}" for key, field in kind.model_fields.items()]
        else:
            names.append(name)
    return names


def _suggestion(name: str, valid: list[str], blocks: Iterable[str] = ()) -> str:
    # A forgotten block is as likely as a typing error: 'lambda' for 'problem.lambda'.
    inside = [choice for choice in valid if choice.rpartition(".")[2] == name]
    close = inside or get_close_matches(name, [*blocks, *valid], n=1)
    return (f"; did you mean {close[0]!r}?" if close else ";") + f" valid parameters are {', '.join(sorted(valid))}"
