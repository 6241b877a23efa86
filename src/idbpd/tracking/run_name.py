"""The name of a run in MLflow's list: short, with the data set that the run is about."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from idbpd.tracking.store import is_reachable

DEFAULT = "__default__"
WITHOUT_METHOD = {"ingestion", "splitting", "predict"}
FEW = 3  # data sets of a benchmark that are named


def run_name(pipelines: Sequence[str], parameters: Mapping[str, Any], uri: str) -> str:
    """The name of the parent run: what was run, unless it is the default, and on what.

    >>> given = {"dataset": "adult", "seed": 0, "training": {"method": "idbpd"}}
    >>> run_name(["__default__"], given, "")
    'adult idbpd 0'
    >>> run_name(["retrain"], given, "")
    'retrain adult idbpd 0'
    >>> run_name(["benchmark"], {**given, "benchmark": {"datasets": "chd49+yeast"}}, "")
    'benchmark chd49 yeast'
    >>> run_name(["report"], given, "")
    'report'
    """
    words = [name for name in pipelines if name != DEFAULT]
    if "reproduce" in pipelines:
        words.append(_repeated(str(parameters["run_id"]), uri))
    elif "benchmark" in pipelines:
        words.append(_several(parameters["benchmark"]["datasets"]))
    elif not WITHOUT_METHOD.isdisjoint(pipelines):
        words.append(str(parameters["dataset"]))
    elif "report" not in pipelines:  # it is about all data sets
        words.append(f"{parameters['dataset']} {parameters['training']['method']} {parameters['seed']}")
    return " ".join(words)


def _several(given: Any) -> str:
    names = given.split("+") if isinstance(given, str) else [str(name) for name in given]
    return " ".join(names) if len(names) <= FEW else f"{len(names)} data sets"


def _repeated(run_id: str, uri: str) -> str:
    """What the run that is repeated was about; its number, where the store does not say."""
    if not is_reachable(uri):
        return run_id[:8]
    try:
        tags = MlflowClient(uri).get_run(run_id).data
    except MlflowException:
        return run_id[:8]
    own = {**tags.params, "method": tags.params.get("training.method", ""), **tags.tags}
    return " ".join(own[name] for name in ("dataset", "method", "seed") if own.get(name)) or run_id[:8]
