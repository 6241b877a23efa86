"""The champion (the model in use) as a dataset."""

from typing import Any, NamedTuple, NoReturn

import pandas as pd
from kedro.io import AbstractDataset, DatasetError

from idbpd.tracking.registry import champion_of, registered_name
from idbpd.tracking.scoring import VerifiedModel


class Champion(NamedTuple):
    """The version in use: its number and its model, loaded as a server would."""

    version: int
    model: VerifiedModel

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that the model makes features of."""
        return self.model.columns

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each task that it answers, by its name."""
        return self.model.kinds

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The answers for raw rows, in the columns that a served model answers with."""
        return self.model.predict(rows)


class ChampionDataset(AbstractDataset[NoReturn, Champion | None]):
    """Loads the champion of a data set from the model registry; None if there is none yet."""

    def __init__(self, *, dataset: str, metadata: dict[str, Any] | None = None) -> None:
        """Set the data set."""
        self._name = registered_name(dataset)
        self.metadata = metadata

    def load(self) -> Champion | None:
        """Load the model after checking that its files were not altered."""
        version = champion_of(self._name)
        if version is None:
            return None
        return Champion(version.number, VerifiedModel.at(f"models:/{self._name}/{version.number}"))

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Not supported: a model becomes the champion by passing the gates."""
        raise DatasetError("the champion is chosen by a retraining, or by kedro rollback")

    def _exists(self) -> bool:
        return True  # loading may return None

    def _describe(self) -> dict[str, Any]:
        return {"name": self._name}
