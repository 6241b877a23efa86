"""What a result was made with, so that no run takes what belongs to another problem for its own."""

import hashlib
import inspect
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from idbpd.errors import ConfigurationError
from idbpd.pipelines.parameters import ComputeParameters, ModelParameters, ProblemParameters
from idbpd.program import code_sha256

# What decides which numbers a solver finds: another line of code in these may be another last digit.
SOLVER_CODE = (
    "optim",
    "baselines",
    "mtl",
    "pipelines/robust_problem.py",
    "pipelines/network.py",
    "pipelines/weight_decay/search.py",
)


def settings(
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: int,
    fingerprint: Mapping[str, str],
) -> dict[str, Any]:
    """All that decides which problem is solved, by the names that people set."""
    return {
        **parameters_of("model", model),
        **parameters_of("problem", problem),
        "compute.dtype": compute.dtype,
        "seed": seed,
        "data and split (SHA-256)": fingerprint["split_sha256"],
    }


def parameters_of(block: str, parameters: BaseModel) -> dict[str, Any]:
    """Every parameter of a block by its full name, as plain data."""
    values = parameters.model_dump(mode="json", by_alias=True)
    return {f"{block}.{name}": value for name, value in values.items()}


def surroundings(device: torch.device, network: nn.Module) -> dict[str, Any]:
    """What can change the last digits of a result although the problem is the same: machine, libraries and code."""
    return {
        "device": f"{device} {torch.cuda.get_device_name(device)}" if device.type == "cuda" else str(device),
        "instruction set": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "torch": str(torch.__version__),
        "solver code (SHA-256)": solver_sha256(),
        "network code (SHA-256)": hashlib.sha256(Path(inspect.getfile(type(network))).read_bytes()).hexdigest(),
    }


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, shapes, types and values."""
    digest = hashlib.sha256()
    for name, tensor in tensors.items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def content_key(made_with: Mapping[str, Any]) -> str:
    """A short name for settings: the same for the same, another for any other."""
    return hashlib.sha256(json.dumps(made_with, sort_keys=True).encode()).hexdigest()[:16]


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
    """Read once: a file that is edited while a run goes on is not the code that runs."""
    return code_sha256(parts=SOLVER_CODE)
