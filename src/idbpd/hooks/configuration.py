"""Everything that can be wrong before a run, found before the run."""

from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog, DatasetError
from kedro.pipeline import Pipeline

from idbpd.errors import ConfigurationError, InputError
from idbpd.folders import FolderLock, require_writable
from idbpd.hooks.parameter_check import PREFIX, check_parameters, parameter_types

SOURCE = "source"
VALIDATOR = "validator"
SETTLES, ASKED_IN = "settles", "asked_in"  # catalog metadata
# The catalog needs these two for paths and tags, and cannot see parameters; they are set where both can see them.
SET_GLOBALLY = {"dataset": str, "seed": int}


class ConfigurationHook:
    """Checks names, values and folders, and puts the chosen data set into the catalog as ``source``.

    The data sets that can be chosen stand in ``sources.yml``, one block each, in the form of a catalog entry.
    """

    def __init__(self) -> None:
        """Nothing is locked yet."""
        self._lock: FolderLock | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Check the parameters and the name of the data set."""
        self._release()  # of a run that ended before it began, in the same process
        loader = context.config_loader
        parameters: dict[str, Any] = loader["parameters"]
        self._parameters = parameters
        check_parameters(parameters, {**SET_GLOBALLY, **parameter_types(pipelines.values())})
        for name in SET_GLOBALLY:
            expected = (loader.runtime_params or {}).get(name, loader["globals"][name])
            if parameters[name] != expected:
                raise ConfigurationError(
                    f"{name!r} is {parameters[name]!r} in a parameters.yml, but {expected!r} everywhere else; "
                    f"set it in conf/local/globals.yml or with --params {name}={parameters[name]}"
                )
        sources: dict[str, Any] = loader["sources"]
        dataset = self._dataset = parameters["dataset"]
        if dataset not in sources:
            raise ConfigurationError(f"unknown data set {dataset!r}; known data sets are {', '.join(sorted(sources))}")
        if not isinstance(sources[dataset], dict) or "type" not in sources[dataset]:
            raise ConfigurationError(
                f"the data set {dataset!r} needs a block with a 'type', it has: {sources[dataset]!r}"
            )
        source = {VALIDATOR: _default_validator(dataset, sources[dataset]), **sources[dataset]}
        # Set before the catalog is made: so it is an entry like any other, with validator, version and credentials.
        loader["catalog"] = {**loader["catalog"], SOURCE: source}
        self._lock = FolderLock(context.project_path / "data" / f".{dataset}.lock", f"the data set {dataset!r}")

    @hook_impl
    def after_catalog_created(self, catalog: DataCatalog) -> None:
        """Find a mistake in the data set's block now; Kedro would when the data are first needed."""
        try:
            catalog[SOURCE]
        except DatasetError as error:
            if isinstance(error.__cause__, InputError):
                raise  # it says all there is to say
            raise ConfigurationError(f"the data set {self._dataset!r}: {' '.join(str(error).split())}") from error

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Make sure that what is read is there, that every result can be written, and that nobody else writes it.

        Minutes of training are not lost to a read-only folder, and two runs do not mix their results.
        """
        for name in sorted(pipeline.inputs()):
            if not name.startswith(PREFIX) and name != SOURCE and not catalog.exists(name):
                raise ConfigurationError(f"{name!r} of an earlier stage is not there; begin with kedro run")
            _require_asked(name, catalog, self._parameters)
        for folder in sorted({path.parent for path in _files(pipeline.all_outputs(), catalog)}):
            require_writable(folder)
        assert self._lock is not None  # there is a context before there is a run
        self._lock.acquire()

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Let others write."""
        self._release()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Let others write."""
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()


def _require_asked(name: str, catalog: DataCatalog, parameters: dict[str, Any]) -> None:
    """Refuse an earlier stage's settled parameters when this run asks for others.

    Such an entry says in its metadata which block it settles, and which entry says what was asked for.
    """
    if name.startswith(PREFIX):
        return
    metadata = getattr(catalog[name], "metadata", None) or {}
    if SETTLES not in metadata:
        return
    block = metadata[SETTLES]
    asked = catalog.load(metadata[ASKED_IN])["asked"]
    for key, value in parameters[block].items():
        if asked.get(key) != value:
            raise ConfigurationError(
                f"{name!r} of an earlier stage was made with {block}.{key} = {asked.get(key)!r}, this run has "
                f"{value!r}; begin with kedro run"
            )


def _default_validator(name: str, source: dict[str, Any]) -> dict[str, Any]:
    """What must hold of any table; its errors call a table that does not know its file by the source's."""
    called = str(source.get("filepath", f"the data set {name}"))
    return {"class": "idbpd.datasets.TableValidator", "options": {"name": called}}


def _files(names: set[str], catalog: DataCatalog) -> list[Path]:
    paths = (getattr(catalog[name], "path", None) for name in names)
    return [path for path in paths if isinstance(path, Path)]
