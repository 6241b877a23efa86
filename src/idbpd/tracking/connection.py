"""The project's own store, for what needs it outside of a tracked run."""

import os
from pathlib import Path
from typing import Any

from kedro.config import AbstractConfigLoader

from idbpd.errors import ConfigurationError
from idbpd.tracking.settings import TrackingSettings
from idbpd.tracking.store import open_store
from idbpd.validation import validated

URI_VARIABLE = "MLFLOW_TRACKING_URI"


def connect(project_path: Path, config: AbstractConfigLoader | dict[str, Any], what: str) -> str:
    """Connect MLflow to the store that ``mlflow.yml`` or the environment names, and return its experiment's id.

    ``what`` needs it: where tracking is turned off, that is the error.
    """
    settings: TrackingSettings = validated("mlflow", TrackingSettings, config["mlflow"])
    if not settings.enabled:
        raise ConfigurationError(f"{what} needs the model registry, but 'mlflow.enabled' is false; set it to true")
    uri = os.environ.get(URI_VARIABLE) or settings.tracking_uri
    _, experiment = open_store(uri, project_path / settings.folder, settings.experiment)
    return experiment
