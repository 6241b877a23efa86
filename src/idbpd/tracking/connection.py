"""The project's own store, for what needs it outside of a tracked run."""

import os
from pathlib import Path
from typing import Any

from kedro.config import AbstractConfigLoader

from idbpd.errors import ConfigurationError
from idbpd.tracking.settings import TrackingSettings
from idbpd.tracking.store import PATIENCE, URI_VARIABLE, address, answers, open_store
from idbpd.validation import validated


def connect(project_path: Path, config: AbstractConfigLoader | dict[str, Any], what: str) -> None:
    """Connect MLflow to the store that ``mlflow.yml`` or the environment names.

    ``what`` needs it now: where tracking is turned off, or no server answers, that is a `ConfigurationError`.
    """
    settings: TrackingSettings = validated("mlflow", TrackingSettings, config["mlflow"])
    if not settings.enabled:
        raise ConfigurationError(f"{what} needs the model registry, but 'mlflow.enabled' is false; set it to true")
    for name, value in PATIENCE.items():
        os.environ.setdefault(name, value)
    uri = os.environ.get(URI_VARIABLE) or settings.tracking_uri
    store = open_store(uri, project_path / settings.folder, settings.experiment)
    if not answers(store.uri):
        raise ConfigurationError(f"{what} needs the model registry, but no server answers at {address(store.uri)}")
