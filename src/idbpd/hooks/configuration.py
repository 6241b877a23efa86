"""Everything that can be wrong before a run, found before the run."""

import tempfile
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from idbpd.errors import ConfigurationError
from idbpd.hooks.parameter_check import check_parameters, parameter_types

DATASET_PARAMETER = "dataset"
SOURCE = "source"
VALIDATOR = "validator"


class ConfigurationHook:
    """Checks names, values and folders, and puts the chosen data set into the catalog as ``source``.

    The data sets that can be chosen stand in ``sources.yml``, one block each, in the form of a catalog entry.
    """

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Check the parameters and the name of the data set."""
        parameters: dict[str, Any] = context.config_loader["parameters"]
        check_parameters(parameters, {DATASET_PARAMETER: str, **parameter_types(pipelines.values())})
        sources: dict[str, Any] = context.config_loader["sources"]
        name = parameters[DATASET_PARAMETER]
        if name not in sources:
            raise ConfigurationError(f"unknown data set {name!r}; known data sets are {', '.join(sorted(sources))}")
        source = {VALIDATOR: _default_validator(name, sources[name]), **sources[name]}
        # Set before the catalog is made: so it is an entry like any other, with validator, version and credentials.
        context.config_loader["catalog"] = {**context.config_loader["catalog"], SOURCE: source}

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Make sure that every result can be written: minutes of training are not lost to a read-only folder."""
        for folder in sorted({path.parent for path in _files(pipeline.all_outputs(), catalog)}):
            _require_writable(folder)


def _default_validator(name: str, source: dict[str, Any]) -> dict[str, Any]:
    """What must hold of any table; its errors call a table that does not know its file by the source's."""
    called = str(source.get("filepath", f"the data set {name}"))
    return {"class": "idbpd.datasets.TableValidator", "options": {"name": called}}


def _files(names: set[str], catalog: DataCatalog) -> list[Path]:
    paths = (getattr(catalog[name], "path", None) for name in names)
    return [path for path in paths if isinstance(path, Path)]


def _require_writable(folder: Path) -> None:
    existing = next(ancestor for ancestor in (folder, *folder.parents) if ancestor.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise ConfigurationError(f"cannot write results to {folder}: {existing}: {error.strerror}") from error
