"""Train with the weight decays of a grid that are worth trying, and measure each on the validation part."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from idbpd.experiment.content_store import ContentStore
from idbpd.experiment.devices import resolve_device
from idbpd.experiment.network import build_network
from idbpd.experiment.node_inputs import Bundle
from idbpd.experiment.parameters import (
    CalibrationParameters,
    ComputeParameters,
    ModelParameters,
    ProblemSettings,
    Seed,
)
from idbpd.experiment.problem import BuiltProblem, Experiment, criteria_of, weights_of
from idbpd.experiment.progress import Progress
from idbpd.experiment.provenance import code_sha256, parameters_of, surroundings, tensors_sha256
from idbpd.experiment.thresholds import threshold_rule
from idbpd.mtl import MultiTaskData, guess_loss
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import explore
from idbpd.pipelines.weight_decay.parameters import WeightDecaySearchParameters

# The code that decides the result of a weight decay, beside the solver's.
OWN_CODE = (
    "experiment/thresholds.py",
    "pipelines/weight_decay/candidate.py",
    "pipelines/weight_decay/search.py",
)


@dataclass(frozen=True)
class UnsettledExperiment(Bundle):
    """An experiment whose weight decay may still have to be chosen."""

    model: ModelParameters
    problem: ProblemSettings
    compute: ComputeParameters
    seed: Seed
    fingerprint: dict[str, str]  # of the data and their split

    def settled(self, weight_decay: float, fingerprint: dict[str, str]) -> Experiment:
        """The experiment with this weight decay, on the data of this fingerprint."""
        problem = self.problem.with_weight_decay(weight_decay)
        return Experiment(self.model, problem, self.compute, self.seed, fingerprint)


class Parts(NamedTuple):
    """The training part, divided once more."""

    fit: MultiTaskData  # to learn from
    validation: MultiTaskData  # to measure on


class Found(NamedTuple):
    """The candidates, by weight decay, and how many of them an earlier run had tried."""

    candidates: list[Candidate]
    kept: int


def search(
    parameters: WeightDecaySearchParameters,
    parts: Parts,
    unsettled: UnsettledExperiment,
    calibration: CalibrationParameters,
    cache: ContentStore | None,
) -> Found:
    """Try the numbers of the grid that are worth it; what an earlier run tried is taken from the cache."""
    fingerprint = {"split_sha256": _parts_sha256(parts)}
    network = build_network(unsettled.model, parts.fit, unsettled.seed)
    around = {
        **parameters_of("calibration", calibration),
        **surroundings(resolve_device(unsettled.compute.device), network),
        "search code (SHA-256)": code_sha256(parts=OWN_CODE),
    }
    kept: list[float] = []

    def attempt(weight_decay: float) -> Candidate:
        experiment = unsettled.settled(weight_decay, fingerprint)
        made_with = {**experiment.made_with, **around}
        stored = None if cache is None else cache.get(made_with)
        if stored is not None:
            kept.append(weight_decay)
            return Candidate(**stored.record)
        candidate = _try(experiment, parts, calibration)
        if cache is not None:
            cache.put(made_with, candidate._asdict(), {})
        return candidate

    candidates = explore(parameters.grid, attempt, parameters.margin)
    return Found(candidates, len(kept))


def _try(experiment: Experiment, parts: Parts, calibration: CalibrationParameters) -> Candidate:
    """Calibrate and train with the weight decay of the experiment.

    Each calibration starts from the initial weights, as the final one will: a large decay draws weights to zero, and a
    solve with a smaller decay does not get away from there.
    """
    fit, problem = parts.fit, experiment.problem
    title = f"weight decay {problem.weight_decay:g}"
    rule = threshold_rule(fit, calibration)
    thresholds: dict[str, float] = {}
    start: dict[str, Tensor] = {}
    for task in fit.limited:
        alone = experiment.build(fit, task.name, {})
        start = _solved(title, alone, alone.initial_weights, calibration)
        reached = alone.quality(start, fit, criteria_of(problem))[task.name].worst_case_loss
        thresholds[task.name] = rule.threshold(task.name, reached)
    built = experiment.build(fit, fit.priority.name, thresholds)
    # With one constraint task these weights keep its limit; with several they are as good a start as any.
    weights = _solved(title, built, start, calibration)
    quality = built.quality(weights, parts.validation, criteria_of(problem))
    return Candidate(
        problem.weight_decay,
        thresholds,
        {name: found.worst_case_loss for name, found in quality.items()},
        {name: dict([found.headline]) for name, found in quality.items()},
        {task.name: guess_loss(task, criteria_of(problem)) for task in fit.tasks},
    )


def _parts_sha256(parts: Parts) -> str:
    tensors = {}
    for part, data in parts._asdict().items():
        tensors[part] = data.features
        for task in data.tasks:
            # Loss, worst case, slack and limit of the task decide the result as well.
            tensors[f"{part} {task.name} {task.labels} {sorted(task.options.items())} rows"] = task.rows
            tensors[f"{part} {task.name} targets"] = task.targets
            if task.groups is not None:
                tensors[f"{part} {task.name} groups"] = task.groups
    return tensors_sha256(tensors)


def _solved(
    title: str, built: BuiltProblem, start: dict[str, Tensor], calibration: CalibrationParameters
) -> dict[str, Tensor]:
    with Progress(title, calibration.max_steps) as progress:
        solution = solve(
            built.oracle,
            start,
            IDBPD(),
            max_steps=calibration.max_steps,
            tolerance=calibration.tolerance,
            callback=progress,
        )
    return weights_of(solution)
