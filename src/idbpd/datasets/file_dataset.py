"""Base class of datasets that read one file, local or remote."""

from abc import abstractmethod
from base64 import b64encode
from copy import deepcopy
from pathlib import PurePosixPath
from typing import Any, Generic, TypeVar

import fsspec
from kedro.io import AbstractVersionedDataset, DatasetError, Version
from kedro.io.core import get_filepath_str, get_protocol_and_path

from idbpd.errors import ConfigurationError, DataError, causes

Data = TypeVar("Data")


class FileDataset(AbstractVersionedDataset[Data, Data], Generic[Data]):
    """Reads and writes the bytes of one file through fsspec: a local path, ``http://``, ``s3://`` and so on.

    It supports Kedro's versions. A subclass defines the format in `_parse` and `_render`.
    """

    def __init__(
        self,
        *,
        filepath: str,
        version: Version | None = None,
        credentials: dict[str, Any] | None = None,
        fs_args: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the file; ``credentials`` and ``fs_args`` are passed to its file system.

        For an ``http`` address, the credentials may be ``username`` and ``password``, or ``token`` (a bearer token),
        or ``query`` (what is added to the address, such as ``{sig: ...}``).
        """
        protocol, path = get_protocol_and_path(filepath, version)
        self._protocol = protocol
        options = {**deepcopy(fs_args or {}), **_file_system_options(protocol, deepcopy(credentials or {}))}
        if protocol == "file":
            options.setdefault("auto_mkdir", True)
        try:
            self._fs = fsspec.filesystem(protocol, **options)
        except (ImportError, ValueError) as error:  # the file system is not installed or not known
            raise ConfigurationError(f"cannot open {filepath}: {error}") from error
        self.metadata = metadata
        super().__init__(PurePosixPath(path), version, exists_function=self._fs.exists, glob_function=self._fs.glob)

    @abstractmethod
    def _parse(self, content: bytes, name: str) -> Data:
        """Convert the bytes of the file ``name`` to data."""

    @abstractmethod
    def _render(self, data: Data) -> bytes:
        """Convert data to the bytes of the file."""

    @property
    def path(self) -> str:
        """Where the file is, without a version."""
        return get_filepath_str(self._filepath, self._protocol)

    def load(self) -> Data:
        """Read and parse the file."""
        path = get_filepath_str(self._get_load_path(), self._protocol)
        return self._parse(self._read(path), path)

    def save(self, data: Data) -> None:
        """Write the file."""
        path = get_filepath_str(self._get_save_path(), self._protocol)
        with self._fs.open(path, "wb") as file:
            file.write(self._render(data))
        self._fs.invalidate_cache(get_filepath_str(self._filepath, self._protocol))

    def _read(self, path: str) -> bytes:
        try:
            with self._fs.open(path, "rb") as file:
                content: bytes = file.read()
        except OSError as error:
            raise DataError(f"cannot read {path}: {_reason(error)}") from error
        return content

    def _exists(self) -> bool:
        try:
            path = get_filepath_str(self._get_load_path(), self._protocol)
        except DatasetError:  # no version yet
            return False
        return bool(self._fs.exists(path))

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "protocol": self._protocol, "version": self._version}


def _reason(error: OSError) -> str:
    """Why a file cannot be read. For a missing file, the message of some file systems is only the path."""
    refused = [cause for cause in causes(error) if getattr(cause, "status", None) in {401, 403}]
    if refused:
        return "the server wants other credentials; name them in the block of the data set: credentials: ..."
    return "no such file" if isinstance(error, FileNotFoundError) else str(error)


def _file_system_options(protocol: str, credentials: dict[str, Any]) -> dict[str, Any]:
    """Credentials as the file system takes them: those of ``http`` in the form of a request."""
    if protocol not in {"http", "https"}:
        return credentials
    options = dict(credentials)
    headers = dict(options.pop("headers", {}))
    if "username" in options or "password" in options:
        pair = f"{options.pop('username', '')}:{options.pop('password', '')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    if "token" in options:
        headers["Authorization"] = f"Bearer {options.pop('token')}"
    if "query" in options:
        options["params"] = {name: str(value) for name, value in options.pop("query").items()}
    return {**options, **({"headers": headers} if headers else {})}
