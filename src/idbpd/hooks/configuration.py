"""Checks of the configuration before a run."""

from pathlib import Path
from typing import Any

from kedro.config import AbstractConfigLoader, MissingConfigException
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog, DatasetError
from kedro.pipeline import Pipeline

from idbpd.baselines import METHODS
from idbpd.datasets import FolderDataset
from idbpd.datasets.partial import remove_abandoned, remove_abandoned_temporary_folders
from idbpd.errors import ConfigurationError, InputError
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.records.folders import FolderLock, require_writable
from idbpd.hooks.parameter_check import PREFIX, check_parameters, parameter_types
from idbpd.hooks.sources import complete, load_sources, require_source
from idbpd.validation import validated

SOURCE, SOURCES = "source", "sources"
BENCHMARK = "benchmark"  # the parameters of the pipeline that works on several data sets
# Catalog metadata: the parameter block that an entry stores with `auto` replaced by a value, and the entry whose key
# "asked" holds the block as it was requested.
RESOLVES, REQUESTED_IN = "resolves", "requested_in"
# The catalog needs these for paths and tags but cannot read parameters, so they are set in globals.yml.
# By the name of the parameter, its name in globals.yml.
SET_GLOBALLY = {"dataset": "dataset", "seed": "seed", "training.method": "method", "report.to": "report_to"}
TOP_LEVEL = {"dataset": str, "seed": int}
# The catalog takes these paths and addresses from the command line; no node uses them.
SET_ON_COMMAND_LINE = {"input": str | None, "output": str | None, "model_uri": str | None}


class ConfigurationHook:
    """Checks names, values and folders, and adds the chosen data set to the catalog as ``source``.

    The data sets are defined in ``sources.yml``, one block each, in the form of a catalog entry.
    """

    def __init__(self) -> None:
        """Nothing is locked yet."""
        self._lock: FolderLock | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Check the parameters and the name of the data set."""
        self._release()  # the lock of an earlier run in this process that ended before its pipeline started
        loader = context.config_loader
        parameters: dict[str, Any] = loader["parameters"]
        self._parameters = parameters
        types = {**TOP_LEVEL, **SET_ON_COMMAND_LINE, **parameter_types(pipelines.values())}
        check_parameters(parameters, types)
        _require_method_for_ranks(parameters)
        for name, shared in SET_GLOBALLY.items():
            value = _at(parameters, name)
            given = _at(loader.runtime_params or {}, name)
            expected = loader["globals"][shared] if given is None else given
            if value != expected:
                raise ConfigurationError(
                    f"{name!r} is {value!r} in a parameters file, but {expected!r} everywhere else; "
                    f"set it in conf/local/globals.yml (as {shared!r}) or with --params {name}={value}"
                )
        sources = load_sources(loader)
        dataset = self._dataset = parameters["dataset"]
        compared = validated(BENCHMARK, types[BENCHMARK], parameters[BENCHMARK]).datasets
        used = (dataset, *compared)
        for name in used:
            require_source(name, sources, _credentials(loader))
        entries = {name: complete(name, sources[name], context.project_path) for name in used}
        # Set before the catalog is created, so that it is an ordinary entry with validator, version and credentials.
        loader["catalog"] = {
            **loader["catalog"],
            SOURCE: entries[dataset],
            SOURCES: {"type": "idbpd.datasets.SourcesDataset", "sources": {name: entries[name] for name in compared}},
        }
        self._lock = FolderLock(context.project_path / "data" / f".{dataset}.lock", f"the data set {dataset!r}")

    @hook_impl
    def after_catalog_created(self, catalog: DataCatalog) -> None:
        """Report an error in the data set's block now; Kedro would report it when the data are first loaded."""
        try:
            catalog[SOURCE]
        except DatasetError as error:
            if isinstance(error.__cause__, InputError):
                raise  # the cause has a clear message of its own
            raise ConfigurationError(f"the data set {self._dataset!r}: {' '.join(str(error).split())}") from error

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Check that all inputs exist and all results can be written, and lock the data set.

        So no training time is lost to a read-only folder, and two runs never mix their results. What a killed run of
        this data set left half-written is removed.
        """
        for name in sorted(pipeline.inputs()):
            if not name.startswith(PREFIX) and name != SOURCE and not catalog.exists(name):
                raise ConfigurationError(f"{name!r} of an earlier stage does not exist; start with kedro run")
            _require_same_request(name, catalog, self._parameters)
        outputs = _files(pipeline.all_outputs(), catalog)
        for folder in sorted({path.parent for path in outputs}):
            require_writable(folder)
        assert self._lock is not None  # there is a context before there is a run
        self._lock.acquire()
        remove_abandoned_temporary_folders()
        for folder in {path.parent for path in outputs} | set(_folders(pipeline.inputs(), catalog)):
            remove_abandoned(folder)

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Release the lock."""
        self._release()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Release the lock."""
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()


def _require_method_for_ranks(parameters: dict[str, Any]) -> None:
    """Refuse a method that needs what only ranks know, before its limits are calibrated."""
    ranks = validated("compute", ComputeParameters, parameters["compute"]).distributed.ranks
    method = parameters["training"]["method"]
    if ranks > 1 and METHODS[method].needs_weights:
        others = ", ".join(name for name, entry in METHODS.items() if not entry.needs_weights)
        raise ConfigurationError(
            f"training.method {method} needs the worst weights of all samples in one process, and compute.distributed "
            f"has {ranks}; set compute.distributed.processes and nodes to 1, or choose a method of {others}"
        )


def _require_same_request(name: str, catalog: DataCatalog, parameters: dict[str, Any]) -> None:
    """Refuse resolved parameters of an earlier stage if this run requests other values."""
    if name.startswith(PREFIX):
        return
    metadata = getattr(catalog[name], "metadata", None) or {}
    if RESOLVES not in metadata:
        return
    block = metadata[RESOLVES]
    requested = catalog.load(metadata[REQUESTED_IN])["asked"]
    for key, value in parameters[block].items():
        if requested.get(key) != value:
            raise ConfigurationError(
                f"{name!r} of an earlier stage was made with {block}.{key} = {requested.get(key)!r}, this run has "
                f"{value!r}; start with kedro run"
            )


def _credentials(loader: AbstractConfigLoader) -> set[str]:
    """The names in credentials.yml, which is optional."""
    try:
        return set(loader["credentials"])
    except MissingConfigException:
        return set()


def _at(values: Any, name: str) -> Any:
    """The value of a dotted name in nested blocks, or None."""
    for part in name.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values


def _folders(names: set[str], catalog: DataCatalog) -> list[Path]:
    entries = (catalog[name] for name in names if name in catalog and not name.startswith(PREFIX))
    return [entry.path for entry in entries if isinstance(entry, FolderDataset)]


def _files(names: set[str], catalog: DataCatalog) -> list[Path]:
    # Outputs that are not in the catalog stay in memory.
    paths = (getattr(catalog[name], "path", None) for name in names if name in catalog)
    return [path for path in paths if isinstance(path, Path)]
