"""Several data sets at once, each loaded on demand."""

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DataCatalog, DatasetError


class SourcesDataset(AbstractDataset[None, dict[str, Callable[[], Any]]]):
    """One loading function per data set, which also applies its validator, as a catalog entry would."""

    def __init__(self, *, sources: dict[str, dict[str, Any]], metadata: dict[str, Any] | None = None) -> None:
        """Take the blocks, each in the form of a catalog entry."""
        self._sources = sources
        self.metadata = metadata

    def load(self) -> dict[str, Callable[[], Any]]:
        """Return the functions; a data set is read when its function is called."""
        catalog = DataCatalog.from_config(self._sources)
        return {name: partial(catalog.load, name) for name in self._sources}

    def save(self, data: None) -> NoReturn:  # noqa: ARG002
        """Not supported: sources are only read."""
        raise DatasetError("sources are only read")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"sources": sorted(self._sources)}
