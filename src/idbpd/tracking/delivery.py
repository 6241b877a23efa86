"""From the journal to the store: each entry exactly once, and no run waits for a store that is away.

An entry that was sent just before the process died is sent again by the next sender. That changes nothing: a run is
found by its key, a point of a metric by its time and step, a model by its key, and all else is the same when written
again.
"""

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
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME

from idbpd.tracking.journal import Entry, Journal
from idbpd.tracking.redaction import redact
from idbpd.tracking.store import address, answers, experiment_of, tracking_uri

logger = logging.getLogger(__name__)

KEY = "idbpd.key"  # the tag by which a run or a model is found again
CLOSED = "idbpd.closed"  # the tag of a run that ended before its parent
# One call per point takes a minute for ten thousand points on SQLite; MLflow takes a thousand points a call.
POINTS_PER_CALL = 1000
TEXTS_PER_CALL = 100
SECONDS_BETWEEN_ATTEMPTS = 15.0
# The server understood and will never take it; not among them: no permission yet, too slow, too many requests.
REFUSALS = {400, 404, 409, 413, 422}
_away_until: dict[Path, float] = {}

Item = TypeVar("Item")


class StoreAwayError(Exception):
    """The store does not take anything at the moment."""


def send(journal: Journal, *, now: bool = False) -> bool:
    """Send what the journal has; whether nothing is left.

    After a failure the store is left alone for a while, so that a run does not wait for it at every result; ``now``
    asks again all the same.
    """
    if not now and time.monotonic() < _away_until.get(journal.folder, 0.0):
        return False
    with journal.sending():
        try:
            _send_all(journal)
        except StoreAwayError as error:
            if journal.folder not in _away_until:
                logger.warning("the tracking store is away, what is to be tracked is kept on disk: %s", error)
            _away_until[journal.folder] = time.monotonic() + SECONDS_BETWEEN_ATTEMPTS
            return False
    _away_until.pop(journal.folder, None)
    return True


def _send_all(journal: Journal) -> None:
    entries = list(journal.entries())
    if not entries:
        return
    uri = tracking_uri()
    if not answers(uri):
        raise StoreAwayError(f"no server answers at {address(uri)}")
    sender = _Sender(MlflowClient(uri), journal)
    for entry in entries:
        try:
            sender.send(entry)
        except MlflowException as error:
            if _http_status(error) not in REFUSALS:
                raise StoreAwayError(redact(str(error))) from error
            logger.warning("the tracking store refused an entry (%s): %s", entry.kind, error)
            journal.reject(entry, str(error))
        except OSError as error:  # of an artifact store; MLflow wraps those of its own
            raise StoreAwayError(redact(str(error))) from error
        else:
            journal.remove(entry)


class _Sender:
    """Gives entries to one store."""

    def __init__(self, client: MlflowClient, journal: Journal) -> None:
        self._client = client
        self._journal = journal
        self._runs = journal.runs
        self._experiment: str | None = None
        self._senders: dict[str, Callable[[str, Entry], None]] = {
            "open": lambda run_id, entry: None,  # noqa: ARG005 - the run is there now
            "metrics": self._metrics,
            "params": self._params,
            "tags": self._tags,
            "artifact": self._artifact,
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
        """The store's id of a run, which is made when it is first needed; its parent before it."""
        key = run["key"]
        if key in self._runs:
            return self._runs[key]
        tags = {**run["tags"], KEY: key, MLFLOW_RUN_NAME: run["name"]}
        if "parent" in run:
            tags[MLFLOW_PARENT_RUN_ID] = self._run_id(run["parent"])
        found = self._client.search_runs([self.experiment], f"tags.`{KEY}` = '{key}'", max_results=1)
        made = found[0] if found else self._client.create_run(self.experiment, start_time=run["started"], tags=tags)
        run_id = str(made.info.run_id)
        # Of every run, not of the parent alone: rows are compared by their parameters.
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

    def _input(self, run_id: str, entry: Entry) -> None:
        tags = [InputTag(name, value) for name, value in entry.content["tags"].items()]
        dataset = DatasetEntity(**entry.content["dataset"])
        self._client.log_inputs(run_id, datasets=[DatasetInput(dataset, tags)])

    def _model(self, run_id: str, entry: Entry) -> None:
        """The model's files as a logged model of the run, and where it is as tags of both."""
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
        """Close a child for good: it does not share the end of its parent."""
        self._client.set_tag(run_id, CLOSED, entry.content["status"])
        self._client.set_terminated(run_id, entry.content["status"], entry.content["time"])

    def _end(self, run_id: str, entry: Entry) -> None:
        """Close the parent and, before it, all its children that were not closed before."""
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
