"""Check the blocks of ``sources.yml``: usable names, known credentials, no secrets in addresses."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml
from kedro.config import AbstractConfigLoader

from idbpd.datasets.tabular.numeral import is_number
from idbpd.errors import ConfigurationError
from idbpd.hooks.block_keys import require_known_keys
from idbpd.redaction import names_secret, redact

VALIDATOR = "validator"
CREDENTIALS = "credentials"
TABULAR = "idbpd.datasets.TabularDataset"
# A name becomes a folder, a part of a registered model's name, and a value on the command line.
LONGEST_NAME = 100
_NAME = re.compile(r"[^\W_][\w.-]*")
# Folders next to those of data sets.
TAKEN = {"benchmark", "comparisons", "reproductions"}
# What YAML or Kedro read as a value of another kind.
NOT_TEXTS = {"yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "infinity"}
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s]+", re.IGNORECASE)


def load_sources(loader: AbstractConfigLoader) -> dict[str, Any]:
    """All blocks by name, once every name is checked."""
    try:
        sources: dict[str, Any] = loader["sources"]
    except AttributeError:  # Kedro takes every name for a text
        for path in sorted(Path(loader.conf_source).rglob("sources*.yml")):
            names = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
            check_names(name for name in names if not isinstance(name, str))
        raise
    check_names(sources)
    return sources


def check_names(names: Iterable[Any]) -> None:
    """Raise a `ConfigurationError` for the first data set whose name cannot be used."""
    for name in names:
        if not isinstance(name, str):
            raise ConfigurationError(
                f"a data set cannot be named {name!r}: in sources.yml that is no text (YAML reads yes, no, on, off and "
                "numbers as other values); give it another name"
            )
        problem = _problem(name)
        if problem:
            raise ConfigurationError(
                f"a data set cannot be named {name!r}: {problem}; a name has letters, digits, '_', '-' and '.', and "
                "begins with a letter or a digit"
            )


def require_known(name: str, sources: Mapping[str, Any]) -> None:
    """Raise a `ConfigurationError` unless there is a data set of that name."""
    if name not in sources:
        raise ConfigurationError(f"unknown data set {name!r}; known data sets are {', '.join(sorted(sources))}")


def require_source(name: str, sources: Mapping[str, Any], credentials: Container[str]) -> None:
    """Raise a `ConfigurationError` unless the data set has a block that can be used."""
    require_known(name, sources)
    block = sources[name]
    if not isinstance(block, dict) or "type" not in block:
        raise ConfigurationError(f"the data set {name!r} needs a block with a 'type', it has: {block!r}")
    for key, text in _texts(block, ""):
        if key.rpartition(".")[2] == CREDENTIALS:
            if text not in credentials:
                raise ConfigurationError(
                    f"the data set {name!r}: {key} = {text!r}, but conf/local/credentials.yml has no block of that name"
                )
        elif any(_has_secret(address) for address in _ADDRESS.findall(text)):
            raise ConfigurationError(
                f"the data set {name!r}: {key} = {redact(text)!r} was given with a password or a token in the address; "
                "take it out, put it into a block of conf/local/credentials.yml, and add to the data set: "
                "credentials: <name of that block>"
            )
    require_known_keys(name, block)


def complete(name: str, source: dict[str, Any], project: Path) -> dict[str, Any]:
    """The block as a catalog entry: with a validator, and with absolute paths."""
    block = {VALIDATOR: _default_validator(name, source), **_with_absolute_files(source, project)}
    if block.get("type") == TABULAR:
        block.setdefault("digests", str(project / "data" / "02_intermediate" / name / "row_groups.json"))
    return block


def _problem(name: str) -> str | None:
    if not _NAME.fullmatch(name):
        wrong = next((sign for sign in name if not re.fullmatch(r"[\w.-]", sign)), None)
        return f"it begins with {name[:1]!r}" if wrong is None else f"it has {wrong!r} in it"
    if name.lower() in NOT_TEXTS or is_number(name):
        return "on the command line it is read as a number or as yes or no, not as a text"
    if name.lower() in TAKEN:
        return "the folder of that name is for other results"
    if len(name) > LONGEST_NAME:
        return f"it has {len(name)} characters, and at most {LONGEST_NAME} are possible"
    return None


def _has_secret(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return "@" in address
    # Without a password, the part before '@' is a bucket or a login name; for http it can only be a secret.
    user = parts.password is not None or (parts.username is not None and parts.scheme.lower().startswith("http"))
    return user or any(names_secret(key.replace(".", "_")) for key, _ in parse_qsl(parts.query, keep_blank_values=True))


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Every text in a block with its dotted name; without inline credentials."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        if key.rpartition(".")[2] != CREDENTIALS:
            for name, part in value.items():
                yield from _texts(part, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part, key)


def _default_validator(name: str, source: dict[str, Any]) -> dict[str, Any]:
    """The validator of a source that has none; errors about a data frame name the source's file."""
    filepath = source.get("filepath", f"the data set {name}")
    shown = " + ".join(map(str, filepath)) if isinstance(filepath, list) else str(filepath)
    return {"class": "idbpd.datasets.TableValidator", "options": {"name": shown}}


def _with_absolute_files(source: dict[str, Any], project: Path) -> dict[str, Any]:
    """The block with a list of files made absolute; Kedro does it for a single file only."""
    files = source.get("filepath")
    if not isinstance(files, list):
        return source
    return {**source, "filepath": [file if "://" in str(file) else str(project / str(file)) for file in files]}
