"""What comes of a weight decay on samples that were not learnt from, for those of a grid that are worth a try."""

from torch import Tensor

from idbpd.experiment.devices import resolve_device
from idbpd.experiment.network import build_network
from idbpd.experiment.parameters import (
    CalibrationParameters,
    ComputeParameters,
    ModelParameters,
    ProblemParameters,
    ProblemSettings,
    Seed,
    WeightDecaySearchParameters,
)
from idbpd.experiment.problem import BuiltProblem, build_problem, criteria_of, weights_of
from idbpd.experiment.progress import Progress
from idbpd.experiment.provenance import parameters_of, settings, surroundings, tensors_sha256
from idbpd.mtl import MultiTaskData, TaskQuality, guess_loss, measure_quality
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.calibration.nodes import given_thresholds
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import explore
from idbpd.pipelines.weight_decay.kept import KeptCandidates


def search(
    parameters: WeightDecaySearchParameters,
    parts: tuple[MultiTaskData, MultiTaskData],
    problem: ProblemSettings,
    calibration: CalibrationParameters,
    model: ModelParameters,
    compute: ComputeParameters,
    seed: Seed,
    kept: KeptCandidates,
) -> list[Candidate]:
    """What came of the numbers of the grid that were worth a try, the least first."""
    content = {"split_sha256": _parts_sha256(parts)}
    around = {
        **parameters_of("calibration", calibration),
        **surroundings(resolve_device(compute.device), build_network(model, parts[0], seed)),
    }

    def attempt(weight_decay: float) -> Candidate:
        chosen = problem.with_weight_decay(weight_decay)
        made_with = {**settings(model, chosen, compute, seed, content), **around}
        candidate = kept.get(made_with)
        if candidate is None:
            candidate = _try(chosen, parts, calibration, model, compute, seed)
            kept.put(made_with, candidate)
        return candidate

    return explore(parameters.grid, attempt, parameters.margin)


def _try(
    problem: ProblemParameters,
    parts: tuple[MultiTaskData, MultiTaskData],
    calibration: CalibrationParameters,
    model: ModelParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> Candidate:
    """Calibrate and train with the weight decay of ``problem``.

    It begins with the first weights, as the final calibration will: weights that a large decay has drawn to zero are a
    point from which a smaller one does not get away. ``parts`` are the samples to learn from and to validate on.
    """
    fit, validation = parts
    title = f"weight decay {problem.weight_decay:g}"
    given = given_thresholds(fit, calibration)
    thresholds: dict[str, float] = {}
    start: dict[str, Tensor] = {}
    for task in fit.limited:
        alone = build_problem(fit, task.name, {}, model, problem, compute, seed)
        start = _solved(title, alone, alone.initial_weights, calibration)
        reached = _quality(alone, start, fit, problem)[task.name].worst_case_loss
        thresholds[task.name] = given.get(task.name, reached * (1 + calibration.slack))
    built = build_problem(fit, fit.priority.name, thresholds, model, problem, compute, seed)
    # With one constraint task these weights keep its limit; with several they are as good a start as any.
    weights = _solved(title, built, start, calibration)
    quality = _quality(built, weights, validation, problem)
    return Candidate(
        problem.weight_decay,
        thresholds,
        {name: found.worst_case_loss for name, found in quality.items()},
        {name: found.hit_rate for name, found in quality.items()},
        {task.name: guess_loss(task, criteria_of(problem)) for task in fit.tasks},
    )


def _parts_sha256(parts: tuple[MultiTaskData, MultiTaskData]) -> str:
    tensors = {}
    for part, data in zip(("fit", "validation"), parts, strict=True):
        tensors[part] = data.features
        for task in data.tasks:
            tensors[f"{part} {task.name} {task.labels} rows"] = task.rows
            tensors[f"{part} {task.name} targets"] = task.targets
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


def _quality(
    built: BuiltProblem, weights: dict[str, Tensor], data: MultiTaskData, problem: ProblemParameters
) -> dict[str, TaskQuality]:
    built.network.load_state_dict(weights)
    features = built.data.features
    return measure_quality(built.network, data.to(features.device, features.dtype), criteria_of(problem))
