"""The champion (the model in use) as a dataset."""

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, NoReturn, Optional

import pandas as pd
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from safetensors.torch import load_file
from torch import Tensor

from idbpd.tracking.registry import Version, registered_name, versions
from idbpd.tracking.scoring import VerifiedModel

SEEN_ROWS = "seen_rows.safetensors"  # the artifact with the marks of the training rows

logger = logging.getLogger(__name__)


class Champion(NamedTuple):
    """The version in use, or the one that models are measured by; its model is loaded as a server would."""

    version: int
    model: VerifiedModel
    seen_rows: dict[str, Tensor] | None = None
    yardstick: Optional["Champion"] = None  # None: it is the champion itself, or it is gone

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
        known = {version.number: version for version in versions(self._name)}
        version = next((version for version in known.values() if version.is_champion), None)
        if version is None:
            return None
        yardstick = known.get(version.yardstick)
        if yardstick is None:
            logger.warning(
                "version %d of %s, by which models are measured, is not registered any more; they are measured by the "
                "champion, version %d",
                version.yardstick,
                self._name,
                version.number,
            )
        if yardstick is None or yardstick.number == version.number:
            return self._loaded(version)
        return self._loaded(version)._replace(yardstick=self._loaded(yardstick))

    def _loaded(self, version: Version) -> Champion:
        model = VerifiedModel.at(f"models:/{self._name}/{version.number}")
        return Champion(version.number, model, _seen_rows(version.run_id))

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Not supported: a model becomes the champion by passing the gates."""
        raise DatasetError("the champion is chosen by a retraining, or by kedro rollback")

    def _exists(self) -> bool:
        return True  # loading may return None

    def _describe(self) -> dict[str, Any]:
        return {"name": self._name}


def _seen_rows(run_id: str) -> dict[str, Tensor] | None:
    """The marks of the rows that a run trained on; None where the run has none."""
    client = MlflowClient()
    if SEEN_ROWS not in {artifact.path for artifact in client.list_artifacts(run_id)}:
        return None
    with TemporaryDirectory(prefix="idbpd-rows-") as folder:
        return load_file(Path(client.download_artifacts(run_id, SEEN_ROWS, folder)))
