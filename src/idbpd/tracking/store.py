"""The MLflow store: opening it, and checking that it can be reached."""

import logging
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
from sqlalchemy.exc import SQLAlchemyError

from idbpd.errors import ConfigurationError
from idbpd.experiment.records.folders import require_writable
from idbpd.redaction import redact, without_user
from idbpd.tracking.sqlite_file import make_whole

URI_VARIABLE = "MLFLOW_TRACKING_URI"
DATABASE = "mlflow.db"
CONNECT_SECONDS = 3.0
# By default MLflow asks a silent server seven times, two minutes each.
HTTP_LIMITS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}

# While creating its tables, MLflow would log one line per table.
for name in ("alembic", "mlflow"):
    logging.getLogger(name).setLevel(logging.WARNING)


class Store(NamedTuple):
    """The address of a store, and the artifact folder of new experiments; None lets the server choose."""

    uri: str
    artifacts: str | None


def open_store(uri: str | None, folder: Path, experiment: str) -> Store:
    """Connect MLflow to its store.

    Without a URI it is an SQLite file in ``folder``, by its absolute path, so that it does not depend on the working
    directory. Artifacts of a local store are kept next to its database; MLflow would use the working directory.

    A local store is created at once, whole or not at all, and a `ConfigurationError` says what is wrong with it. A
    server is not contacted: it may be down now and up again before the run ends.
    """
    if uri is None:
        require_writable(folder)
        folder.mkdir(parents=True, exist_ok=True)
        uri = f"sqlite:///{folder / DATABASE}"
    database = _database_of(uri)
    artifacts = None
    if database is not None:
        require_writable(database.parent)
        artifacts = (database.parent / "artifacts").as_uri()
    mlflow.set_tracking_uri(uri)
    if not _is_server(uri):
        try:
            if database is not None and artifacts is not None:
                database.parent.mkdir(parents=True, exist_ok=True)
                make_whole(database, artifacts)
            experiment_of(MlflowClient(uri), experiment, artifacts)
        except (MlflowException, SQLAlchemyError, OSError) as error:
            raise ConfigurationError(redact(f"cannot track runs in {uri!r}: {error}")) from error
    return Store(uri, artifacts)


def experiment_of(client: MlflowClient, name: str, artifacts: str | None) -> str:
    """The id of the experiment with this name; it is created if needed."""
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    try:
        return str(client.create_experiment(name, artifact_location=artifacts))
    except MlflowException as error:
        again = client.get_experiment_by_name(name)
        if again is None or error.error_code != ErrorCode.Name(RESOURCE_ALREADY_EXISTS):
            raise
        return str(again.experiment_id)  # another run has just created it


def tracking_uri() -> str:
    """The address of this execution's store, with credentials if it has any."""
    return os.environ[URI_VARIABLE]


def address(uri: str) -> str:
    """The address without credentials, for messages and files.

    >>> address("https://ann:pass@example.org:5000/tracking")
    'https://example.org:5000/tracking'
    """
    return without_user(uri)


def is_reachable(uri: str) -> bool:
    """Whether a server accepts connections at this address; always true for a file."""
    if not _is_server(uri):
        return True
    parts = urlsplit(uri)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _database_of(uri: str) -> Path | None:
    """The file of an SQLite store; None for any other store."""
    database = make_url(uri).database if uri.startswith("sqlite:") else None
    return None if database is None or database == ":memory:" else Path(database).resolve()


def _is_server(uri: str) -> bool:
    return uri.startswith(("http://", "https://"))
