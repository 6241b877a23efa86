"""Choose the reserve: how much tighter than promised the limits are in training."""

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from idbpd.datasets.table import TaskTable
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.limits.calibration import ALL_TASKS, calibrate, weights_alone
from idbpd.experiment.limits.held_out import Evidence, judge_limits
from idbpd.experiment.limits.thresholds import Promise, promises_of
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import AUTO, CalibrationParameters, TrainingParameters, WeightDecaySearchParameters
from idbpd.experiment.problem import Experiment, criteria_of, weights_of
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.records.provenance import require_same
from idbpd.experiment.shown import name_of, written
from idbpd.experiment.solving.checkpoints import NO_CHECKPOINTS, Checkpointing
from idbpd.experiment.solving.durable_solve import Budget
from idbpd.experiment.solving.stage import Stage
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.fingerprint import parts_sha256
from idbpd.experiment.splitting.validation import Parts, parts_to_choose_on
from idbpd.mtl import MultiTaskData, guess_loss, is_better, measure_quality
from idbpd.mtl.bounds import Verdict
from idbpd.optim import IDBPD
from idbpd.pipelines.calibration.reserve import Tried, choose, next_reserve

logger = logging.getLogger(__name__)


def settle_reserve(
    train: MultiTaskData,
    table: TaskTable,
    rows: dict[str, Tensor],
    calibration: CalibrationParameters,
    weight_decay_search: WeightDecaySearchParameters,
    training: TrainingParameters,
    validated_weights: dict[str, Tensor],
    division: Division,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
) -> dict[str, Any]:
    """The reserve of the limited tasks that is chosen on a validation part, and how it was chosen.

    Only the training rows are used, divided as for the weight decay. The search starts from the best models of that one
    (``validated_weights``; empty if the weight decay was given). Without a test part nothing is promised on unseen
    data, and without a validation part nothing can be chosen: the reserve is then 0. A limit in a measure always needs
    the search: it finds the limit in the loss that gives the measure.
    """
    promises = promises_of(train, calibration)
    record: dict[str, Any] = {**_settled_for(promises, calibration, experiment), "tasks": {}, "tried": {}}
    in_measure = {name: promise for name, promise in promises.items() if promise.measure is not None}
    if in_measure and division.split.test_fraction == 0:
        name, promise = next(iter(in_measure.items()))
        raise ConfigurationError(
            f"tasks.{name}.limit.{promise.measure} = {promise.level:g} is a limit on unseen data, and with "
            "split.test_fraction = 0 there are none; hold data out, or give a number, which is the worst-case loss"
        )
    chosen_here = promises if calibration.reserve == AUTO else in_measure
    if not chosen_here or division.split.test_fraction == 0:
        return record
    begin = time.perf_counter()
    try:
        parts = parts_to_choose_on(table, rows["train"].numpy(), weight_decay_search, division, train)
    except DataError as error:
        if in_measure:
            raise DataError(f"{error}; a limit in {next(iter(in_measure.values())).measure} needs one") from error
        logger.warning("limits have no reserve for unseen data, because there is no validation part: %s", error)
        return record
    search = _Search(parts, calibration, training, validated_weights, experiment, checkpointing)
    tried = search.tried(chosen_here)
    chosen = {task: choose(found) for task, found in tried.items()}
    _report(chosen, search.promises, search.solves, time.perf_counter() - begin)
    return {
        **record,
        "tasks": {task: found.reserve for task, found in chosen.items()},
        "tried": {task: [one._asdict() for one in found] for task, found in tried.items()},
        "seconds": time.perf_counter() - begin,
    }


def _settled_for(
    promises: Mapping[str, Promise], calibration: CalibrationParameters, experiment: Experiment
) -> dict[str, Any]:
    """All that a choice of reserves depends on: it is not valid for other promises or another problem."""
    limits = {f"limit of {name}": promise._asdict() for name, promise in promises.items()}
    return {"asked": calibration.reserve, "made_with": {**experiment.made_with, **limits}}


def calibrate_with_reserve(
    train: MultiTaskData,
    calibration: CalibrationParameters,
    reserve: dict[str, Any],
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
    calibration_cache: ContentStore | None = None,
) -> tuple[dict[str, Any], dict[str, Tensor], dict[str, Tensor]]:
    """`calibrate`, with the settled reserves, or else the one that was set by hand."""
    now = _settled_for(promises_of(train, calibration), calibration, experiment)
    require_same(reserve["made_with"], now["made_with"], "reserve", "settle_reserve")
    reserves = {**_by_hand(train, calibration), **reserve["tasks"]}
    return calibrate(train, calibration, experiment, checkpointing, calibration_cache, reserves)


def _by_hand(data: MultiTaskData, calibration: CalibrationParameters) -> dict[str, float]:
    """The reserve of every limited task where the parameter is a number; else none."""
    number = 0.0 if isinstance(calibration.reserve, str) else calibration.reserve
    return {task.name: number for task in data.limited}


class _Search:
    """Models on one part of the training rows, under limits with different reserves, judged on the other part."""

    def __init__(
        self,
        parts: Parts,
        calibration: CalibrationParameters,
        training: TrainingParameters,
        known: Mapping[str, Tensor],
        experiment: Experiment,
        checkpointing: Checkpointing,
    ) -> None:
        """``known`` are weights to start from, of all tasks together and of each limited task alone; may be empty."""
        self._parts, self._known = parts, known
        self._experiment = _on(parts, experiment)
        self._budget = Budget(calibration.reserve_steps, training.tolerance)
        self._checkpointing = checkpointing
        self.promises = promises_of(parts.fit, calibration)
        self._set_by_hand = _by_hand(parts.fit, calibration)
        self.solves = 0
        self._criteria = criteria_of(experiment.problem)
        self._guesses = {task.name: guess_loss(task, self._criteria) for task in parts.fit.limited}
        # The models that limits refer to, here and on the validation part, get as many steps as those under limits. The
        # models of the search for a weight decay had few.
        self._alone = {task.name: self._network(self._solved_alone(task.name)) for task in parts.fit.limited}
        self._values = {
            name: measure_quality(network, parts.fit, self._criteria)[name].worst_case_loss
            for name, network in self._alone.items()
        }
        self._weights = weights_alone(known, ALL_TASKS)

    def tried(self, tasks: Iterable[str]) -> dict[str, list[Tried]]:
        """The reserves tried for each of these tasks, all on the same models; other tasks keep the one set by hand."""
        tried: dict[str, list[Tried]] = {name: [] for name in tasks}
        while True:
            asked = {name: next_reserve(found, self.promises[name]) for name, found in tried.items()}
            if all(reserve is None for reserve in asked.values()):
                return tried
            reserves = {
                name: choose(tried[name]).reserve if reserve is None else reserve for name, reserve in asked.items()
            }
            judged = self._judged({**self._set_by_hand, **reserves})
            for name, reserve in asked.items():
                if reserve is not None:
                    tried[name].append(Tried(reserve, judged[name]))

    def _judged(self, reserves: Mapping[str, float]) -> dict[str, dict[str, Any]]:
        """The verdicts of the model whose limits have these reserves; it starts from the model before it."""
        thresholds = {
            name: promise.threshold(self._values[name], self._guesses[name], reserves[name])
            for name, promise in self.promises.items()
        }
        self._weights = self._solved(self._experiment, self._parts.fit.priority.name, thresholds, self._weights)
        evidence = Evidence(self._network(self._weights), self._alone.__getitem__, *self._parts, self._criteria)
        return judge_limits(evidence, self.promises)

    def _solved_alone(self, task: str) -> dict[str, Tensor]:
        return self._solved(self._experiment.of_task_alone(task), task, {}, weights_alone(self._known, task))

    def _solved(
        self, experiment: Experiment, objective: str, thresholds: Mapping[str, float], start: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The weights of a model, from ``start``, or else from the initial weights."""
        built = experiment.build(self._parts.fit, objective, thresholds)
        self.solves += 1
        made_with = {**experiment.made_with, "steps": self._budget.max_steps, "objective": objective}
        stage = Stage(f"reserve_{self.solves}", f"reserve, model {self.solves}", made_with, self._checkpointing)
        # In a run that begins here, the weights may be those of another network.
        fits = {name: tensor.shape for name, tensor in start.items()} == {
            name: tensor.shape for name, tensor in built.initial_weights.items()
        }
        first = built.start_from(start) if fits else built.initial_weights
        return weights_of(stage.solve(built, thresholds, first, self._budget, IDBPD()).solution)

    def _network(self, weights: Mapping[str, Tensor]) -> nn.Module:
        return trained_network(self._experiment.model, self._parts.fit, weights)


def _on(parts: Parts, experiment: Experiment) -> Experiment:
    """The experiment on parts of the training rows."""
    return replace(experiment, fingerprint={"split_sha256": parts_sha256(*parts)})


def _report(chosen: Mapping[str, Tried], promises: Mapping[str, Promise], solves: int, seconds: float) -> None:
    words = "; ".join(f"{task} {_in_words(found)}" for task, found in chosen.items())
    logger.info("limits on a validation part: %s (%d models, %.1f s)", words, solves, seconds)
    for task, found in chosen.items():
        measured, promise = found.judged["measured"], promises[task]
        if measured is not None and measured["value"] is None:
            logger.warning(
                "the validation part has no sample of the %s task to judge %s on: its limit is the tightest that can "
                "be kept",
                task,
                name_of(measured["name"]),
            )
            continue
        if found.judged["verdict"] != Verdict.BROKEN or promise.slack is not None:
            continue
        if measured is not None and not _alone_keeps(found, promise):
            name = measured["name"]
            logger.warning(
                "perhaps no model keeps the limit of the %s task: %s %s is asked for, and on a validation part of %d "
                "rows a model made for it alone reaches %s",
                task,
                name_of(name),
                written(name, measured["limit"]),
                found.judged["rows"],
                "nothing that can be measured" if measured["alone"] is None else written(name, measured["alone"]),
            )
        elif measured is None:
            logger.warning(
                "perhaps no model keeps the limit of the %s task: a worst-case loss of %.4f is asked for, and on a "
                "validation part of %d rows %.4f was reached",
                task,
                found.judged["reference"],
                found.judged["rows"],
                found.judged["worst_case_loss"],
            )


def _alone_keeps(found: Tried, promise: Promise) -> bool:
    """Whether the model made for the task alone keeps the limit in a measure on the validation part."""
    alone = found.judged["measured"]["alone"]
    return alone is not None and not is_better(str(promise.measure), float(promise.level or 0.0), alone)


def _in_words(found: Tried) -> str:
    judged, kept = found.judged, f"{found.reserve:.0%} of the room in reserve" if found.reserve else "no reserve"
    verdict = judged["verdict"]
    if verdict == Verdict.HOLDS:
        verdict += " safely" if found.is_safe else ", but not safely,"
    if judged["measured"] is not None:
        measured = judged["measured"]
        value = "not measured" if measured["value"] is None else written(measured["name"], measured["value"])
        return f"{verdict} with {kept} ({name_of(measured['name'])} {value})"
    return f"{verdict} with {kept} ({judged['worst_case_loss']:.4f}, limit {judged['reference']:.4f})"
