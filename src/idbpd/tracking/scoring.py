"""Which model scores: a registered one, or the last that was trained here."""

import json
import logging
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import mlflow
import pandas as pd
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode

from idbpd.errors import ConfigurationError, DataError
from idbpd.tracking.model import hashes_beside
from idbpd.tracking.model_files import verified_copy, verify_model
from idbpd.tracking.redaction import redact
from idbpd.tracking.store import URI_VARIABLE, address, answers

logger = logging.getLogger(__name__)

CHAMPION = "champion"


class VerifiedModel:
    """A model whose files are those that were logged."""

    def __init__(self, folder: Path) -> None:
        """Load the model from its verified files, which are not needed afterwards."""
        self._model = mlflow.pyfunc.load_model(str(folder))

    @classmethod
    def at(cls, uri: str) -> "VerifiedModel":
        """Verify and load the model at this address."""
        with TemporaryDirectory(prefix="idbpd-model-") as folder:
            return cls(verify_model(uri, Path(folder)))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(self._model.metadata.get_input_schema().input_names())

    def predict(self, features: pd.DataFrame) -> pd.DataFrame:
        """A column ``task:label`` of probabilities for each label, a row for each row of features."""
        answer = self._model.predict(features)
        assert isinstance(answer, pd.DataFrame)  # what its signature says
        return answer


class ScoringModelDataset(AbstractDataset[NoReturn, VerifiedModel]):
    """The model at ``uri``; without one the champion of the data set, or else the last model trained here.

    ```yaml
    scoring_model:
      type: idbpd.tracking.ScoringModelDataset
      dataset_name: yeast
      filepath: data/06_models/yeast/model # of the last model
      uri: null # or models:/idbpd-yeast/3
    ```

    No model is loaded before its files were compared with the hashes of when it was logged.
    """

    def __init__(
        self, *, dataset_name: str, filepath: str, uri: str | None, metadata: dict[str, Any] | None = None
    ) -> None:
        """Say where models of the data set are."""
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
        beside = hashes_beside(self._last)
        tags = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
        with TemporaryDirectory(prefix="idbpd-model-") as folder:
            model = VerifiedModel(verified_copy(self._last, tags, Path(folder)))
        logger.info("scoring with the last trained model, %s", self._last)
        return model

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Refuse: training saves models."""
        raise DatasetError("a model to score with is read-only")

    def _champion(self) -> str | None:
        """The address of the champion; None where there is none, or nothing is tracked."""
        store = os.environ.get(URI_VARIABLE)
        if store is None:
            return None
        if not answers(store):
            raise DataError(
                f"no server answers at {address(store)}, so nobody knows the champion of {self._registered}; "
                "name a model with --params model_uri=..."
            )
        try:
            version = MlflowClient().get_model_version_by_alias(self._registered, CHAMPION)
        except MlflowException as error:
            if error.error_code == ErrorCode.Name(RESOURCE_DOES_NOT_EXIST) or "alias" in str(error).lower():
                return None
            raise DataError(redact(f"cannot ask for the champion of {self._registered}: {error}")) from error
        return f"models:/{self._registered}/{version.version}"

    def _exists(self) -> bool:
        return True  # loading says what is missing

    def _describe(self) -> dict[str, Any]:
        return {"registered": self._registered, "uri": self._uri, "filepath": str(self._last)}
