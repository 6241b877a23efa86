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
from idbpd.optim.kkt import residuals
from idbpd.pipelines.parameters import ComputeParameters, ModelParameters, ProblemParameters, Seed
from idbpd.pipelines.provenance import require_same, settings
from idbpd.pipelines.robust_problem import build_problem, thresholds_of


def certify(
    train: MultiTaskData,
    weights: dict[str, Tensor],
    outcome: dict[str, Any],
    threshold: dict[str, Any],
    fingerprint: dict[str, str],
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> dict[str, Any]:
    """The three KKT residuals at the saved weights, with f, g and the multiplier they belong to.

    ``constraint`` and ``multiplier`` are the largest of all constraint tasks; ``tasks`` has them one by one.
    """
    require_same(outcome["made_with"], settings(model, problem, seed, fingerprint), "model", "train_constrained")
    exact = compute.model_copy(update={"dtype": "float64"})
    thresholds = thresholds_of(threshold)
    built = build_problem(train, train.priority.name, thresholds, model, problem, exact, seed)
    x = torch.cat([weights[name].to(initial).flatten() for name, initial in built.initial_weights.items()])
    evaluation = built.oracle.evaluate(x, built.oracle.start(x))
    multipliers = torch.tensor(outcome["multipliers"], dtype=torch.float64, device=x.device)
    kkt = residuals(evaluation.g, built.oracle.differentiate(evaluation), multipliers).measured()
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
    }


def compare(
    train: MultiTaskData,
    test: MultiTaskData,
    weights: dict[str, Tensor],
    unconstrained_weights: dict[str, Tensor],
    certificate: dict[str, Any],
    model: ModelParameters,
    problem: ProblemParameters,
) -> tuple[dict[str, float], pd.DataFrame]:
    """The quality of all tasks on train and test, and the table of the model against the unconstrained one."""
    columns = {}
    for name, state in (("constrained", weights), ("unconstrained", unconstrained_weights)):
        network = _network(train, state, model)
        on_train = measure_quality(network, train, problem.regularisation)
        on_test = measure_quality(network, test, problem.regularisation)
        columns[name] = on_train, on_test
    limits = {name: record["threshold"] for name, record in certificate["tasks"].items()}
    summary = pd.DataFrame({name: _column(train, *parts) for name, parts in columns.items()})
    summary.insert(1, "limit", "")
    for task, limit in limits.items():
        for part, row in zip(columns["constrained"], (f"{task}: worst-case loss", _on_test(task)), strict=True):
            summary.loc[row, "limit"] = _verdict(part[task].worst_case_loss, limit)
    for residual in ("stationarity", "infeasibility", "slackness"):
        summary.loc[residual] = [f"{certificate[residual]:.1e}", "", ""]
    summary.loc["solver"] = [certificate["status"], "", ""]
    quality = _quality(train, columns["constrained"][1], limits)
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


def _quality(train: MultiTaskData, held_out: dict[str, TaskQuality], limits: dict[str, float]) -> dict[str, float]:
    """The held-out quality of every task, and whether every limit holds there."""
    quality = {}
    for task in train.tasks:
        quality[f"test_{task.name}_hit_rate"] = held_out[task.name].hit_rate
        quality[f"test_{task.name}_worst_case_loss"] = held_out[task.name].worst_case_loss
    held = {name: held_out[name].worst_case_loss <= limit for name, limit in limits.items()}
    quality["test_constraint_holds"] = float(all(held.values()))
    if len(limits) > 1:
        quality |= {f"test_{name}_holds": float(holds) for name, holds in held.items()}
    return quality


def _column(data: MultiTaskData, train: dict[str, TaskQuality], test: dict[str, TaskQuality]) -> dict[str, str]:
    column = {f"{task.name}: worst-case loss": f"{train[task.name].worst_case_loss:.4f}" for task in data.tasks}
    for task in data.limited:
        column[_on_test(task.name)] = f"{test[task.name].worst_case_loss:.4f}"
    for task in data.tasks:
        column[f"{task.name}: hit rate, test"] = f"{test[task.name].hit_rate:.1%}"
    return column


def _on_test(task: str) -> str:
    return f"{task}: the same, test"


def _verdict(loss: float, limit: float) -> str:
    """The limit, and whether it is kept; what is over it by no more than the shown digits is not called broken."""
    return f"{limit:.4f} {'kept' if loss <= limit + 5e-5 else 'BROKEN'}"
