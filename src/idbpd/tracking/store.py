"""Where runs are kept."""

import os
import socket
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import mlflow
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_ALREADY_EXISTS, ErrorCode
from sqlalchemy.engine import make_url

from idbpd.errors import ConfigurationError
from idbpd.experiment.folders import require_writable
from idbpd.tracking.redaction import redact, without_user

URI_VARIABLE = "MLFLOW_TRACKING_URI"
DATABASE = "mlflow.db"
SECONDS_FOR_A_SERVER = 3.0
# MLflow would ask a silent server seven times, two minutes each.
PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}


class Store(NamedTuple):
    """The address of a store, and where new experiments of it keep their artifacts; None leaves that to the server."""

    uri: str
    artifacts: str | None


def open_store(uri: str | None, folder: Path, experiment: str) -> Store:
    """Connect MLflow to its store.

    Without a URI it is an SQLite file in ``folder``: an absolute path, so that it does not depend on the working
    directory. Artifacts of a local store lie beside its database; MLflow would put them into the working directory.

    A store on this machine is made ready, and a `ConfigurationError` says what is wrong with it at once. A server may
    be away now and back before the run ends.
    """
    if uri is None:
        require_writable(folder)
        folder.mkdir(parents=True, exist_ok=True)
        uri = f"sqlite:///{folder / DATABASE}"
    artifacts = None
    if uri.startswith("sqlite:") and (database := make_url(uri).database):
        require_writable(Path(database).resolve().parent)
        artifacts = (Path(database).resolve().parent / "artifacts").as_uri()
    mlflow.set_tracking_uri(uri)
    if not _is_server(uri):
        try:
            # Several processes that make the tables of a fresh file at the same time would fail.
            experiment_of(MlflowClient(uri), experiment, artifacts)
        except MlflowException as error:
            raise ConfigurationError(redact(f"cannot track runs in {uri!r}: {error}")) from error
    return Store(uri, artifacts)


def experiment_of(client: MlflowClient, name: str, artifacts: str | None) -> str:
    """The id of the experiment of that name, which is made when it is not there."""
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    try:
        return str(client.create_experiment(name, artifact_location=artifacts))
    except MlflowException as error:
        again = client.get_experiment_by_name(name)
        if again is None or error.error_code != ErrorCode.Name(RESOURCE_ALREADY_EXISTS):
            raise
        return str(again.experiment_id)  # another run made it in the meantime


def tracking_uri() -> str:
    """The address that this execution and its processes track to, with the credentials it may have."""
    return os.environ[URI_VARIABLE]


def address(uri: str) -> str:
    """The address without credentials, as it may be shown and kept.

    >>> address("https://ann:pass@example.org:5000/tracking")
    'https://example.org:5000/tracking'
    """
    return without_user(uri)


def answers(uri: str) -> bool:
    """Whether a server takes connections there; of a file nothing has to be asked."""
    if not _is_server(uri):
        return True
    parts = urlsplit(uri)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), SECONDS_FOR_A_SERVER).close()
    except OSError:
        return False
    return True


def _is_server(uri: str) -> bool:
    return uri.startswith(("http://", "https://"))
