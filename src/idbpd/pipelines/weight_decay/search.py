"""Which weight decay of a grid does best on data that were kept from training."""

from collections.abc import Iterator, Mapping, Sequence
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
)
from idbpd.pipelines.progress import Progress
from idbpd.pipelines.robust_problem import BuiltProblem, build_problem, weights_of


class Candidate(NamedTuple):
    """A weight decay and what came of it."""

    weight_decay: float
    thresholds: dict[str, float]  # of the constraint tasks, as calibrated with this weight decay
    worst_case_losses: dict[str, float]  # of all tasks, on the validation part
    hit_rates: dict[str, float]  # likewise


def try_each(
    grid: Sequence[float],
    parts: tuple[MultiTaskData, MultiTaskData],
    problem: ProblemSettings,
    calibration: CalibrationParameters,
    model: ModelParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> Iterator[Candidate]:
    """Calibrate and train with every weight decay, the largest first: each begins where the one before it ended.

    ``parts`` are the samples to learn from and those to validate on.
    """
    fit, validation = parts
    alone_starts: dict[str, dict[str, Tensor]] = {}
    for weight_decay in sorted(set(grid), reverse=True):
        chosen = problem.with_weight_decay(weight_decay)
        title = f"weight decay {weight_decay:g}"
        thresholds: dict[str, float] = {}
        for task in fit.limited:
            alone = build_problem(fit, task.name, {}, model, chosen, compute, seed)
            start = alone_starts.get(task.name, alone.initial_weights)
            alone_starts[task.name] = _solved(title, alone, start, calibration)
            reached = _quality(alone, alone_starts[task.name], fit, problem)[task.name].worst_case_loss
            thresholds[task.name] = reached * (1 + calibration.slack)
        built = build_problem(fit, fit.priority.name, thresholds, model, chosen, compute, seed)
        # With one constraint task these weights keep its limit; with several they are as good a start as any.
        weights = _solved(title, built, alone_starts[fit.limited[-1].name], calibration)
        quality = _quality(built, weights, validation, problem)
        yield Candidate(
            weight_decay,
            thresholds,
            {name: found.worst_case_loss for name, found in quality.items()},
            {name: found.hit_rate for name, found in quality.items()},
        )


def choose(candidates: Sequence[Candidate], slack: float) -> Candidate:
    """The largest weight decay with which no task is worse on unseen data than it could be, up to the slack.

    A task could be as good as with the weight decay that suits it best. Among those that unseen data hardly tell apart
    the largest is taken, because training and unseen data differ least there, and a limit kept on the one is likelier
    kept on the other. Where the tasks ask for different ones, the least excess of the worse-off task decides.
    """
    good = [candidate for candidate in candidates if excess(candidate, candidates) <= 1 + slack]
    if good:
        return max(good, key=lambda candidate: candidate.weight_decay)
    return min(candidates, key=lambda candidate: excess(candidate, candidates))


def excess(candidate: Candidate, candidates: Sequence[Candidate]) -> float:
    """By which factor the worst-case loss of the worse-off task is above the least that any candidate has."""
    return max(
        loss / min(other.worst_case_losses[task] for other in candidates)
        for task, loss in candidate.worst_case_losses.items()
    )


def _solved(
    title: str, built: BuiltProblem, start: Mapping[str, Tensor], calibration: CalibrationParameters
) -> dict[str, Tensor]:
    with Progress(title, calibration.max_steps) as progress:
        solution = solve(
            built.oracle,
            dict(start),
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
