"""Check the type and the keys of a data set's block against the project's own datasets, and name what was meant."""

import inspect
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import idbpd.datasets
from idbpd.errors import ConfigurationError

OWN = "idbpd.datasets."
READERS = tuple(f"{OWN}{name}" for name in ("TabularDataset", "ArffDataset"))  # of files that people have
# What Kedro takes from a block before a dataset sees it.
OF_KEDRO = frozenset({"type", "versioned", "validator", "metadata"})
NOT_WRITTEN = frozenset({"self", "version", "digests"})  # Kedro or the project sets them


def require_known_keys(name: str, block: Mapping[str, Any]) -> None:
    """Raise a `ConfigurationError` for a type or a key that there is not; types of other packages are left to Kedro."""
    given = block["type"]
    if not isinstance(given, str) or not given.startswith(OWN):
        return
    own = given.removeprefix(OWN)
    if own not in idbpd.datasets.__all__:
        raise ConfigurationError(
            f"the data set {name!r}: there is no type {given!r}; {_meant(given, READERS)}a table in a CSV or "
            f"Parquet file is {READERS[0]}, an ARFF file {READERS[1]}"
        )
    parameters = inspect.signature(getattr(idbpd.datasets, own)).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    known = [key for key in parameters if key not in NOT_WRITTEN]
    for key in block:
        if key not in {*parameters, *OF_KEDRO}:
            raise ConfigurationError(
                f"the data set {name!r}: unknown key {key!r}; {_meant(str(key), known)}keys are {', '.join(known)}"
            )
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in block and key not in NOT_WRITTEN:
            raise ConfigurationError(f"the data set {name!r} has no {key!r}; it has {', '.join(map(str, block))}")


def _meant(given: str, known: Iterable[str]) -> str:
    close = get_close_matches(given, list(known), n=1)
    return f"did you mean {close[0]!r}? " if close else ""
