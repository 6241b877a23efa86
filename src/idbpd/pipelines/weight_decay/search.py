"""The least weight decay with which limits that are kept on training data carry over to unseen data.

Without decay a strong solver keeps any limit on the training data and none elsewhere; with too much of it the network
guesses, and the limit is one that guessing keeps. In between, the gap closes as the decay grows. What is looked for is
the least decay at which it is within a margin that the user states, and at which something is learnt.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import Tensor

from idbpd.mtl import MultiTaskData, TaskQuality, measure_quality
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.parameters import (
    CalibrationParameters,
    ComputeParameters,
    ModelParameters,
    ProblemSettings,
    Seed,
    WeightDecaySearchParameters,
)
from idbpd.pipelines.progress import Progress
from idbpd.pipelines.robust_problem import BuiltProblem, build_problem, weights_of

# A task that comes no nearer to zero than this share of a uniform guess's loss has learnt nothing.
GUESSING = 0.99


class Candidate(NamedTuple):
    """A weight decay and what came of it."""

    weight_decay: float
    thresholds: dict[str, float]  # of the constraint tasks, as calibrated with this weight decay
    worst_case_losses: dict[str, float]  # of all tasks, on the validation part
    hit_rates: dict[str, float]  # likewise
    learnt: bool  # whether every constraint task alone does better than a guess, on the samples to learn from

    @property
    def ratio(self) -> float:
        """The worst-case loss on the validation part as a multiple of the threshold, for the task with the largest."""
        return max(self.worst_case_losses[task] / threshold for task, threshold in self.thresholds.items())

    def carries_over(self, margin: float) -> bool:
        """Whether limits that mean something hold on the validation part, up to the margin."""
        return self.learnt and self.ratio <= 1 + margin


def search(
    parameters: WeightDecaySearchParameters,
    parts: tuple[MultiTaskData, MultiTaskData],
    problem: ProblemSettings,
    calibration: CalibrationParameters,
    model: ModelParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> list[Candidate]:
    """Try the grid from its largest number down, and go no further once the limits have ceased to carry over."""
    tried: list[Candidate] = []
    for candidate in _try_each(parameters.grid, parts, problem, calibration, model, compute, seed):
        tried.append(candidate)
        carried = [other.carries_over(parameters.margin) for other in tried]
        if any(carried) and not carried[-1]:
            break
    return tried


def choose(candidates: Sequence[Candidate], margin: float) -> Candidate:
    """The least weight decay with which the limits carry over.

    Where there is none, the one that comes nearest, of those with which something is learnt.
    """
    good = [candidate for candidate in candidates if candidate.carries_over(margin)]
    if good:
        return min(good, key=lambda candidate: candidate.weight_decay)
    learnt = [candidate for candidate in candidates if candidate.learnt]
    return min(learnt or candidates, key=lambda candidate: candidate.ratio)


def _try_each(
    grid: Sequence[float],
    parts: tuple[MultiTaskData, MultiTaskData],
    problem: ProblemSettings,
    calibration: CalibrationParameters,
    model: ModelParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> Iterator[Candidate]:
    """Calibrate and train with every weight decay, the largest first.

    Each begins with the first weights, as the final calibration will: weights that a large decay has drawn to zero are
    a point from which a smaller one does not get away. ``parts`` are the samples to learn from and to validate on.
    """
    fit, validation = parts
    for weight_decay in sorted(set(grid), reverse=True):
        chosen = problem.with_weight_decay(weight_decay)
        title = f"weight decay {weight_decay:g}"
        thresholds: dict[str, float] = {}
        learnt = True
        start: dict[str, Tensor] = {}
        for task in fit.limited:
            alone = build_problem(fit, task.name, {}, model, chosen, compute, seed)
            start = _solved(title, alone, alone.initial_weights, calibration)
            reached = _quality(alone, start, fit, problem)[task.name].worst_case_loss
            thresholds[task.name] = reached * (1 + calibration.slack)
            learnt = learnt and reached < GUESSING * math.log(len(task.labels))
        built = build_problem(fit, fit.priority.name, thresholds, model, chosen, compute, seed)
        # With one constraint task these weights keep its limit; with several they are as good a start as any.
        weights = _solved(title, built, start, calibration)
        quality = _quality(built, weights, validation, problem)
        yield Candidate(
            weight_decay,
            thresholds,
            {name: found.worst_case_loss for name, found in quality.items()},
            {name: found.hit_rate for name, found in quality.items()},
            learnt,
        )


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


def _quality(
    built: BuiltProblem, weights: dict[str, Tensor], data: MultiTaskData, problem: ProblemSettings
) -> dict[str, TaskQuality]:
    built.network.load_state_dict(weights)
    features = built.data.features
    return measure_quality(built.network, data.to(features.device, features.dtype), problem.regularisation)
