"""ARFF files in the catalog."""

from typing import Any

from kedro.io import Version
from kedro.io.core import get_filepath_str

from idbpd.datasets.arff.mulan import read_mulan_labels
from idbpd.datasets.arff.reader import LabelNames, read_arff
from idbpd.datasets.arff.writer import render_arff
from idbpd.datasets.file_dataset import FileDataset
from idbpd.datasets.table import TaskTable
from idbpd.errors import ConfigurationError


class ArffDataset(FileDataset[TaskTable]):
    """A multi-label table in an ARFF file, dense or sparse.

    The labels are named by ``labels`` (a list of attributes), by ``labels_file`` (Mulan's XML, in the same folder), or
    by the relation's name in the file (MEKA's ``-C n``).

    ```yaml
    flags:
      type: idbpd.datasets.ArffDataset
      filepath: data/01_raw/flags.arff
      labels: [red, green, blue]
      ignore: [name] # attributes that are neither feature nor label
      encoding: latin-1 # default: utf-8
    ```
    """

    def __init__(
        self,
        *,
        filepath: str,
        labels: list[str] | None = None,
        labels_file: str | None = None,
        ignore: list[str] | None = None,
        encoding: str = "utf-8",
        version: Version | None = None,
        credentials: dict[str, Any] | None = None,
        fs_args: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the file and the roles of its attributes."""
        if labels is not None and labels_file is not None:
            raise ConfigurationError(f"{filepath}: both 'labels' and 'labels_file' name the labels; keep one of them")
        super().__init__(
            filepath=filepath, version=version, credentials=credentials, fs_args=fs_args, metadata=metadata
        )
        # YAML reads an attribute named 2026 as a number.
        self._labels = None if labels is None else [str(label) for label in labels]
        self._labels_file = labels_file
        self._ignore = [str(name) for name in ignore or []]
        self._encoding = encoding

    def _parse(self, content: bytes, name: str) -> TaskTable:
        return read_arff(content, name, labels=self._label_names(), ignore=self._ignore, encoding=self._encoding)

    def _render(self, data: TaskTable) -> bytes:
        return render_arff(data, self._filepath.stem)

    def _label_names(self) -> LabelNames | None:
        if self._labels is not None:
            return LabelNames(self._labels, ["labels"] * len(self._labels))
        if self._labels_file is None:
            return None
        path = get_filepath_str(self._filepath.parent / self._labels_file, self._protocol)
        return read_mulan_labels(self._read(path), path)
