"""The weight decay with which limits carry over to unseen data, and with which the priority task is best there.

Without decay a strong solver keeps any limit on the training data and none elsewhere; with too much of it the network
guesses, and the limit is one that guessing keeps. In between, the gap closes as the decay grows. Of the numbers at
which it is within a margin that the user states, and at which limits mean something, the one is looked for with which
the worst case of the priority task is least on samples that were not learnt from.
"""

from collections.abc import Callable, Sequence, Set

from torch import Tensor

from idbpd.mtl import MultiTaskData, TaskQuality, guess_loss, measure_quality
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.calibration.nodes import given_thresholds
from idbpd.pipelines.devices import resolve_device
from idbpd.pipelines.network import build_network
from idbpd.pipelines.parameters import (
    CalibrationParameters,
    ComputeParameters,
    ModelParameters,
    ProblemParameters,
    ProblemSettings,
    Seed,
    WeightDecaySearchParameters,
)
from idbpd.pipelines.progress import Progress
from idbpd.pipelines.provenance import parameters_of, settings, surroundings, tensors_sha256
from idbpd.pipelines.robust_problem import BuiltProblem, build_problem, weights_of
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.kept import KeptCandidates

# Worst-case losses on a validation part that differ by a smaller share than this are as good as each other.
AS_GOOD = 0.01


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

    def attempt(weight_decay: float) -> Candidate:
        chosen = problem.with_weight_decay(weight_decay)
        made_with = {
            **settings(model, chosen, compute, seed, content),
            **parameters_of("calibration", calibration),
            **surroundings(resolve_device(compute.device), build_network(model, parts[0], seed)),
        }
        candidate = kept.get(made_with)
        if candidate is None:
            candidate = _try(chosen, parts, calibration, model, compute, seed)
            kept.put(made_with, candidate)
        return candidate

    return explore(parameters.grid, attempt, parameters.margin)


def explore(grid: Sequence[float], attempt: Callable[[float], Candidate], margin: float) -> list[Candidate]:
    """Try a grid from its middle, first down and then up, each way for as long as it may still become better.

    More decay closes the gap to unseen data and leaves less to be learnt, so that both ways get worse beyond the best.
    """
    numbers = sorted(set(grid))
    middle = len(numbers) // 2
    tried = [attempt(numbers[middle])]
    for number in reversed(numbers[:middle]):
        if not _less_may_be_better(tried, margin):
            break
        tried.append(attempt(number))
    tried.sort(key=lambda candidate: candidate.weight_decay)
    for number in numbers[middle + 1 :]:
        if carried_by_any(tried, margin) and choose(tried, margin) is not tried[-1]:
            break
        tried.append(attempt(number))
    return tried


def _less_may_be_better(tried: Sequence[Candidate], margin: float) -> bool:
    """Whether a weight decay below the last, which is the least so far, is worth a try."""
    if choose(tried, margin) is tried[-1]:
        return True
    # What is hard to learn is learnt with less decay.
    return not carried_by_any(tried, margin) and tried[-1].learnt < set(tried[-1].thresholds)


def carried_by_any(candidates: Sequence[Candidate], margin: float) -> set[str]:
    """The constraint tasks that a weight decay can be chosen by: with one at least, their limits carry over."""
    return set[str]().union(*(candidate.carried(margin) for candidate in candidates))


def choose(candidates: Sequence[Candidate], margin: float) -> Candidate:
    """Of those with which the limits carry over, the one that is best for the priority task on the validation part.

    A limit that carries over with none of them has no say: it would only spoil the choice for the others. Where
    several candidates are as good, it is the least of them: its limits are the tightest. Where they carry over with one
    candidate each but never together, or none does, it is the one that comes nearest, of those with which most is
    learnt.
    """
    judged = carried_by_any(candidates, margin)
    good = [candidate for candidate in candidates if judged and judged <= candidate.carried(margin)]
    if not good and any(candidate.learnt for candidate in candidates):
        return min(candidates, key=lambda candidate: _distance(candidate, judged or set(candidate.thresholds)))
    good = good or list(candidates)  # a guess everywhere: the priority task alone decides
    allowed = (1 + AS_GOOD) * min(candidate.priority_loss for candidate in good)
    as_good = [candidate for candidate in good if candidate.priority_loss <= allowed]
    return min(as_good, key=lambda candidate: candidate.weight_decay)


def _distance(candidate: Candidate, tasks: Set[str]) -> tuple[int, float]:
    """How many of the tasks are not learnt, and how far the limits of the others are exceeded."""
    learnt = tasks & candidate.learnt
    return len(tasks) - len(learnt), max((candidate.ratios[task] for task in learnt), default=0.0)


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
        {task.name: guess_loss(task, problem.regularisation) for task in fit.tasks},
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
    return measure_quality(built.network, data.to(features.device, features.dtype), problem.regularisation)
