"""Send the entries of the journal to the store. No run waits for a store that cannot be reached.

An entry that was sent just before the process died is sent again by the next sender. This changes nothing in the store:
runs and models are found by their keys, metric points by time and step, and writing anything else twice has no effect.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from mlflow import MlflowClient
from mlflow.entities import Dataset as DatasetEntity
from mlflow.entities import DatasetInput, InputTag, LoggedModelOutput, Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS, MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME

from idbpd.redaction import redact
from idbpd.tracking.journal import Entry, Journal
from idbpd.tracking.store import address, experiment_of, is_reachable, tracking_uri

logger = logging.getLogger(__name__)

KEY = "idbpd.key"  # tag that identifies a run or a model
CLOSED = "idbpd.closed"  # tag of a child run that ended before its parent
# With one call per point, ten thousand points take a minute on SQLite. MLflow accepts a thousand points per call.
POINTS_PER_CALL = 1000
TEXTS_PER_CALL = 100
SECONDS_BETWEEN_ATTEMPTS = 15.0
# The server will never accept such an entry. Missing permission, timeouts and too many requests can pass: not listed.
REFUSALS = {400, 404, 409, 413, 422}
_retry_at: dict[Path, float] = {}  # by journal folder, in monotonic time

Item = TypeVar("Item")


class StoreUnreachableError(Exception):
    """The store accepts nothing at the moment."""


def send(journal: Journal, *, now: bool = False, uri: str | None = None) -> bool:
    """Send the entries of the journal; return whether all were sent. Without ``uri`` the store is this execution's.

    After a failure the next attempt waits `SECONDS_BETWEEN_ATTEMPTS`, so that a run is not delayed at every result.
    ``now`` tries at once.
    """
    if not now and time.monotonic() < _retry_at.get(journal.folder, 0.0):
        return False
    with journal.sending():
        try:
            _send_all(journal, uri or tracking_uri())
        except StoreUnreachableError as error:
            if journal.folder not in _retry_at:
                logger.warning("the tracking store cannot be reached, entries are kept on disk: %s", error)
            _retry_at[journal.folder] = time.monotonic() + SECONDS_BETWEEN_ATTEMPTS
            return False
    _retry_at.pop(journal.folder, None)
    return True


def _send_all(journal: Journal, uri: str) -> None:
    entries = list(journal.entries())
    if not entries:
        return
    if not is_reachable(uri):
        raise StoreUnreachableError(f"no server answers at {address(uri)}")
    sender = _Sender(MlflowClient(uri), journal)
    for entry in entries:
        try:
            sender.send(entry)
        except MlflowException as error:
            if _http_status(error) not in REFUSALS:
                raise StoreUnreachableError(redact(str(error))) from error
            logger.warning("the tracking store refused an entry (%s): %s", entry.kind, error)
            journal.reject(entry, str(error))
        except OSError as error:  # from an artifact store; MLflow wraps the errors of its own server
            raise StoreUnreachableError(redact(str(error))) from error
        else:
            journal.remove(entry)


class _Sender:
    """Sends entries to one store."""

    def __init__(self, client: MlflowClient, journal: Journal) -> None:
        self._client = client
        self._journal = journal
        self._runs = journal.runs
        self._experiment: str | None = None
        self._senders: dict[str, Callable[[str, Entry], None]] = {
            "open": lambda run_id, entry: None,  # noqa: ARG005 - `_run_id` has created the run
            "metrics": self._metrics,
            "params": self._params,
            "tags": self._tags,
            "artifact": self._artifact,
            "table": self._table,
            "input": self._input,
            "model": self._model,
            "close": self._close,
            "end": self._end,
        }

    def send(self, entry: Entry) -> None:
        self._senders[entry.kind](self._run_id(entry.run), entry)

    @property
    def experiment(self) -> str:
        if self._experiment is None:
            header = self._journal.header
            self._experiment = experiment_of(self._client, header["experiment"], header["artifacts"])
        return self._experiment

    def _run_id(self, run: dict[str, Any]) -> str:
        """The store's id of a run. The run and its parent are created when first needed."""
        key = run["key"]
        if key in self._runs:
            return self._runs[key]
        tags = {**run["tags"], KEY: key, MLFLOW_RUN_NAME: run["name"]}
        if "parent" in run:
            tags[MLFLOW_PARENT_RUN_ID] = self._run_id(run["parent"])
        found = self._client.search_runs([self.experiment], f"tags.`{KEY}` = '{key}'", max_results=1)
        made = found[0] if found else self._client.create_run(self.experiment, start_time=run["started"], tags=tags)
        run_id = str(made.info.run_id)
        # Log the parameters to child runs too, because MLflow compares runs by their parameters.
        self._log_params(run_id, {**self._journal.header["parameters"], **run.get("parameters", {})})
        self._runs[key] = run_id
        self._journal.add_run(key, run_id)
        return run_id

    def _metrics(self, run_id: str, entry: Entry) -> None:
        stamp = entry.content["time"]
        points = chain.from_iterable(
            (Metric(name, value, stamp, step) for step, value in zip(series["step"], series["value"], strict=True))
            for name, series in entry.content["series"].items()
        )
        for part in _parts(list(points), POINTS_PER_CALL):
            self._client.log_batch(run_id, metrics=part)

    def _params(self, run_id: str, entry: Entry) -> None:
        self._log_params(run_id, entry.content)

    def _log_params(self, run_id: str, values: dict[str, str]) -> None:
        for part in _parts([Param(name, value) for name, value in values.items()], TEXTS_PER_CALL):
            self._client.log_batch(run_id, params=part)

    def _tags(self, run_id: str, entry: Entry) -> None:
        for part in _parts([RunTag(name, value) for name, value in entry.content.items()], TEXTS_PER_CALL):
            self._client.log_batch(run_id, tags=part)

    def _artifact(self, run_id: str, entry: Entry) -> None:
        self._client.log_artifact(run_id, str(entry.folder / entry.content["file"]))

    def _table(self, run_id: str, entry: Entry) -> None:
        """Log a table, and name it as one. `MlflowClient.log_table` would append to a table that is there already."""
        file = entry.content["file"]
        self._client.log_dict(run_id, entry.content["table"], file)
        named = json.loads(self._client.get_run(run_id).data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
        new = {"path": file, "type": "table"}
        if new not in named:
            named = [new, *named] if entry.content["first"] else [*named, new]
            self._client.set_tag(run_id, MLFLOW_LOGGED_ARTIFACTS, json.dumps(named))

    def _input(self, run_id: str, entry: Entry) -> None:
        tags = [InputTag(name, value) for name, value in entry.content["tags"].items()]
        dataset = DatasetEntity(**entry.content["dataset"])
        self._client.log_inputs(run_id, datasets=[DatasetInput(dataset, tags)])

    def _model(self, run_id: str, entry: Entry) -> None:
        """Log the model's files as a logged model of the run, and tag both with its address and hashes."""
        key, tags = entry.folder.name, entry.content["tags"]
        found = self._client.search_logged_models([self.experiment], f"tags.`{KEY}` = '{key}'", max_results=1)
        model = (
            found[0]
            if found
            else self._client.create_logged_model(
                self.experiment, name=entry.content["name"], source_run_id=run_id, tags={**tags, KEY: key}
            )
        )
        self._client.log_model_artifacts(model.model_id, str(entry.folder / entry.content["folder"]))
        self._client.finalize_logged_model(model.model_id, "READY")
        self._client.log_outputs(run_id, [LoggedModelOutput(model.model_id, step=0)])
        described = {**tags, "model_uri": f"models:/{model.model_id}"}
        self._client.log_batch(run_id, tags=[RunTag(name, value) for name, value in described.items()])

    def _close(self, run_id: str, entry: Entry) -> None:
        """Close a child run with its own status; the parent's status does not change it."""
        self._client.set_tag(run_id, CLOSED, entry.content["status"])
        self._client.set_terminated(run_id, entry.content["status"], entry.content["time"])

    def _end(self, run_id: str, entry: Entry) -> None:
        """Close all open child runs, then the parent."""
        for child in set(self._runs.values()) - {run_id}:
            if CLOSED in self._client.get_run(child).data.tags:
                continue
            self._client.set_terminated(child, entry.content["status"], entry.content["time"])
        self._client.set_terminated(run_id, entry.content["status"], entry.content["time"])


def _http_status(error: MlflowException) -> int:
    return int(error.get_http_status_code())  # type: ignore[no-untyped-call]


def _parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
