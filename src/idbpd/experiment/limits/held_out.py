"""Whether the limits hold on data that the model never saw."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn

from idbpd.experiment.limits.thresholds import Promise
from idbpd.mtl import SAMPLE_ERRORS, Criteria, MultiTaskData, guess_loss, sample_errors, sample_losses
from idbpd.mtl.bounds import (
    Verdict,
    confidence_of_each,
    mean_error_bound,
    paired_bootstrap,
    rows_needed,
    verdict,
    verdict_of_all,
    worst_case_bound,
)

CONFIDENCE = 0.95  # of all limits together
# Fixed, and not the seed of a run: runs that differ in their seed are compared by the same draws.
BOOTSTRAP_SEED = 0


class Evidence(NamedTuple):
    """What verdicts are drawn from: a model, the models made for single tasks, and two parts of the data."""

    network: nn.Module
    alone: Callable[[str], nn.Module]  # the model made for a task alone, by the task's name
    train: MultiTaskData
    test: MultiTaskData  # which the models have not seen
    criteria: Criteria


class Parts(NamedTuple):
    """The losses of a task's samples on the training part and on the test part."""

    train: Tensor
    test: Tensor


def check_held_out(evidence: Evidence, promises: Mapping[str, Promise]) -> dict[str, Any]:
    """The verdict on every limit, from the test part, which was used neither to train nor to choose anything.

    The bounds are one-sided, and all of them hold together with the stated confidence. ``guesses`` are the worst-case
    losses of the best constant answers of the training part. For the keys of each task see `judge_limits`.
    """
    tasks = judge_limits(evidence, promises)
    overall = verdict_of_all([Verdict(task["verdict"]) for task in tasks.values()])
    train, test = evidence.train, evidence.test
    return {
        "part": "test",
        "confidence": CONFIDENCE,
        "verdict": overall.value,
        "holds": overall is Verdict.HOLDS,
        "tasks": tasks,
        "guesses": {task.name: guess_loss(task, evidence.criteria, test[task.name]) for task in train.tasks},
    }


def judge_limits(evidence: Evidence, promises: Mapping[str, Promise]) -> dict[str, dict[str, Any]]:
    """The verdict on the limit of every task.

    A relative limit is (1 + slack) times the worst-case loss of the model made for that task alone on the same
    samples, within the bounds of `Promise.room`: what is hard for both models cancels. A limit
    in the loss is the same number on unseen data. A limit in a measure that people know is judged as the mean error
    that it stands for, such as 0.1 for an accuracy of 0.9.

    ``reference`` is the limit on unseen data. ``upper_bound`` is comparable to it: the limit holds where the bound is
    at most the reference. A bound is None if the samples are too few for one. ``measured`` has name, limit, value and
    bound of a limit's own measure, in its own unit.
    """
    ours = _losses(evidence.network, evidence, promises)
    each = confidence_of_each(CONFIDENCE, len(promises)) if promises else CONFIDENCE
    tasks = {}
    for name, promise in promises.items():
        worst_case = evidence.criteria(evidence.test[name]).worst(ours.test[name]).value.item()
        if promise.measure is not None:
            judged = _in_measure(evidence, promise, name, each)
        elif promise.slack is None:
            judged = _absolute(Parts(ours.train[name], ours.test[name]), promise, evidence, name, each)
        else:
            other = _losses(evidence.alone(name), evidence, [name])
            pair = (Parts(ours.train[name], ours.test[name]), Parts(other.train[name], other.test[name]))
            judged = _relative(*pair, promise, evidence, name, each)
        tasks[name] = {"worst_case_loss": worst_case, **judged}
    return tasks


class _ByTask(NamedTuple):
    train: dict[str, Tensor]
    test: dict[str, Tensor]


def _losses(network: nn.Module, evidence: Evidence, tasks: Iterable[str]) -> _ByTask:
    parts = (evidence.train, evidence.test)
    return _ByTask(*(sample_losses(network, part, evidence.criteria, tasks) for part in parts))


def _absolute(ours: Parts, promise: Promise, evidence: Evidence, task: str, confidence: float) -> dict[str, Any]:
    found = worst_case_bound(
        ours.test,
        evidence.criteria(evidence.test[task]).worst_case,
        training=ours.train,
        confidence=confidence,
        seed=BOOTSTRAP_SEED,
    )
    assert promise.loss is not None  # it is neither relative nor in a measure
    return _record(found.value, found.bound, promise.loss, len(ours.test))


def _relative(
    ours: Parts, theirs: Parts, promise: Promise, evidence: Evidence, task: str, confidence: float
) -> dict[str, Any]:
    assert promise.slack is not None
    criterion = evidence.criteria(evidence.test[task])
    train = evidence.train[task]
    value, alone = (criterion.worst(losses).value.item() for losses in (ours.test, theirs.test))
    on_train = evidence.criteria(train).worst(theirs.train).value.item()
    # The room is computed on the training part: test samples must not decide what they are to show.
    room = promise.room(on_train, guess_loss(train, evidence.criteria))
    of_guess = room.of_guess * guess_loss(train, evidence.criteria, evidence.test[task]) if room.of_guess else 0.0
    found = paired_bootstrap(
        ours.test,
        theirs.test,
        criterion.worst_case,
        training=(ours.train, theirs.train),
        slack=room.of_alone,
        confidence=confidence,
        seed=BOOTSTRAP_SEED,
    )
    relative = (1 + room.of_alone) * alone
    record = _record(value, relative + found.difference_bound, relative + of_guess, len(ours.test))
    return record | {"slack": promise.slack, "alone": alone}


def _in_measure(evidence: Evidence, promise: Promise, task: str, confidence: float) -> dict[str, Any]:
    assert promise.measure is not None
    assert promise.level is not None
    measure = SAMPLE_ERRORS[evidence.test[task].meaning.kind][promise.measure]

    def errors(network: nn.Module, part: MultiTaskData) -> Tensor:
        return sample_errors(network, part, task, str(promise.measure), evidence.criteria)

    test = errors(evidence.network, evidence.test)
    value, bound = mean_error_bound(
        test,
        is_rate=measure.is_rate,
        training=errors(evidence.network, evidence.train),
        confidence=confidence,
        seed=BOOTSTRAP_SEED,
    )
    alone, _ = mean_error_bound(errors(evidence.alone(task), evidence.test), is_rate=measure.is_rate)
    # The number of all test rows, not only of those that count (for recall, the positive ones): people collect rows.
    record = _record(value, bound, measure.error(promise.level), evidence.test[task].size)
    return record | {
        "measured": {
            "name": promise.measure,
            "limit": promise.level,
            "value": None if math.isnan(value) else measure.measure(value),
            "bound": measure.measure(bound) if math.isfinite(bound) else None,
            "alone": None if math.isnan(alone) else measure.measure(alone),
            "error": None if math.isnan(value) else value,
        },
    }


def _record(value: float, bound: float, reference: float, rows: int) -> dict[str, Any]:
    # Where no sample counts (recall without a positive sample) nothing is shown, and nothing is broken.
    found = Verdict.NOT_SHOWN if math.isnan(value) else verdict(value, bound, reference)
    return {
        "upper_bound": bound if math.isfinite(bound) else None,
        "reference": reference,
        "verdict": found.value,
        "holds": found is Verdict.HOLDS,
        "rows": rows,
        "rows_needed": rows_needed(value, bound, reference, rows) if found is Verdict.NOT_SHOWN else None,
        "slack": None,
        "alone": None,
        "measured": None,
    }
