"""Run the recorded program with the recorded parameters again, and compare the results with the record."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from idbpd.datasets.partial import temporary_folder
from idbpd.errors import ConfigurationError
from idbpd.exit_codes import EXIT_CODES
from idbpd.experiment.parameters import ModelParameters
from idbpd.experiment.records.provenance import code_sha256, installed_packages
from idbpd.pipelines.reproduction.differences import first_difference, other_conditions
from idbpd.pipelines.reproduction.program_copy import RAW_DATA, copy_program
from idbpd.redaction import is_hidden

logger = logging.getLogger(__name__)

# Variables that would make the repetition write to the present run or its store.
NOT_INHERITED = ("IDBPD_EXECUTION", "MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID")


def repeat(
    recorded: dict[str, Any], project_folder: Path, run_id: str | None, model: ModelParameters
) -> dict[str, Any]:
    """Repeat the run in a temporary folder, with its thread count; where the data differ, stop after the split.

    ``model`` are the present parameters: they have the secrets of a network, which are not recorded.
    """
    recorded = {**recorded, "parameters": _with_secrets(recorded["parameters"], model)}
    with temporary_folder() as name:
        folder = Path(name)
        origin = copy_program(project_folder.resolve(), recorded, folder)
        logger.info("repeating run %s with %s", run_id, origin)
        results = folder / "data"
        dataset = recorded["parameters"]["dataset"]
        _run(folder, project_folder, recorded, "--to-nodes", "split")
        repeated: dict[str, Any] = {
            "origin": origin,
            "code_sha256": code_sha256(folder / "src" / "idbpd"),
            "packages": installed_packages(),
            **_json(results / "05_model_input" / dataset / "fingerprint.json"),
        }
        if repeated["data_sha256"] != recorded["data_sha256"]:
            return repeated  # an hour of training would not make them the same
        _run(folder, project_folder, recorded)
        return {
            **repeated,
            "threads": _json(results / "07_model_output" / dataset / "outcome.json")["threads"],
            "certificate": _json(results / "08_reporting" / dataset / "certificate.json"),
            "quality": _json(results / "08_reporting" / dataset / "quality.json"),
            "weights": load_file(results / "06_models" / dataset / "weights.safetensors"),
        }


def compare_with_record(recorded: dict[str, Any], repeated: dict[str, Any]) -> dict[str, Any]:
    """IDENTICAL when weights and final metrics are the same bit for bit; else the first difference and its cause."""
    difference = first_difference(recorded, repeated)
    outcome = "IDENTICAL" if difference is None else "DIFFERENT"
    conditions = other_conditions(recorded, repeated)
    if difference is None:
        numbers = sum(tensor.numel() for tensor in recorded["weights"].values())
        message = f"IDENTICAL: {numbers} weights and all final metrics of run {recorded['run_id']} are the same again"
    else:
        cause = conditions[0] if conditions else "none that is recorded: data, code, threads and libraries are the same"
        message = f"DIFFERENT: {difference}; likely cause: {cause}"
    return {
        "outcome": outcome,
        "exit_code": EXIT_CODES[outcome],
        "message": message,
        "run_id": recorded["run_id"],
        "code": repeated["origin"],
        "difference": difference,
        "conditions": conditions,
    }


def _with_secrets(parameters: dict[str, Any], model: ModelParameters) -> dict[str, Any]:
    """The recorded parameters with the options that were hidden, as they are set now."""
    recorded = parameters["model"].get("options") or {}
    return {
        **parameters,
        "model": {**parameters["model"], "options": _filled_in(recorded, model.options, "model.options")},
    }


def _filled_in(recorded: Mapping[str, Any], present: Mapping[str, Any], block: str) -> dict[str, Any]:
    filled = dict(recorded)
    for name, value in recorded.items():
        now = present.get(name)
        if isinstance(value, Mapping):
            filled[name] = _filled_in(value, now if isinstance(now, Mapping) else {}, f"{block}.{name}")
        elif is_hidden(value):
            if now is None:
                raise ConfigurationError(
                    f"the secret '{block}.{name}' of the run is not recorded; set it now, with model.type, in "
                    "conf/local/parameters.yml or with --params"
                )
            filled[name] = now
    return filled


def _run(folder: Path, project: Path, recorded: dict[str, Any], *options: str) -> None:
    parameters = recorded["parameters"]
    command = [sys.executable, "-m", "kedro", "run", "--env", recorded["env"], *options]
    # The catalog needs these too, and cannot see the parameters files.
    shared = {name: parameters[name] for name in ("dataset", "seed")}
    if "method" in parameters["training"]:
        shared["training.method"] = parameters["training"]["method"]
    command += ["--params", ",".join(f"{name}={value}" for name, value in shared.items())]
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    environment |= {
        "PYTHONPATH": str(folder / "src"),
        "IDBPD_DATA": environment.get("IDBPD_DATA", str(project / RAW_DATA)),
        "OMP_NUM_THREADS": str(recorded["threads"]),
        "MKL_NUM_THREADS": str(recorded["threads"]),
        "OMP_THREAD_LIMIT": str(recorded["threads"]),  # the run may have asked for more than it got
    }
    if subprocess.run(command, cwd=folder, env=environment, check=False).returncode != 0:
        raise ConfigurationError(
            f"run {recorded['run_id']} on {parameters['dataset']!r} cannot be repeated: it ends with the error above"
        )


def _json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
