"""Settings in a JSON file that is validated when it is loaded."""

import json
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset
from kedro.utils import load_obj
from pydantic import BaseModel

from idbpd.errors import DataError
from idbpd.validation import validated


class TypedJsonDataset(AbstractDataset[BaseModel, BaseModel]):
    """An object of a pydantic class as JSON, with the same names as in parameters.yml.

    ```yaml
    problem:
      type: idbpd.datasets.TypedJsonDataset
      filepath: data/06_models/problem.json
      kind: idbpd.experiment.parameters.ProblemParameters
    ```
    """

    def __init__(self, *, filepath: str, kind: str, metadata: dict[str, Any] | None = None) -> None:
        """Set the file and the pydantic class."""
        self._path = Path(filepath)
        self._kind = load_obj(kind)
        self.metadata = metadata

    def load(self) -> BaseModel:
        """Load and validate."""
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{self._path} is not a JSON file: {error}") from error
        loaded: BaseModel = validated(str(self._path), self._kind, content)
        return loaded

    def save(self, data: BaseModel) -> None:
        """Save with the names of parameters.yml (the aliases of the fields)."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(data.model_dump_json(by_alias=True, indent=2) + "\n", encoding="utf-8")

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path), "kind": self._kind.__name__}
