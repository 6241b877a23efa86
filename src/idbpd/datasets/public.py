"""Published data sets: missing files are downloaded, and every file has a known checksum."""

import hashlib
import logging
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pooch
import requests
from kedro.io import AbstractDataset, DatasetError
from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

from idbpd.datasets.idx import decompressed
from idbpd.datasets.partial import remove_abandoned, replacing, temporary_folder
from idbpd.errors import ConfigurationError, DataError
from idbpd.terminal import TerminalBar

logger = logging.getLogger(__name__)

DATA_ROOT_VARIABLE = "IDBPD_DATA"
TIMEOUT = (10, 60)  # seconds to connect, and between two chunks


@dataclass(frozen=True)
class PublicFile:
    """One file: its local path, its address, and the SHA-256 of its content.

    For a gzip file, the checksum is that of the decompressed content, because compressed bytes depend on the
    compressor. ``member`` is the name of the file inside a zip archive at the address.
    """

    filepath: str
    address: str
    sha256: str
    member: str | None = None

    @property
    def path(self) -> Path:
        """The local path of the file."""
        return Path(self.filepath)


class PublicDataset(AbstractDataset[Any, Any]):
    """Any Kedro dataset of published files; missing files are downloaded first.

    ```yaml
    flags:
      type: idbpd.datasets.PublicDataset
      dataset: {type: idbpd.datasets.ArffDataset, filepath: data/01_raw/flags/Flags.arff}
      files:
        arff:
          filepath: data/01_raw/flags/Flags.arff
          address: http://www.uco.es/grupos/kdis/MLLResources/ucobigfiles/Datasets/Full/Flags_Meka.zip
          member: Flags.arff
          sha256: 5f0c...
    ```
    """

    def __init__(
        self,
        *,
        dataset: dict[str, Any],
        files: dict[str, dict[str, str]],
        credentials: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the files; ``dataset`` is an ordinary catalog entry that reads them, with these credentials."""
        try:
            self._files = [PublicFile(**entry) for entry in files.values()]
            # If the data root is a URL, its owner provides the files: nothing is downloaded to it.
            self._local = [file for file in self._files if "://" not in file.filepath]
        except TypeError as error:
            raise ConfigurationError(f"'files' of a public data set: {error}") from error
        self._dataset: AbstractDataset[Any, Any] = AbstractDataset.from_config(
            "public", dataset if credentials is None else {"credentials": credentials, **dataset}
        )
        self.metadata = metadata

    def load(self) -> Any:
        """Download missing files, load the data set, and warn about files that differ from the published ones."""
        download([file for file in self._local if not file.path.exists()])
        data = self._dataset.load()
        for file in self._local:
            if _sha256(file.path) != file.sha256:
                logger.warning("%s is not the published file: its SHA-256 differs", file.path)
        return data

    def save(self, data: Any) -> NoReturn:  # noqa: ARG002
        """Not supported: the files are published by others."""
        raise DatasetError("published data sets are read-only")

    def _exists(self) -> bool:
        return all(file.path.exists() for file in self._local) and self._dataset.exists()

    def _describe(self) -> dict[str, Any]:
        return {"files": [file.filepath for file in self._files]}


def download(files: Iterable[PublicFile]) -> None:
    """Download these files, each address once. A file is stored only if it is complete and its checksum is right."""
    by_address: dict[str, list[PublicFile]] = {}
    for file in files:
        by_address.setdefault(file.address, []).append(file)
    for address, wanted in by_address.items():
        with temporary_folder() as folder:
            fetched = _fetch(address, Path(folder), wanted)
            for file in wanted:
                _place(fetched, file)


def _fetch(address: str, folder: Path, wanted: list[PublicFile]) -> Path:
    pooch.get_logger().setLevel("WARNING")  # pooch logs a proposed checksum for each file that it does not check
    first = wanted[0].path
    logger.info("%s not found; downloading %s", first, address)
    with DownloadBar(address.rpartition("/")[2]) as bar:
        downloader = pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT)
        try:
            return Path(pooch.retrieve(address, known_hash=None, fname="fetched", path=folder, downloader=downloader))
        except (requests.RequestException, OSError, ValueError) as error:
            raise DataError(
                f"{first} does not exist and could not be downloaded from {address} ({_reason(error)}). Download it "
                f"yourself and {' and '.join(_instruction(file) for file in wanted)}, or set the variable "
                f"{DATA_ROOT_VARIABLE} to a folder that contains {first.parent.name}/{first.name}"
            ) from error


def _place(fetched: Path, file: PublicFile) -> None:
    content = fetched.read_bytes()
    if file.member is not None:
        try:
            with zipfile.ZipFile(fetched) as archive:
                content = archive.read(file.member)
        except (zipfile.BadZipFile, KeyError) as error:
            raise DataError(
                f"{file.address} is not a zip archive with a file {file.member}: {error}; {_instruction(file)}"
            ) from error
    found = hashlib.sha256(decompressed(content, file.address)).hexdigest()
    if found != file.sha256:
        raise DataError(
            f"{file.address} has changed: the SHA-256 of {file.path.name} is {found}, expected {file.sha256}; "
            f"get the right file elsewhere and {_instruction(file)}"
        )
    try:
        remove_abandoned(file.path.parent)
        with replacing(file.path) as partial:
            partial.write_bytes(content)
    except OSError as error:
        raise DataError(f"cannot write {file.path}: {error.strerror}; set {DATA_ROOT_VARIABLE}") from error


def _instruction(file: PublicFile) -> str:
    inside = f"the file {file.member} inside it" if file.member is not None else "it"
    return f"put {inside} at {file.path}"


def _reason(error: Exception) -> str:
    """The reason of a failed download, without the address, which the message names already."""
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _sha256(path: Path) -> str:
    return hashlib.sha256(decompressed(path.read_bytes(), str(path))).hexdigest()


class DownloadBar(TerminalBar):
    """Progress bar for pooch: shown on a terminal only."""

    def __init__(self, title: str) -> None:
        """Prepare the bar."""
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        super().__init__(title, None, *columns)

    @property
    def total(self) -> int:
        """The size in bytes; pooch sets it if the server sends it."""
        return int(self.bar.tasks[self.task].total or 0)

    @total.setter
    def total(self, size: int) -> None:
        self.bar.update(self.task, total=size or None)

    def update(self, count: int) -> None:
        """Add downloaded bytes."""
        self.bar.advance(self.task, count)

    def reset(self) -> None:
        """Restart at zero; pooch calls this before it reports the complete size."""
        self.bar.update(self.task, completed=0)

    def close(self) -> None:
        """Do nothing: the ``with`` block removes the bar."""
