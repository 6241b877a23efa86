"""The model in use, as a dataset."""

from typing import Any, NamedTuple, NoReturn

import mlflow
import numpy as np
from kedro.io import AbstractDataset, DatasetError
from numpy.typing import NDArray

from idbpd.tracking.registry import champion_of, registered_name


class Champion(NamedTuple):
    """The version in use: its number, the labels of its tasks, and what it says about samples."""

    version: int
    tasks: dict[str, list[str]]
    model: Any  # an MLflow pyfunc model

    def probabilities(self, features: NDArray[np.float32]) -> NDArray[Any]:
        """The label probabilities of all tasks side by side, for features as they come."""
        return np.asarray(self.model.predict(features))


class ChampionDataset(AbstractDataset[NoReturn, Champion | None]):
    """Loads the champion of a data set's registered model from the registry; None where there is none yet."""

    def __init__(self, *, dataset: str, metadata: dict[str, Any] | None = None) -> None:
        """Name the data set."""
        self._name = registered_name(dataset)
        self.metadata = metadata

    def load(self) -> Champion | None:
        """Load the model, as a server would."""
        version = champion_of(self._name)
        if version is None:
            return None
        model = mlflow.pyfunc.load_model(f"models:/{self._name}/{version.number}")
        return Champion(version.number, version.tasks, model)

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Refuse: a model becomes the champion by passing the gates."""
        raise DatasetError("the champion is chosen by a retraining, or by kedro rollback")

    def _exists(self) -> bool:
        return True  # none is an answer too

    def _describe(self) -> dict[str, Any]:
        return {"name": self._name}
