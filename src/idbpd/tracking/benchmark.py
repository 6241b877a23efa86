"""The cells of a benchmark as tracked runs: saved one by one, loaded together."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from idbpd.errors import ConfigurationError
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.tracked.benchmark_results import BenchmarkCell, JobResult
from idbpd.tracking import logging
from idbpd.tracking.runs import current_journal, track_complete_run

NOT_TRACKED = "a benchmark needs tracked runs: set 'enabled: true' in mlflow.yml"
IDENTITY = ("dataset", "setting", "method", "seed")
PIPELINE = "benchmark"
# The metrics with a value at every measured step.
HISTORY = frozenset(
    {
        *("seconds", "evaluations", "objective", "feasible_objective", "constraint", "infeasibility"),
        *("multiplier", "stationarity", "slackness", "best_multiplier", "best_stationarity", "best_slackness"),
    }
)


class TrackedCellsDataset(AbstractDataset[JobResult, list[BenchmarkCell]]):
    """Saves each result to a folder and each cell to a child run of its own; loads the cells of one benchmark.

    Every execution of the benchmark has all its cells under one parent run. Cells reused from an earlier execution are
    tracked again, with the tag ``reused``. Loading reads only the tracking store. ``run`` is the parent run to load;
    None is the latest.
    """

    def __init__(
        self, *, results: dict[str, Any], run: str | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        """Configure the store of the results as the catalog does, and name the run to load."""
        self._results: ContentStore = AbstractDataset.from_config("results", results).load()
        self._run = run
        self.metadata = metadata

    def save(self, data: JobResult) -> None:
        """Keep the file first: a result is not lost when it cannot be tracked. A failure is no result."""
        if data.failed is None and not data.reused:
            self._results.put(data.made_with, data.record, data.tensors)
        tags = data.record.get("tags")
        if tags is None or data.record.get("trial"):
            return  # a calibration or a tuning trial: the cells that use it record it
        contents = [
            logging.tags({**tags, "cell": data.key, "reused": str(data.reused).lower()}),
            logging.metrics(data.record["metrics"]),
        ]
        if data.tensors:
            contents.append(
                logging.history(pd.DataFrame({name: column.numpy() for name, column in data.tensors.items()}))
            )
        tracked = track_complete_run(
            {name: tags[name] for name in IDENTITY},
            logging.parameters(data.record["parameters"]).content,
            contents,
            "FINISHED" if data.failed is None else "FAILED",
        )
        if not tracked:
            raise ConfigurationError(NOT_TRACKED)

    def load(self) -> list[BenchmarkCell]:
        """The cells of the benchmark, ordered by start time."""
        if current_journal() is None:
            raise ConfigurationError(NOT_TRACKED)
        client = MlflowClient()
        return [_cell(client, run) for run in self._children(client)]

    def _children(self, client: MlflowClient) -> Iterator[Run]:
        parent = self._parent(client)
        condition = f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{parent.info.run_id}'"
        order, token = ["attributes.start_time ASC"], None
        while True:
            page = client.search_runs([parent.info.experiment_id], condition, order_by=order, page_token=token)
            yield from (run for run in page if "cell" in run.data.tags)
            token = page.token
            if not token:
                return

    def _parent(self, client: MlflowClient) -> Run:
        if self._run is not None:
            return client.get_run(self._run)
        experiments = [experiment.experiment_id for experiment in client.search_experiments()]
        condition = f"tags.pipeline = '{PIPELINE}'"
        runs = client.search_runs(experiments, condition, order_by=["attributes.start_time DESC"])
        # Children can have the tags of their parent.
        parents = [run for run in runs if MLFLOW_PARENT_RUN_ID not in run.data.tags]
        if not parents:
            raise DatasetError("no benchmark has been tracked; run one with kedro run --pipeline benchmark")
        return parents[0]

    def _exists(self) -> bool:
        return True  # not known before the store is open

    def _describe(self) -> dict[str, Any]:
        return {"run": self._run}


def _cell(client: MlflowClient, run: Run) -> BenchmarkCell:
    """Convert a run to a cell: metrics in `HISTORY` become columns of the history."""
    columns = {}
    for name in run.data.metrics:
        if name in HISTORY:
            points = client.get_metric_history(run.info.run_id, name)
            columns[name] = pd.Series({point.step: point.value for point in points}, dtype=float)
    history = pd.DataFrame(columns).sort_index().rename_axis("step").reset_index()
    final = {name: value for name, value in run.data.metrics.items() if name not in HISTORY}
    return BenchmarkCell(dict(run.data.tags), dict(run.data.params), final, history)
