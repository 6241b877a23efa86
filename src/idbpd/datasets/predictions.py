"""A model's answers on disk; the file name decides the format."""

from typing import Any

from idbpd.datasets.atomic import AtomicDataset
from idbpd.datasets.feature_file import required_path

FORMATS = {".csv": "pandas.CSVDataset", ".parquet": "pandas.ParquetDataset"}


class PredictionsDataset(AtomicDataset):
    """A table of answers in a CSV or Parquet file, written atomically."""

    def __init__(self, *, file: str | None, parameter: str, metadata: dict[str, Any] | None = None) -> None:
        """Take the path, relative to the working directory; ``parameter`` is its parameter's name, for errors."""
        path = required_path(file, parameter, tuple(FORMATS))
        dataset = {"type": FORMATS[path.suffix], "filepath": str(path.resolve()), "save_args": {"index": False}}
        super().__init__(dataset=dataset, metadata=metadata)
