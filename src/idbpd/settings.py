"""Kedro project settings."""

import os
from pathlib import Path

from idbpd.hooks import CheckpointHook, ComputeHook, ConfigurationHook, SummaryHook
from idbpd.tracking import RetrainingHook, TrackingHook

# Kedro and MLflow would otherwise report home about every command; MLflow understands no other value than "true".
os.environ["DO_NOT_TRACK"] = "true"
DISABLE_HOOKS_FOR_PLUGINS = ("kedro-telemetry",)

# Hooks run last in, first out: the configuration is checked before anything else, a retraining that is not needed ends
# before a tracked run is opened, and the results are shown before it is closed. Checkpoints go last of all.
HOOKS = (CheckpointHook(), TrackingHook(), RetrainingHook(), SummaryHook(), ComputeHook(), ConfigurationHook())


def _data_root() -> str:
    """Where raw data files are: ``IDBPD_DATA``, a folder or an address such as s3://..., else the project's folder."""
    root = os.environ.get("IDBPD_DATA")
    if root and "://" in root:
        return root.rstrip("/")
    return str(Path(root).expanduser().resolve()) if root else "data/01_raw"


CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "merge_strategy": {"parameters": "soft", "sources": "soft", "mlflow": "soft", "globals": "soft"},
    "config_patterns": {"sources": ["sources*", "sources*/**"], "mlflow": ["mlflow*", "mlflow*/**"]},
    "custom_resolvers": {"data_root": _data_root},
}
