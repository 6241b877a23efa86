"""A folder of results, each in a file named by all that decides its numbers, so that nothing is computed twice."""

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from idbpd.datasets.partial import replacing
from idbpd.experiment.records.provenance import tensors_sha256

logger = logging.getLogger(__name__)

SUFFIX = ".safetensors"
DAY = 24 * 3600.0


class Stored(NamedTuple):
    """One result: a record of plain data, and tensors."""

    record: dict[str, Any]
    tensors: dict[str, Tensor]


class ContentStore:
    """Keeps results by what they were made with.

    A damaged file counts as missing. On a full disk a result is not kept, and the run goes on. Both give a warning.
    """

    def __init__(self, folder: Path, what: str, kept: int | None = None) -> None:
        """Name the folder, what one result is called in messages, and how many are kept: the last used (None: all)."""
        self._folder = folder
        self._what = what
        self._kept = kept

    def get(self, made_with: Mapping[str, Any]) -> Stored | None:
        """The result that was made with these settings; None where there is none that can be trusted."""
        path = self._path(made_with)
        try:
            stored = _read(path, made_with)
        except FileNotFoundError:
            return None
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            logger.warning("%s is damaged (%s): computing the %s again", path, error, self._what)
            return None
        with suppress(OSError):  # the folder may belong to somebody else
            os.utime(path)  # just used, so not among the first to be removed
        return stored

    def put(self, made_with: Mapping[str, Any], record: dict[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Keep a result, whole or not at all."""
        on_host = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        text = json.dumps(record)
        metadata = {
            "record": text,
            "names": json.dumps(list(on_host)),  # safetensors keeps them in an order of its own
            "sha256": _checksum(text, on_host),
            "made_with": _text_of(made_with),
        }
        path = self._path(made_with)
        try:
            with replacing(path) as partial:
                save_file(on_host, partial, metadata=metadata)
        except (OSError, SafetensorError) as error:
            logger.warning("the %s could not be kept in %s: %s", self._what, path, error)
            return
        if self._kept is not None:
            forget_oldest(self._paths(), self._kept)

    def keys(self) -> set[str]:
        """The keys of all files, whatever they were made with."""
        return {path.stem for path in self._paths()}

    def _path(self, made_with: Mapping[str, Any]) -> Path:
        return self._folder / f"{content_key(made_with)}{SUFFIX}"

    def _paths(self) -> list[Path]:
        return list(self._folder.glob(f"[!.]*{SUFFIX}"))  # a file whose name begins with a dot is still being written


def content_key(made_with: Mapping[str, Any]) -> str:
    """A short name for settings: the same for the same settings, another for any others."""
    return hashlib.sha256(_text_of(made_with).encode()).hexdigest()[:16]


def _text_of(made_with: Mapping[str, Any]) -> str:
    return json.dumps(dict(made_with), sort_keys=True)


def by_last_use(paths: Iterable[Path]) -> list[Path]:
    """The files, the most recently used first; those that were removed meanwhile come last."""
    return sorted(paths, key=_last_use, reverse=True)


def _last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def forget_oldest(paths: Iterable[Path], kept: int, days: float | None = None) -> None:
    """Keep the ``kept`` most recently used files; of these, remove what was not used for ``days`` days."""
    oldest = 0.0 if days is None else time.time() - days * DAY
    for rank, path in enumerate(by_last_use(paths)):
        if rank >= kept or _last_use(path) < oldest:
            remove(path)


def remove(path: Path) -> None:
    """Remove a file that is not needed; one that cannot be removed does no harm."""
    with suppress(OSError):
        path.unlink()


def _read(path: Path, made_with: Mapping[str, Any]) -> Stored:
    if not path.exists():  # safetensors has no error of its own for it
        raise FileNotFoundError(path)
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in json.loads(metadata["names"])}
    if metadata["sha256"] != _checksum(metadata["record"], tensors):
        raise ValueError("its content does not match its checksum")
    if metadata["made_with"] != _text_of(made_with):
        raise ValueError("it was made with other settings than its name says")
    return Stored(json.loads(metadata["record"]), tensors)


def _checksum(record: str, tensors: Mapping[str, Tensor]) -> str:
    return hashlib.sha256(f"{record}\n{tensors_sha256(tensors)}".encode()).hexdigest()
