"""Check parameters against the type hints of the nodes."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_type_hints

from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from idbpd.errors import ConfigurationError
from idbpd.unknown_names import LISTING, unknown_parameter
from idbpd.validation import parameter_names, validated

PREFIX = "params:"


def parameter_types(pipelines: Iterable[Pipeline]) -> dict[str, Any]:
    """The type of every parameter that a node uses, by name."""
    return {name: kind for pipeline in pipelines for node in pipeline.nodes for name, kind in _node_parameters(node)}


def _node_parameters(node: Node) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(node.func, include_extras=True)
    # Kedro lists a node's inputs in the order of its function's arguments.
    for argument, dataset in zip(inspect.signature(node.func).parameters, node.inputs, strict=False):
        if dataset.startswith(PREFIX):
            yield dataset.removeprefix(PREFIX), hints.get(argument, Any)


def check_parameters(given: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    """Raise a `ConfigurationError` for the first parameter that is unknown, missing or invalid."""
    for name in given:
        if name not in types:
            raise ConfigurationError(unknown_parameter(name, parameter_names(types)))
    for name, kind in types.items():
        if name not in given:
            raise ConfigurationError(f"parameter {name!r} is missing; one of conf/base/parameters*.yml should have it")
        validated(name, kind, given[name], listing=LISTING)
