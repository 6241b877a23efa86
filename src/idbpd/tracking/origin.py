"""What it takes to repeat a run, exactly: metrics and parameters in MLflow are for people, and lose types."""

from collections.abc import Mapping
from typing import Any

import torch
from mlflow import MlflowClient

from idbpd.program import code_sha256, libraries

ORIGIN = "origin.json"  # an artifact of the parent run


def log_origin(run_id: str, parameters: Mapping[str, Any], env: str | None) -> None:
    """Keep parameters with their types, the configuration environment, and what else decides the last digits."""
    origin = {
        "parameters": dict(parameters),
        "env": env,
        "code_sha256": code_sha256(),
        "threads": torch.get_num_threads(),
        "libraries": libraries(),
    }
    MlflowClient().log_dict(run_id, origin, ORIGIN)
