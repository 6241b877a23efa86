"""Where runs are kept."""

from pathlib import Path

import mlflow
from sqlalchemy.engine import make_url

DATABASE = "mlflow.db"


def open_store(uri: str | None, folder: Path, experiment: str) -> tuple[str, str]:
    """Connect MLflow to its store and return the store's address and the experiment's id.

    Without a URI it is an SQLite file in ``folder``: an absolute path, so that it does not depend on the working
    directory. Artifacts of a local store lie beside its database; MLflow would put them into the working directory.
    """
    if uri is None:
        folder.mkdir(parents=True, exist_ok=True)
        uri = f"sqlite:///{folder / DATABASE}"
    mlflow.set_tracking_uri(uri)
    client = mlflow.MlflowClient()
    found = client.get_experiment_by_name(experiment)
    if found is not None:
        return uri, str(found.experiment_id)
    location = None
    if uri.startswith("sqlite:") and (database := make_url(uri).database):
        location = (Path(database).resolve().parent / "artifacts").as_uri()
    return uri, str(client.create_experiment(experiment, artifact_location=location))
