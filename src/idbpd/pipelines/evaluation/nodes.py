"""Recompute what was reached from the saved weights: the certificate in float64, the quality as the model is used."""

from typing import Any

import pandas as pd
import torch
from torch import Tensor

from idbpd.mtl import (
    FeatureScaling,
    LabelProbabilities,
    MultiTaskData,
    SharedNetwork,
    TaskQuality,
    measure_quality,
)
from idbpd.optim.kkt import best_multipliers, residuals
from idbpd.optim.oracle import Maximisers
from idbpd.pipelines.evaluation.held_out import check_held_out
from idbpd.pipelines.parameters import ComputeParameters, ModelParameters, ProblemParameters, Seed, SplitParameters
from idbpd.pipelines.provenance import require_same, settings
from idbpd.pipelines.robust_problem import BuiltProblem, build_problem, thresholds_of


def certify(
    train: MultiTaskData,
    test: MultiTaskData,
    weights: dict[str, Tensor],
    outcome: dict[str, Any],
    threshold: dict[str, Any],
    fingerprint: dict[str, str],
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    split: SplitParameters,
    seed: Seed,
) -> dict[str, Any]:
    """The three KKT residuals at the saved weights, with f, g and the multipliers that make the residuals least.

    ``constraint`` and ``multiplier`` are the largest of all constraint tasks; ``tasks`` has them one by one.
    ``support`` says how many samples carry weight in the worst case. ``held_out`` is about data that the model never
    saw; without a test part there is none.
    """
    require_same(outcome["made_with"], settings(model, problem, seed, fingerprint), "model", "train_constrained")
    exact = compute.model_copy(update={"dtype": "float64"})
    thresholds = thresholds_of(threshold)
    built = build_problem(train, train.priority.name, thresholds, model, problem, exact, seed)
    x = torch.cat([weights[name].to(initial).flatten() for name, initial in built.initial_weights.items()])
    evaluation = built.oracle.evaluate(x, built.oracle.start(x))
    gradients = built.oracle.differentiate(evaluation)
    multipliers = best_multipliers(evaluation.g, gradients)
    kkt = residuals(evaluation.g, gradients, multipliers).measured()
    return {
        "status": outcome["status"],
        "objective": evaluation.f.item(),
        "constraint": evaluation.g.max().item(),
        "multiplier": multipliers.max().item(),
        "stationarity": kkt.stationarity,
        "infeasibility": kkt.infeasibility,
        "slackness": kkt.slackness,
        "threshold": threshold["threshold"],
        "tasks": {
            name: {"constraint": g.item(), "multiplier": multiplier.item(), "threshold": thresholds[name]}
            for name, g, multiplier in zip(thresholds, evaluation.g, multipliers, strict=True)
        },
        "support": _support_sizes([train.priority.name, *thresholds], evaluation.maximisers),
        "held_out": _held_out(built, weights, test, thresholds, problem) if split.test_fraction > 0 else None,
    }


def _support_sizes(tasks: list[str], maximisers: Maximisers) -> dict[str, dict[str, int]]:
    sizes = {}
    for name, worst in zip(tasks, (maximisers.y, *maximisers.w), strict=True):
        assert worst is not None  # every task has a worst case
        sizes[name] = {"weighted": int((worst > 0).sum()), "samples": len(worst)}
    return sizes


def _held_out(
    built: BuiltProblem,
    weights: dict[str, Tensor],
    test: MultiTaskData,
    thresholds: dict[str, float],
    problem: ProblemParameters,
) -> dict[str, Any]:
    built.network.load_state_dict(weights)
    features = built.data.features
    return check_held_out(built.network, test.to(features.device, features.dtype), thresholds, problem.regularisation)


def compare(
    train: MultiTaskData,
    test: MultiTaskData,
    weights: dict[str, Tensor],
    unconstrained_weights: dict[str, Tensor],
    certificate: dict[str, Any],
    model: ModelParameters,
    problem: ProblemParameters,
    split: SplitParameters,
) -> tuple[dict[str, float], pd.DataFrame]:
    """The quality of all tasks, and the table of the model against the unconstrained one.

    Where no data were held out, quality is that on the training data, and is called so.
    """
    has_test_part = split.test_fraction > 0
    columns = {}
    for name, state in (("constrained", weights), ("unconstrained", unconstrained_weights)):
        network = _network(train, state, model)
        on_train = measure_quality(network, train, problem.regularisation)
        on_test = measure_quality(network, test, problem.regularisation)
        columns[name] = on_train, on_test
    limits = {name: record["threshold"] for name, record in certificate["tasks"].items()}
    summary = pd.DataFrame(
        {name: _column(train, *parts, has_test_part=has_test_part) for name, parts in columns.items()}
    )
    summary.insert(1, "limit", "")
    for task, limit in limits.items():
        for part, row in zip(columns["constrained"], (f"{task}: worst-case loss", _on_test(task)), strict=True):
            if row in summary.index:
                summary.loc[row, "limit"] = _verdict(part[task].worst_case_loss, limit)
    for residual in ("stationarity", "infeasibility", "slackness"):
        summary.loc[residual] = [f"{certificate[residual]:.1e}", "", ""]
    summary.loc["solver"] = [certificate["status"], "", ""]
    quality = _quality("test" if has_test_part else "train", columns["constrained"][1], limits)
    if len(limits) > 1:
        quality |= {
            f"final_{metric}_{task}": record[metric]
            for task, record in certificate["tasks"].items()
            for metric in ("constraint", "multiplier")
        }
    return quality, summary.rename_axis("task: what").reset_index()


def export(
    train: MultiTaskData, scaling: dict[str, Tensor], weights: dict[str, Tensor], model: ModelParameters
) -> tuple[LabelProbabilities, Tensor]:
    """The trained model as others use it: raw features in, label probabilities of every task out; and an example."""
    scale = FeatureScaling(scaling["center"], scaling["scale"])
    example = train.features[:2] * scale.scale + scale.center
    return LabelProbabilities(_network(train, weights, model), scale), example


def _network(data: MultiTaskData, weights: dict[str, Tensor], model: ModelParameters) -> SharedNetwork:
    network = SharedNetwork(data.features.shape[1], model.hidden, data.classes)
    network.load_state_dict({name: tensor.to(data.features.dtype) for name, tensor in weights.items()})
    return network


def _quality(part: str, measured: dict[str, TaskQuality], limits: dict[str, float]) -> dict[str, float]:
    """The quality of every task on one part of the data, and whether every limit holds there."""
    quality = {}
    for name, task in measured.items():
        quality[f"{part}_{name}_hit_rate"] = task.hit_rate
        quality[f"{part}_{name}_worst_case_loss"] = task.worst_case_loss
    held = {name: measured[name].worst_case_loss <= limit for name, limit in limits.items()}
    quality[f"{part}_constraint_holds"] = float(all(held.values()))
    if len(limits) > 1:
        quality |= {f"{part}_{name}_holds": float(holds) for name, holds in held.items()}
    return quality


def _column(
    data: MultiTaskData, train: dict[str, TaskQuality], test: dict[str, TaskQuality], *, has_test_part: bool
) -> dict[str, str]:
    column = {f"{task.name}: worst-case loss": f"{train[task.name].worst_case_loss:.4f}" for task in data.tasks}
    if has_test_part:
        for task in data.limited:
            column[_on_test(task.name)] = f"{test[task.name].worst_case_loss:.4f}"
    for task in data.tasks:
        column[f"{task.name}: hit rate{', test' if has_test_part else ''}"] = f"{test[task.name].hit_rate:.1%}"
    return column


def _on_test(task: str) -> str:
    return f"{task}: the same, test"


def _verdict(loss: float, limit: float) -> str:
    """The limit, and whether it is kept; what is over it by no more than the shown digits is not called broken."""
    return f"{limit:.4f} {'kept' if loss <= limit + 5e-5 else 'BROKEN'}"
