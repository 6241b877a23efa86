"""A file of rows to be scored by a trained model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
from kedro.io import AbstractDataset, DatasetError

from idbpd.datasets.arff.reader import LabelNames, read_arff
from idbpd.datasets.table import Origin
from idbpd.datasets.tabular.reading import read_frame, require_readable
from idbpd.errors import ConfigurationError, DataError

ARFF = ".arff"


@dataclass(frozen=True)
class FeatureFile:
    """The rows of a file as they are; a model reads its columns by name."""

    frame: pd.DataFrame
    origin: Origin


class FeatureFileDataset(AbstractDataset[NoReturn, FeatureFile]):
    """A file to score: Parquet, ARFF, or text as CSV with any ending. The path is relative to the working directory."""

    def __init__(self, *, file: str | None, parameter: str, metadata: dict[str, Any] | None = None) -> None:
        """Take the path; ``parameter`` is the name of the parameter that set it, for errors."""
        self._path = required_path(file, parameter)
        if self._path.suffix.lower() != ARFF:
            require_readable(str(self._path))
        self.metadata = metadata

    def load(self) -> FeatureFile:
        """Read the file."""
        name, content = str(self._path), self._content()
        if not content:
            raise DataError(f"{name}: the file is empty")
        if self._path.suffix.lower() == ARFF:
            table = read_arff(content, name, labels=LabelNames([], []))
            frame, origin = table.frame(slice(None)), table.origin
        else:
            frame, origin = read_frame(content, name)
        if frame.empty:
            raise DataError(f"{name}: the table has columns but no rows")
        return FeatureFile(frame, origin)

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Not supported: the file belongs to the user."""
        raise DatasetError("a file to score is read-only")

    def _content(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise DataError(f"cannot read {self._path}: {(error.strerror or str(error)).lower()}") from error

    def _exists(self) -> bool:
        if not self._path.is_file():
            self._content()  # raises an error with the reason
        return True

    def _describe(self) -> dict[str, Any]:
        return {"file": str(self._path)}


def required_path(file: str | None, parameter: str, formats: Sequence[str] = ()) -> Path:
    """The path set by a parameter; a `ConfigurationError` if it is missing or in none of the formats."""
    if not file:
        raise ConfigurationError(
            f"parameter {parameter!r} is missing; for example: "
            "kedro run --pipeline predict --params dataset=mine,input=table.csv,output=scores.csv"
        )
    if formats and Path(file).suffix not in formats:
        raise ConfigurationError(
            f"parameter {parameter!r} = {file!r} is not valid: the file name must end in {' or '.join(formats)}"
        )
    return Path(file)
