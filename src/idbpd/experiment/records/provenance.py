"""What a result was made with: parameters, data, code, libraries and machine.

A run compares it before it uses a stored result, and a retraining before it begins.
"""

import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from idbpd.errors import ConfigurationError
from idbpd.redaction import without_secrets

PACKAGE = Path(__file__).parents[2]
LOCK_FILE = "requirements.lock"
# The code that decides which numbers a solver finds: another line in it may change the last digit.
SOLVER_CODE = (
    "optim",
    "baselines",
    "mtl",
    "energy",
    "experiment/features",
    "experiment/limits/calibration.py",
    "experiment/machine/devices.py",
    "experiment/network.py",
    "experiment/problem.py",
    "experiment/splitting",
)


def parameters_of(block: str, parameters: BaseModel) -> dict[str, Any]:
    """Every parameter of a block by its full name, as plain data, without secrets: results are stored with it."""
    values = parameters.model_dump(mode="json", by_alias=True)
    return without_secrets({f"{block}.{name}": value for name, value in values.items()})


def surroundings(device: torch.device, network: nn.Module) -> dict[str, Any]:
    """What can change the last digits of a result although the problem is the same: machine, libraries and code."""
    return {
        "device": f"{device} {torch.cuda.get_device_name(device)}" if device.type == "cuda" else str(device),
        "instruction set": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "torch": str(torch.__version__),
        "solver code (SHA-256)": solver_sha256(),
        "network code (SHA-256)": network_sha256(type(network)),
    }


def network_sha256(kind: type[nn.Module]) -> str:
    """SHA-256 of the file that defines a network, which may be the user's own."""
    return hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, shapes, types and values."""
    digest = hashlib.sha256()
    for name, tensor in tensors.items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data if tensor.numel() else b"")  # without a copy
    return digest.hexdigest()


def differences(made_with: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Where two settings differ, in words."""
    names = [*now, *(name for name in made_with if name not in now)]
    return [
        f"{name} = {made_with.get(name)!r}, this run has {now.get(name)!r}"
        for name in names
        if made_with.get(name) != now.get(name)
    ]


def require_same(made_with: Mapping[str, Any], now: Mapping[str, Any], result: str, node: str) -> None:
    """Raise a `ConfigurationError` when ``result`` was made with other settings than ``now`` by the node ``node``."""
    found = differences(made_with, now)
    if found:
        raise ConfigurationError(
            f"the stored {result} was made with {found[0]}; make it again: kedro run --from-nodes {node}"
        )


@cache
def solver_sha256() -> str:
    """SHA-256 of the solver's code, read once: a file that is edited during a run is not the code that runs."""
    return code_sha256(parts=SOLVER_CODE)


def code_sha256(package: Path = PACKAGE, parts: Iterable[str] = (".",)) -> str:
    """SHA-256 of the Python files of a package, or of some of its files and folders, subfolders included.

    It changes with the code, and not with a commit that leaves the code alone. A part without code is an error: a
    digest that left it out would accept results of other code.
    """
    digest = hashlib.sha256()
    for part in parts:
        place = package / part
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        if not files:
            raise FileNotFoundError(f"{place} is listed as code to digest, but there is no Python file")
        for path in files:
            digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def installed_packages() -> str:
    """The environment, a line ``name==version`` for each package.

    Not by ``pip freeze``: it shows the address that a package was installed from, which may hold a password.
    """
    found = {distribution.name.lower(): distribution.version for distribution in distributions()}
    return "".join(f"{name}=={number}\n" for name, number in sorted(found.items()))


def lock_sha256(project: Path) -> str | None:
    """SHA-256 of the lock file of a project; None where there is none."""
    path = project / LOCK_FILE
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def program_fingerprints(parameters: Mapping[str, Any], project: Path) -> dict[str, str]:
    """SHA-256 of the parameters, of the code and of the lock file; the data have their own fingerprint.

    Without a lock file, the installed versions take its place.
    """
    return {
        "parameters": _parameters_sha256(parameters),
        "code": code_sha256(),
        "lock": lock_sha256(project) or hashlib.sha256(installed_packages().encode()).hexdigest(),
    }


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Which fingerprints differ.

    >>> changed({"data": "a", "code": "b"}, {"data": "a", "code": "c"})
    ['code']
    """
    return [kind for kind, value in now.items() if before.get(kind) != value]


def _parameters_sha256(parameters: Mapping[str, Any]) -> str:
    """All parameters count except ``retrain.force``, which is no reason for another model."""
    relevant = {name: value for name, value in parameters.items() if name != "retrain"}
    relevant["retrain"] = {name: value for name, value in parameters["retrain"].items() if name != "force"}
    return hashlib.sha256(json.dumps(without_secrets(relevant), sort_keys=True, default=str).encode()).hexdigest()
