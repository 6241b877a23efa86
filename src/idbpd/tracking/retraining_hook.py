"""Skip a retraining if nothing has changed, and record a failed one for the scheduler."""

import logging
import os
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline

from idbpd.datasets.table_checks import as_table
from idbpd.errors import ConfigurationError
from idbpd.exit_codes import NothingToDo
from idbpd.experiment.records.provenance import changed, program_fingerprints
from idbpd.experiment.solving.checkpoint_entries import clear_checkpoints
from idbpd.experiment.splitting.fingerprint import data_sha256
from idbpd.redaction import redact
from idbpd.tracking.connection import connect
from idbpd.tracking.leftovers import send_leftovers
from idbpd.tracking.registry import last_judged, registered_name
from idbpd.tracking.retraining import RetrainingDataset

RETRAINING = "retraining"  # the output that makes a pipeline a retraining
SOURCE, TABLE = "source", "table"  # the data as they are now, and as an earlier run has read them
FINGERPRINT = "fingerprint"  # of the data and their split
PREFIX = "params:"
PROGRAM = "program"  # the entry with the fingerprints of parameters, code and lock file

logger = logging.getLogger(__name__)


class RetrainingHook:
    """Ends a retraining before it starts if data, parameters, code and lock file are those of the last one.

    The check is not a node, because a node can skip the later nodes of a pipeline only by raising an error.
    """

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Keep the context and the parameters for the check."""
        self._context = context
        self._parameters: dict[str, Any] = context.config_loader["parameters"]

    @hook_impl
    def after_catalog_created(self, catalog: DataCatalog) -> None:
        """Add an entry for the fingerprints of parameters, code and lock file, which nodes read."""
        catalog[PROGRAM] = MemoryDataset({})

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Raise `NothingToDo` if nothing has changed."""
        if RETRAINING not in pipeline.all_outputs():
            return
        if self._parameters["split"]["test_fraction"] == 0:
            raise ConfigurationError(
                "parameter 'split.test_fraction' = 0 leaves no test data; a retraining needs them for its gates"
            )
        self._connection = connect(self._context.project_path, self._context.config_loader, "a retraining")
        outcome = catalog[RETRAINING]
        assert isinstance(outcome, RetrainingDataset)
        _report_killed(outcome)
        program = program_fingerprints(self._parameters_of(pipeline), self._context.project_path)
        catalog[PROGRAM].save(program)
        dataset = self._parameters["dataset"]
        last = last_judged(registered_name(dataset))
        if self._parameters["retrain"]["force"]:
            why = "it was forced"
        elif last is None:
            why = "no model has been registered yet"
        else:
            kinds = changed(last.fingerprints, {"data": _data_sha256(pipeline, catalog), **program})
            if not kinds:
                message = (
                    f"unchanged: data, parameters, code and lock file of {dataset} are those of version {last.number} "
                    f"({last.verdict} {last.created:%Y-%m-%d %H:%M} UTC); train anyway with --params retrain.force=true"
                )
                outcome.record("unchanged", message, model=registered_name(dataset), version=last.number)
                self._finish_killed(pipeline, catalog)
                raise NothingToDo(message)
            why = f"changed since version {last.number}: {', '.join(kinds)}"
        logger.info("retraining %s: %s", dataset, why)
        outcome.record("running", why, process=os.getpid())

    @hook_impl
    def on_pipeline_error(self, error: Exception, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Record the error; the champion is unchanged."""
        if RETRAINING in pipeline.all_outputs():
            outcome = catalog[RETRAINING]
            assert isinstance(outcome, RetrainingDataset)
            outcome.record("failed", redact(f"failed: {type(error).__name__}: {' '.join(str(error).split())}"))

    def _finish_killed(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Send and clear what the last retraining left if it was killed after its verdict: there will be no other."""
        clear_checkpoints(catalog.get(name) for name in sorted(pipeline.inputs()))
        send_leftovers(self._connection.outbox, self._connection.store.uri)

    def _parameters_of(self, pipeline: Pipeline) -> dict[str, Any]:
        """The parameters that a node of the pipeline uses; changes of others do not matter."""
        taken = {name.removeprefix(PREFIX).partition(".")[0] for name in pipeline.inputs() if name.startswith(PREFIX)}
        return {name: value for name, value in self._parameters.items() if name in taken}


def _data_sha256(pipeline: Pipeline, catalog: DataCatalog) -> str:
    """The digest of the data that this run would train on: those it would split, or those that were split before."""
    if FINGERPRINT in pipeline.all_outputs():
        return data_sha256(as_table(catalog.load(SOURCE if SOURCE in pipeline.inputs() else TABLE)))
    return str(catalog.load(FINGERPRINT)["data_sha256"])


def _report_killed(outcome: RetrainingDataset) -> None:
    """Log that an earlier retraining was killed: its record says running, but this process holds the lock."""
    before = outcome.load() if outcome.exists() else {}
    if before.get("outcome") == "running":
        logger.info(
            "the retraining that started at %s (process %s) was killed; the champion is unchanged",
            before["at"],
            before["process"],
        )
