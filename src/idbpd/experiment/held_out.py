"""Whether the limits hold on data that the model never saw."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn

from idbpd.mtl import Criteria, MultiTaskData, guess_loss, sample_losses
from idbpd.mtl.bounds import (
    Verdict,
    confidence_of_each,
    paired_bootstrap,
    rows_needed,
    verdict,
    verdict_of_all,
    worst_case_bound,
)

CONFIDENCE = 0.95  # of all limits together
# Fixed, and not the seed of a run: runs that differ in their seed are compared by the same draws.
BOOTSTRAP_SEED = 0


class Promise(NamedTuple):
    """What a run promised of a task."""

    threshold: float  # the limit that training kept on the training part
    slack: float | None  # by how much it may be worse than a model of its own; None: the threshold is the limit itself


class Parts(NamedTuple):
    """The losses of a task's samples on the training part and on the test part."""

    train: Tensor
    test: Tensor


def check_held_out(
    network: nn.Module,
    alone: Callable[[str], nn.Module],
    train: MultiTaskData,
    test: MultiTaskData,
    promises: Mapping[str, Promise],
    criteria: Criteria,
) -> dict[str, Any]:
    """The verdict on every limit, from the test part, which nothing has seen before.

    A relative limit is (1 + slack) times the worst-case loss of the model made for that task alone, which ``alone``
    gives, on the same test samples: what is hard for both models cancels. A limit set by hand is the limit on unseen
    data, too. The bounds are one-sided, and all of them hold together with the stated confidence.

    ``reference`` is the limit on unseen data. ``upper_bound`` is comparable to it: the limit holds where the bound is
    at most the reference. A bound that the samples cannot tell is None. ``guesses`` are the worst-case losses of the
    best constant answers of the training part.
    """
    ours = _losses(network, train, test, criteria)
    each = confidence_of_each(CONFIDENCE, len(promises))
    tasks = {}
    for name, promise in promises.items():
        of_task = Parts(ours.train[name], ours.test[name])
        if promise.slack is None:
            judged = _absolute(of_task, promise.threshold, criteria, test, name, each)
        else:
            other = _losses(alone(name), train, test, criteria)
            pair = (of_task, Parts(other.train[name], other.test[name]))
            judged = _relative(*pair, promise.slack, criteria, test, name, each)
        tasks[name] = {"threshold": promise.threshold, **judged}
    overall = verdict_of_all([Verdict(task["verdict"]) for task in tasks.values()])
    return {
        "part": "test",
        "confidence": CONFIDENCE,
        "verdict": overall.value,
        "holds": overall is Verdict.HOLDS,
        "tasks": tasks,
        "guesses": {task.name: guess_loss(task, criteria, test[task.name]) for task in train.tasks},
    }


class _ByTask(NamedTuple):
    train: dict[str, Tensor]
    test: dict[str, Tensor]


def _losses(network: nn.Module, train: MultiTaskData, test: MultiTaskData, criteria: Criteria) -> _ByTask:
    return _ByTask(sample_losses(network, train, criteria), sample_losses(network, test, criteria))


def _absolute(
    ours: Parts, limit: float, criteria: Criteria, test: MultiTaskData, task: str, confidence: float
) -> dict[str, Any]:
    found = worst_case_bound(
        ours.test,
        criteria(test[task]).worst_case,
        training=ours.train,
        confidence=confidence,
        seed=BOOTSTRAP_SEED,
    )
    return _record(found.value, found.bound, limit, len(ours.test)) | {"slack": None, "alone": None}


def _relative(
    ours: Parts, theirs: Parts, slack: float, criteria: Criteria, test: MultiTaskData, task: str, confidence: float
) -> dict[str, Any]:
    criterion = criteria(test[task])
    found = paired_bootstrap(
        ours.test,
        theirs.test,
        criterion.worst_case,
        training=(ours.train, theirs.train),
        slack=slack,
        confidence=confidence,
        seed=BOOTSTRAP_SEED,
    )
    value, alone = (criterion.worst(losses).value.item() for losses in (ours.test, theirs.test))
    reference = (1 + slack) * alone
    return _record(value, reference + found.difference_bound, reference, len(ours.test)) | {
        "slack": slack,
        "alone": alone,
    }


def _record(value: float, bound: float, reference: float, rows: int) -> dict[str, Any]:
    found = verdict(value, bound, reference)
    return {
        "worst_case_loss": value,
        "upper_bound": bound if math.isfinite(bound) else None,
        "reference": reference,
        "verdict": found.value,
        "holds": found is Verdict.HOLDS,
        "rows": rows,
        "rows_needed": rows_needed(value, bound, reference, rows) if found is Verdict.NOT_SHOWN else None,
    }
