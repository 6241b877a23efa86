"""What a model depends on, in a few numbers: if none of them changed, training again would give the same model."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from idbpd.program import code_sha256, installed_packages, lock_sha256


def program_fingerprints(parameters: Mapping[str, Any], project: Path) -> dict[str, str]:
    """SHA-256 of the parameters, as they were given, of the code and of the lock file; the data have their own.

    Without a lock file the installed versions stand for it.
    """
    return {
        "parameters": _parameters_sha256(parameters),
        "code": code_sha256(),
        "lock": lock_sha256(project) or hashlib.sha256(installed_packages().encode()).hexdigest(),
    }


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Which of them differ.

    >>> changed({"data": "a", "code": "b"}, {"data": "a", "code": "c"})
    ['code']
    """
    return [kind for kind, value in now.items() if before.get(kind) != value]


def _parameters_sha256(parameters: Mapping[str, Any]) -> str:
    """Every one counts, but for the order to go on although nothing changed."""
    relevant = {name: value for name, value in parameters.items() if name != "retrain"}
    relevant["retrain"] = {name: value for name, value in parameters["retrain"].items() if name != "force"}
    return hashlib.sha256(json.dumps(relevant, sort_keys=True, default=str).encode()).hexdigest()
