"""Runs of processes that were killed: nothing could close them then."""

import logging

from mlflow import MlflowClient

from idbpd.processes import has_ended
from idbpd.tracking.runs import end_runs

PROCESS_TAG = "process"  # of a parent run: the process that it is the execution of

logger = logging.getLogger(__name__)


def close_abandoned(experiment: str) -> None:
    """Close as KILLED every run that is still open though its process has ended."""
    for run in MlflowClient().search_runs([experiment], filter_string="attributes.status = 'RUNNING'"):
        process = run.data.tags.get(PROCESS_TAG)
        if process is not None and has_ended(process):
            logger.info(
                "run %s (%s) was left open by a process that is gone: it was killed", run.info.run_id, run.info.run_name
            )
            end_runs(run.info.run_id, "KILLED")
