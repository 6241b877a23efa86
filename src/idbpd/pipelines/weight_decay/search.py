"""Train with the weight decays of a grid that are worth trying, and measure each on the validation part."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from idbpd.experiment.content_store import ContentStore
from idbpd.experiment.devices import resolve_device
from idbpd.experiment.network import build_network
from idbpd.experiment.node_inputs import Bundle
from idbpd.experiment.parameters import (
    ComputeParameters,
    ModelParameters,
    ProblemSettings,
    Seed,
)
from idbpd.experiment.problem import Experiment, criteria_of, weights_of
from idbpd.experiment.progress import Progress
from idbpd.experiment.provenance import code_sha256, surroundings, tensors_sha256
from idbpd.experiment.thresholds import GUESSING
from idbpd.mtl import FixedWeights, MultiTaskData, guess_loss
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import explore
from idbpd.pipelines.weight_decay.parameters import WeightDecaySearchParameters

# The code that decides the result of a weight decay, beside the solver's.
OWN_CODE = (
    "pipelines/weight_decay/candidate.py",
    "pipelines/weight_decay/search.py",
)

# Where a solve starts from the weights of a neighbour, it gets this part of the steps.
WARM = 3


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
    tolerance: float,
    cache: ContentStore | None,
) -> Found:
    """Try the numbers of the grid that are worth it; what an earlier run tried is taken from the cache.

    The first number is tried from the initial weights. Every other one starts from the weights of its neighbour and
    needs fewer steps, unless the neighbour learnt nothing: a large decay draws weights to zero, and a solve with a
    smaller decay does not get away from there.
    """
    fingerprint = {"split_sha256": _parts_sha256(parts)}
    network = build_network(unsettled.model, parts.fit, unsettled.seed)
    criteria = criteria_of(unsettled.problem)
    guesses = {task.name: guess_loss(task, criteria) for task in parts.fit.tasks}
    around = {
        **surroundings(resolve_device(unsettled.compute.device), network),
        "search code (SHA-256)": code_sha256(parts=OWN_CODE),
        "tolerance": tolerance,
    }
    kept: list[float] = []
    reached: dict[float, tuple[Candidate, dict[str, Tensor]]] = {}

    def attempt(weight_decay: float) -> Candidate:
        experiment = unsettled.settled(weight_decay, fingerprint)
        start = _neighbour(reached, weight_decay)
        steps = parameters.max_steps if start is None else math.ceil(parameters.max_steps / WARM)
        made_with = {
            **experiment.made_with,
            **around,
            "steps": steps,
            "first weights (SHA-256)": None if start is None else tensors_sha256(start),
        }
        stored = None if cache is None else cache.get(made_with)
        if stored is not None:
            kept.append(weight_decay)
            reached[weight_decay] = Candidate(**stored.record), stored.tensors
        else:
            candidate, weights = _try(experiment, parts, guesses, start, steps, tolerance)
            reached[weight_decay] = candidate, weights
            if cache is not None:
                cache.put(made_with, candidate._asdict(), weights)
        return reached[weight_decay][0]

    return Found(explore(parameters.grid, attempt), len(kept))


def _neighbour(
    reached: Mapping[float, tuple[Candidate, dict[str, Tensor]]], weight_decay: float
) -> dict[str, Tensor] | None:
    """The weights of the nearest number that was tried; None where there is none, or it learnt nothing."""
    if not reached:
        return None
    candidate, weights = reached[min(reached, key=lambda tried: abs(tried - weight_decay))]
    return weights if candidate.score < GUESSING else None


def _try(
    experiment: Experiment,
    parts: Parts,
    guesses: dict[str, float],
    start: dict[str, Tensor] | None,
    steps: int,
    tolerance: float,
) -> tuple[Candidate, dict[str, Tensor]]:
    """Train all tasks together, each worst case as a share of that of a constant guess, and measure them."""
    fit, problem = parts.fit, experiment.problem
    built = experiment.build(fit, fit.priority.name, {})
    shares = {task: 1 / guess for task, guess in guesses.items() if guess > 0}
    criteria = criteria_of(problem)
    if shares:
        oracle = FixedWeights(built.network, built.data, criteria, shares, problem.weight_decay, robust=True)
        built = built._replace(oracle=oracle)
    weights = built.initial_weights if start is None else built.placed(start)
    with Progress(f"weight decay {problem.weight_decay:g}", steps) as progress:
        solution = solve(built.oracle, weights, IDBPD(), max_steps=steps, tolerance=tolerance, callback=progress)
    weights = weights_of(solution)
    quality = built.quality(weights, parts.validation, criteria)
    candidate = Candidate(
        problem.weight_decay,
        {name: found.worst_case_loss for name, found in quality.items()},
        {name: dict([found.headline]) for name, found in quality.items()},
        guesses,
    )
    return candidate, weights


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
