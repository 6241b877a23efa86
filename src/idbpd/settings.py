"""Kedro project settings."""

import atexit
import gc
import os
from pathlib import Path

from idbpd.hooks.deferred import DeferredHook
from idbpd.hooks.heartbeat import HeartbeatHook
from idbpd.hooks.warnings import WarningsHook

# Turn off the usage reports of Kedro and MLflow. MLflow accepts no other value than "true".
os.environ["DO_NOT_TRACK"] = "true"
# Kedro-Viz would write what happened in a run to a file of its own, error messages with their secrets included.
DISABLE_HOOKS_FOR_PLUGINS = ("kedro-telemetry", "kedro-viz")

# Threads that wait for others give their core away: no digit changes, and on a busy machine it is several times as
# fast. OpenMP reads this when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# At its end the interpreter would search all objects for garbage, for seconds in which a kill makes a run look failed.
atexit.register(gc.freeze)

# Kedro calls the last hook first. So secrets are known and the configuration is checked before anything else, an
# unneeded retraining ends before a tracked run is opened, results are printed before the run is closed, and checkpoints
# are deleted last. Only a run that begins after all that has a heartbeat.
HOOKS = (
    HeartbeatHook(),
    DeferredHook("idbpd.hooks.checkpoints", "CheckpointHook"),
    DeferredHook("idbpd.tracking.hook", "TrackingHook"),
    DeferredHook("idbpd.tracking.retraining_hook", "RetrainingHook"),
    DeferredHook("idbpd.hooks.summary", "SummaryHook"),
    WarningsHook(),
    DeferredHook("idbpd.hooks.compute", "ComputeHook"),
    DeferredHook("idbpd.hooks.configuration", "ConfigurationHook"),
    DeferredHook("idbpd.hooks.first_check", "FirstCheckHook"),
    DeferredHook("idbpd.hooks.secrets", "SecretsHook"),
)


def _data_root() -> str:
    """The root of the raw data: ``IDBPD_DATA`` (a folder, or a URL such as s3://...), else ``data/01_raw``."""
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
