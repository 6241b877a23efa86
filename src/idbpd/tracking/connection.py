"""Connect to the tracking store outside of a tracked run."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from kedro.config import AbstractConfigLoader

from idbpd.errors import ConfigurationError
from idbpd.tracking.settings import OUTBOX, TrackingSettings
from idbpd.tracking.store import HTTP_LIMITS, URI_VARIABLE, Store, address, is_reachable, open_store
from idbpd.validation import validated


class Connection(NamedTuple):
    """A store that answers, and the folder with the entries that wait for it."""

    store: Store
    outbox: Path


def connect(project_path: Path, config: AbstractConfigLoader | dict[str, Any], what: str) -> Connection:
    """Connect MLflow to the store that ``mlflow.yml`` or the environment names.

    ``what`` is the command that needs the store, for errors. A `ConfigurationError` says that tracking is turned off or
    that no server answers.
    """
    settings: TrackingSettings = validated("mlflow", TrackingSettings, config["mlflow"])
    if not settings.enabled:
        raise ConfigurationError(f"{what} needs the model registry, but 'mlflow.enabled' is false; set it to true")
    for name, value in HTTP_LIMITS.items():
        os.environ.setdefault(name, value)
    uri = os.environ.get(URI_VARIABLE) or settings.tracking_uri
    store = open_store(uri, project_path / settings.folder, settings.experiment)
    if not is_reachable(store.uri):
        raise ConfigurationError(f"{what} needs the model registry, but no server answers at {address(store.uri)}")
    return Connection(store, project_path / settings.folder / OUTBOX)
