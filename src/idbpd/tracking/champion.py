"""The model in use, as a dataset."""

from typing import Any, NamedTuple, NoReturn

import mlflow
import pandas as pd
from kedro.io import AbstractDataset, DatasetError

from idbpd.tracking.model_files import verify_model
from idbpd.tracking.registry import champion_of, registered_name


class Champion(NamedTuple):
    """The version in use: its number, what it must be told about a sample, and what it says then."""

    version: int
    features: list[str]
    columns: list[str]  # ``task:label``
    model: Any  # an MLflow pyfunc model

    def probabilities(self, features: pd.DataFrame) -> pd.DataFrame:
        """The probability of every label of every task, for features as they come."""
        answer: pd.DataFrame = self.model.predict(features)
        return answer


class ChampionDataset(AbstractDataset[NoReturn, Champion | None]):
    """Loads the champion of a data set's registered model from the registry; None where there is none yet."""

    def __init__(self, *, dataset: str, metadata: dict[str, Any] | None = None) -> None:
        """Name the data set."""
        self._name = registered_name(dataset)
        self.metadata = metadata

    def load(self) -> Champion | None:
        """Load the model as a server would, after making sure that nobody has altered it."""
        version = champion_of(self._name)
        if version is None:
            return None
        model = mlflow.pyfunc.load_model(str(verify_model(f"models:/{self._name}/{version.number}")))
        inputs, outputs = model.metadata.get_input_schema(), model.metadata.get_output_schema()
        return Champion(version.number, inputs.input_names(), outputs.input_names(), model)

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Refuse: a model becomes the champion by passing the gates."""
        raise DatasetError("the champion is chosen by a retraining, or by kedro rollback")

    def _exists(self) -> bool:
        return True  # none is an answer too

    def _describe(self) -> dict[str, Any]:
        return {"name": self._name}
