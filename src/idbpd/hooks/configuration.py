"""Everything that can be wrong before a run, found before the run."""

from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog, DatasetError
from kedro.pipeline import Pipeline

from idbpd.errors import ConfigurationError, InputError
from idbpd.experiment.folders import FolderLock, require_writable
from idbpd.hooks.parameter_check import PREFIX, check_parameters, parameter_types
from idbpd.validation import validated

SOURCE, SOURCES = "source", "sources"
BENCHMARK = "benchmark"  # the parameters of the pipeline that works on several data sets
VALIDATOR = "validator"
SETTLES, ASKED_IN = "settles", "asked_in"  # catalog metadata
# The catalog needs these for paths and tags, and cannot see parameters; they are set where both can see them.
SET_GLOBALLY = {"dataset": "dataset", "seed": "seed", "training.method": "method"}  # parameter: name in globals.yml
TOP_LEVEL = {"dataset": str, "seed": int}
# The catalog takes these from the command line: they are paths and addresses, and no node sees them.
SET_ON_COMMAND_LINE = {"input": str | None, "output": str | None, "model_uri": str | None}


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
        types = {**TOP_LEVEL, **SET_ON_COMMAND_LINE, **parameter_types(pipelines.values())}
        check_parameters(parameters, types)
        for name, shared in SET_GLOBALLY.items():
            value = _at(parameters, name)
            given = _at(loader.runtime_params or {}, name)
            expected = loader["globals"][shared] if given is None else given
            if value != expected:
                raise ConfigurationError(
                    f"{name!r} is {value!r} in a parameters file, but {expected!r} everywhere else; "
                    f"set it in conf/local/globals.yml (as {shared!r}) or with --params {name}={value}"
                )
        sources: dict[str, Any] = loader["sources"]
        dataset = self._dataset = parameters["dataset"]
        compared = validated(BENCHMARK, types[BENCHMARK], parameters[BENCHMARK]).datasets
        for name in (dataset, *compared):
            _require_source(name, sources)
        complete = {
            name: {VALIDATOR: _default_validator(name, sources[name]), **sources[name]} for name in (dataset, *compared)
        }
        # Set before the catalog is made: so it is an entry like any other, with validator, version and credentials.
        loader["catalog"] = {
            **loader["catalog"],
            SOURCE: complete[dataset],
            SOURCES: {"type": "idbpd.datasets.SourcesDataset", "sources": {name: complete[name] for name in compared}},
        }
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


def _require_source(name: str, sources: dict[str, Any]) -> None:
    if name not in sources:
        raise ConfigurationError(f"unknown data set {name!r}; known data sets are {', '.join(sorted(sources))}")
    if not isinstance(sources[name], dict) or "type" not in sources[name]:
        raise ConfigurationError(f"the data set {name!r} needs a block with a 'type', it has: {sources[name]!r}")


def _at(values: Any, name: str) -> Any:
    """The value of a dotted name in nested blocks; None where there is none."""
    for part in name.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values


def _default_validator(name: str, source: dict[str, Any]) -> dict[str, Any]:
    """What must hold of any table; its errors call a table that does not know its file by the source's."""
    called = str(source.get("filepath", f"the data set {name}"))
    return {"class": "idbpd.datasets.TableValidator", "options": {"name": called}}


def _files(names: set[str], catalog: DataCatalog) -> list[Path]:
    # What is not in the catalog is kept in memory.
    paths = (getattr(catalog[name], "path", None) for name in names if name in catalog)
    return [path for path in paths if isinstance(path, Path)]
