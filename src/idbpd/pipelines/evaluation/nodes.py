"""Recompute what was reached, from the saved weights alone and in float64."""

from typing import Any

import pandas as pd
import torch
from torch import Tensor

from idbpd.mtl import LabelProbabilities, MultiTaskData, SharedNetwork, TaskQuality, measure_quality
from idbpd.optim.kkt import residuals
from idbpd.pipelines.parameters import ComputeParameters, ModelParameters, ProblemParameters
from idbpd.pipelines.robust_problem import build_problem
from idbpd.pipelines.splitting.nodes import CONSTRAINT, PRIORITY


def certify(
    train: MultiTaskData,
    weights: dict[str, Tensor],
    outcome: dict[str, Any],
    threshold: dict[str, Any],
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
) -> dict[str, Any]:
    """The three KKT residuals at the saved weights, with f, g and the multiplier they belong to."""
    exact = compute.model_copy(update={"dtype": "float64"})
    thresholds = {CONSTRAINT: float(threshold["threshold"])}
    built = build_problem(train, PRIORITY, thresholds, model, problem, exact, seed=0)
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
        "threshold": thresholds[CONSTRAINT],
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
    """The quality of both tasks on train and test, and the table of the model against the unconstrained one."""
    columns = {}
    for name, state in (("constrained", weights), ("unconstrained", unconstrained_weights)):
        network = _network(train, state, model)
        on_train = measure_quality(network, train, problem.regularisation)
        on_test = measure_quality(network, test, problem.regularisation)
        columns[name] = on_train, on_test
    held_out = columns["constrained"][1]
    quality = {
        "test_priority_hit_rate": held_out[PRIORITY].hit_rate,
        "test_constraint_hit_rate": held_out[CONSTRAINT].hit_rate,
        "test_priority_worst_case_loss": held_out[PRIORITY].worst_case_loss,
        "test_constraint_worst_case_loss": held_out[CONSTRAINT].worst_case_loss,
        "test_constraint_holds": float(held_out[CONSTRAINT].worst_case_loss <= certificate["threshold"]),
    }
    summary = pd.DataFrame({name: _column(*parts) for name, parts in columns.items()})
    summary.insert(1, "limit", "")
    for row in ("constraint task: worst-case loss", "constraint task: worst-case loss, test"):
        summary.loc[row, "limit"] = f"<= {certificate['threshold']:.4f}"
    for residual in ("stationarity", "infeasibility", "slackness"):
        summary.loc[residual] = [f"{certificate[residual]:.1e}", "", ""]
    return quality, summary.rename_axis("on the training data unless said otherwise").reset_index()


def export(
    train: MultiTaskData, weights: dict[str, Tensor], model: ModelParameters
) -> tuple[LabelProbabilities, Tensor]:
    """The trained model as others use it: features in, label probabilities of every task out; and an example input."""
    return LabelProbabilities(_network(train, weights, model)), train.features[:2]


def _network(data: MultiTaskData, weights: dict[str, Tensor], model: ModelParameters) -> SharedNetwork:
    network = SharedNetwork(data.features.shape[1], model.hidden, data.classes)
    network.load_state_dict({name: tensor.to(data.features.dtype) for name, tensor in weights.items()})
    return network


def _column(train: dict[str, TaskQuality], test: dict[str, TaskQuality]) -> dict[str, str]:
    return {
        "priority task: worst-case loss": f"{train[PRIORITY].worst_case_loss:.4f}",
        "constraint task: worst-case loss": f"{train[CONSTRAINT].worst_case_loss:.4f}",
        "constraint task: worst-case loss, test": f"{test[CONSTRAINT].worst_case_loss:.4f}",
        "priority task: hit rate, test": f"{test[PRIORITY].hit_rate:.1%}",
        "constraint task: hit rate, test": f"{test[CONSTRAINT].hit_rate:.1%}",
    }
