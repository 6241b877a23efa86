"""Load the model for scoring: a registered one, or the last one trained in this folder."""

import json
import logging
import os
from pathlib import Path
from typing import Any, NoReturn

import mlflow
import pandas as pd
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode

from idbpd.datasets.partial import temporary_folder
from idbpd.errors import ConfigurationError, DataError
from idbpd.redaction import redact
from idbpd.tracking.model import hash_file_of
from idbpd.tracking.model_files import verified_copy, verify_model
from idbpd.tracking.store import URI_VARIABLE, address, is_reachable

logger = logging.getLogger(__name__)

CHAMPION = "champion"


class VerifiedModel:
    """A model whose files were checked against their logged hashes."""

    def __init__(self, folder: Path) -> None:
        """Load the model from its verified files; the folder can be deleted afterwards."""
        self._model = mlflow.pyfunc.load_model(str(folder))
        self._served = self._model.unwrap_python_model()
        # Models from before columns of any kind have none: they take numbers and answer with label probabilities.
        self._description: dict[str, Any] | None = getattr(self._served, "description", None)

    @classmethod
    def at(cls, uri: str) -> "VerifiedModel":
        """Verify and load the model at this address."""
        with temporary_folder() as folder:
            return cls(verify_model(uri, Path(folder)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that it makes features of."""
        if self._description is None:
            return tuple(self._model.metadata.get_input_schema().input_names())
        return tuple(self._description["encoding"]["columns"])

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each task, by its name."""
        return {} if self._description is None else {task["name"]: task["kind"] for task in self._description["tasks"]}

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The answers for raw rows: those that the served model gives."""
        # MLflow's check of the columns allows anything, but looks at every single value, so it is bypassed.
        answers = self._model.predict(rows) if self._description is None else self._served.predict(None, rows)
        assert isinstance(answers, pd.DataFrame)
        return answers


class ScoringModelDataset(AbstractDataset[NoReturn, VerifiedModel]):
    """The model at ``uri``. If it is null: the champion of the data set, or else the last model trained in this folder.

    ```yaml
    scoring_model:
      type: idbpd.tracking.ScoringModelDataset
      dataset_name: yeast
      filepath: data/06_models/yeast/model # of the last model
      uri: null # or models:/idbpd-yeast/3
    ```

    The files of a model are compared with their logged hashes before it is loaded.
    """

    def __init__(
        self, *, dataset_name: str, filepath: str, uri: str | None, metadata: dict[str, Any] | None = None
    ) -> None:
        """Set the data set, the folder of the last model, and optionally the address of the model to use."""
        self._registered = f"idbpd-{dataset_name}"
        self._dataset_name = dataset_name
        self._last = Path(filepath)
        self._uri = uri
        self.metadata = metadata

    def load(self) -> VerifiedModel:
        """Find, verify and load the model."""
        uri = self._uri or self._champion()
        if uri is not None:
            model = VerifiedModel.at(uri)
            logger.info("scoring with the model %s", uri)
            return model
        if not self._last.is_dir():
            raise ConfigurationError(
                f"there is no model for the data set {self._dataset_name!r} yet; train one with: "
                f"kedro run --params dataset={self._dataset_name}"
            )
        hashes = hash_file_of(self._last)
        tags = json.loads(hashes.read_text(encoding="utf-8")) if hashes.exists() else {}
        with temporary_folder() as folder:
            model = VerifiedModel(verified_copy(self._last, tags, Path(folder)))
        logger.info("scoring with the last trained model, %s", self._last)
        return model

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Not supported: training saves models."""
        raise DatasetError("a model to score with is read-only")

    def _champion(self) -> str | None:
        """The address of the champion; None if there is none or tracking is off."""
        store = os.environ.get(URI_VARIABLE)
        if store is None:
            return None
        if not is_reachable(store):
            raise DataError(
                f"no server answers at {address(store)}, so the champion of {self._registered} is not known; "
                "name a model with --params model_uri=..."
            )
        try:
            version = MlflowClient().get_model_version_by_alias(self._registered, CHAMPION)
        except MlflowException as error:
            if error.error_code == ErrorCode.Name(RESOURCE_DOES_NOT_EXIST) or "alias" in str(error).lower():
                return None
            raise DataError(redact(f"cannot find the champion of {self._registered}: {error}")) from error
        return f"models:/{self._registered}/{version.version}"

    def _exists(self) -> bool:
        return True  # loading has a better error message than Kedro

    def _describe(self) -> dict[str, Any]:
        return {"registered": self._registered, "uri": self._uri, "filepath": str(self._last)}
