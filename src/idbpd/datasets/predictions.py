"""Label probabilities on disk, in the format that the file's name asks for."""

from typing import Any

from idbpd.datasets.atomic import AtomicDataset
from idbpd.datasets.feature_file import required_path

FORMATS = {".csv": "pandas.CSVDataset", ".parquet": "pandas.ParquetDataset"}


class PredictionsDataset(AtomicDataset):
    """A table of probabilities in a CSV or Parquet file, whole or not there."""

    def __init__(self, *, file: str | None, parameter: str, metadata: dict[str, Any] | None = None) -> None:
        """Take the path that the parameter of that name gave, seen from the working directory."""
        path = required_path(file, parameter, tuple(FORMATS))
        dataset = {"type": FORMATS[path.suffix], "filepath": str(path.resolve()), "save_args": {"index": False}}
        super().__init__(dataset=dataset, metadata=metadata)
