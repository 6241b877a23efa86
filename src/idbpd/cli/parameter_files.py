"""The names of parameters and data sets as their files have them. No library that computes is imported.

A test checks that the files in ``conf/base`` name every parameter that a node takes.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from idbpd.errors import ConfigurationError
from idbpd.hooks.sources import require_known
from idbpd.unknown_names import unknown_parameter

BASE = "base"
PARAMETERS, SOURCES = "parameters*.yml", "sources*.yml"
# What extensions add to these blocks needs no line in a file: a method, a gate, a setting of the benchmark.
CHANGES = "benchmark.changes"
EXTENSIBLE = {"methods", "retrain", CHANGES}


def check_given(given: Mapping[str, Any], conf: Path, env: str | None) -> None:
    """Raise a `ConfigurationError` for a name on the command line that no file has, of a parameter or a data set.

    The types of the nodes decide in the end. But they take seconds to import, and most mistakes are mistyped names.
    """
    folders = [conf / BASE, conf / (env or os.environ.get("KEDRO_ENV") or "local")]
    parameters, sources = _read(folders, PARAMETERS), _read(folders, SOURCES)
    if not parameters:
        return  # the configuration is not in a folder, or there is none: Kedro says so
    for name in _unknown(given, parameters, ""):
        raise ConfigurationError(unknown_parameter(name, _names(parameters, "")))
    if sources and isinstance(given.get("dataset"), str):
        require_known(
            given["dataset"], {name: block for name, block in sources.items() if not str(name).startswith("_")}
        )


def _unknown(given: Mapping[str, Any], known: Mapping[str, Any], block: str) -> Iterator[str]:
    for key, value in given.items():
        name = f"{block}.{key}" if block else str(key)
        if key not in known:
            if block not in EXTENSIBLE:
                yield name
        # An entry that is no block, or an empty one, may get any content: the types decide which.
        elif isinstance(value, Mapping) and isinstance(known[key], Mapping) and known[key]:
            yield from _unknown(value, known[key], name)


def _names(known: Mapping[str, Any], block: str) -> Iterator[str]:
    for key, value in known.items():
        name = f"{block}.{key}" if block else str(key)
        yield name
        if isinstance(value, Mapping) and name != CHANGES:
            yield from _names(value, name)


def _read(folders: Iterable[Path], files: str) -> dict[str, Any]:
    """All files of that name, merged; a file that cannot be read is left to Kedro, which says what is wrong with it."""
    found: dict[str, Any] = {}
    for path in (path for folder in folders for path in sorted(folder.glob(files))):
        with suppress(yaml.YAMLError):
            content = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
            named = content.items() if isinstance(content, dict) else ()
            _merge(found, {key: value for key, value in named if not str(key).startswith("_")})  # Kedro's rule
    return found


def _merge(known: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(known.get(key), dict):
            _merge(known[key], value)
        else:
            known.setdefault(key, value)
