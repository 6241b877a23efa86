"""Where runs are kept."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import mlflow
from mlflow.exceptions import MlflowException
from sqlalchemy.engine import make_url

from idbpd.errors import ConfigurationError
from idbpd.folders import require_writable

DATABASE = "mlflow.db"
SECONDS_FOR_A_SERVER = 5.0


def open_store(uri: str | None, folder: Path, experiment: str) -> tuple[str, str]:
    """Connect MLflow to its store and return the store's address and the experiment's id.

    Without a URI it is an SQLite file in ``folder``: an absolute path, so that it does not depend on the working
    directory. Artifacts of a local store lie beside its database; MLflow would put them into the working directory.

    A store that cannot be used is a `ConfigurationError` at once: MLflow itself would try again for minutes.
    """
    if uri is None:
        require_writable(folder)
        folder.mkdir(parents=True, exist_ok=True)
        uri = f"sqlite:///{folder / DATABASE}"
    artifacts = None
    if uri.startswith("sqlite:") and (database := make_url(uri).database):
        require_writable(Path(database).resolve().parent)
        artifacts = (Path(database).resolve().parent / "artifacts").as_uri()
    elif uri.startswith(("http://", "https://")):
        _require_server(uri)
    mlflow.set_tracking_uri(uri)
    try:
        client = mlflow.MlflowClient()
        found = client.get_experiment_by_name(experiment)
        if found is not None:
            return uri, str(found.experiment_id)
        return uri, str(client.create_experiment(experiment, artifact_location=artifacts))
    except MlflowException as error:
        raise ConfigurationError(f"cannot track runs in {uri!r}: {error}") from error


def _require_server(uri: str) -> None:
    address = urlsplit(uri)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), SECONDS_FOR_A_SERVER).close()
    except OSError as error:
        raise ConfigurationError(f"cannot track runs in {uri!r}: no server answers there ({error})") from error
