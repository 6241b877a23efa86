"""What is known of a pruned model: its energy, its KKT residuals, and the L + 1 multipliers of the budget."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from idbpd.energy import EnergyConstrained, EnergyModel, VerifiedEnergy, narrowed, verified_energy
from idbpd.experiment.limits.certificate import evaluate_exactly
from idbpd.experiment.limits.certify import certify
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import SplitParameters
from idbpd.experiment.problem import Experiment
from idbpd.mtl import MultiTaskData
from idbpd.optim.kkt import best_multipliers, residuals
from idbpd.optim.oracle import Gradients
from idbpd.pipelines.energy.budgeted import Budgeted, flat
from idbpd.pipelines.energy.parameters import EnergyParameters
from idbpd.pipelines.energy.plan import energy_model, samples_of
from idbpd.pipelines.energy.pruned import Pruned

RESIDUALS = ("stationarity", "infeasibility", "slackness")


class Certified(NamedTuple):
    """A pruned network without its dead units, and its certificate."""

    network: nn.Module
    certificate: dict[str, Any]


def certify_pruned(
    train: MultiTaskData,
    test: MultiTaskData,
    threshold: dict[str, Any],
    single_task_weights: dict[str, Tensor],
    budgeted: Budgeted,
    pruned: Pruned,
    outcome: dict[str, Any],
    energy: EnergyParameters,
    split: SplitParameters,
    experiment: Experiment,
) -> Certified:
    """The certificate of a plain run, about the weights that are left, with two blocks more.

    ``energy`` is what the pruned network needs, added up over its arrays. ``budgeted`` is about the problem with
    weights and levels that was solved before pruning: its residuals, and the multipliers of all its constraints.
    """
    network = narrowed(trained_network(experiment.model, train, pruned.weights), samples_of(train))
    plain = certify(train, test, pruned.weights, outcome, threshold, single_task_weights, split, experiment)
    found = verified_energy(network, samples_of(train)[0], energy.hardware)
    model = energy_model(trained_network(experiment.model, train, pruned.weights), train, energy)
    certificate = {
        **plain,
        **_of_what_is_left(train, threshold, pruned.weights, experiment),
        "energy": _energy(found, model, energy, pruned),
        "budgeted": _budgeted(train, threshold, budgeted, energy, experiment),
    }
    return Certified(network, certificate)


def _of_what_is_left(
    train: MultiTaskData, threshold: Mapping[str, Any], weights: Mapping[str, Tensor], experiment: Experiment
) -> dict[str, Any]:
    """The residuals in the weights that are not zero: the others are held there by the levels."""
    point = evaluate_exactly(train, thresholds_of(threshold), experiment, weights)
    left = point.evaluation.x != 0
    gradients = Gradients(point.gradients.f[left], point.gradients.g[:, left])
    multipliers = best_multipliers(point.evaluation.g, gradients)
    tasks = {
        name: {"constraint": g, "multiplier": multiplier, "threshold": limit}
        for (name, limit), g, multiplier in zip(
            thresholds_of(threshold).items(), point.evaluation.g.tolist(), multipliers.tolist(), strict=True
        )
    }
    kkt = residuals(point.evaluation.g, gradients, multipliers).measured()
    return {"multiplier": multipliers.max().item(), "tasks": tasks, **kkt._asdict()}


def _energy(found: VerifiedEnergy, model: EnergyModel, energy: EnergyParameters, pruned: Pruned) -> dict[str, Any]:
    budget = model.budget(energy.budget)
    return {
        "budget": energy.budget,
        "share": found.worst / model.dense,
        "within_budget": found.is_within(budget),
        "worst_pj": found.worst,
        "nominal_pj": found.nominal,
        "budget_pj": budget,
        "dense_pj": model.dense,
        "uncertainty": {energy.uncertainty: energy.radius},
        "worst_costs_pj": found.worst_costs,
        "layers": {
            layer.name: {
                "weights": layer.size,
                "level": pruned.levels[layer.name],
                "nonzero": found.nonzero[layer.name],
                "shape": found.shapes[layer.name],
            }
            for layer in model.layers
        },
    }


def _budgeted(
    train: MultiTaskData,
    threshold: Mapping[str, Any],
    budgeted: Budgeted,
    energy: EnergyParameters,
    experiment: Experiment,
) -> dict[str, Any]:
    """The problem in weights and levels at its last width, evaluated in float64."""
    thresholds = thresholds_of(threshold)
    built = experiment.in_float64().build(train, train.priority.name, thresholds)
    model = energy_model(built.network, built.data, energy)
    weights = flat(built.placed(budgeted.weights))
    oracle = EnergyConstrained(built.oracle, model, model.budget(energy.budget), budgeted.width, weights)
    x = torch.cat([weights, budgeted.shares.to(weights)])
    rounded = budgeted.shares.dtype
    low, high = (bound.to(rounded).to(weights) == x for bound in oracle.bounds)
    x = torch.where(low, oracle.bounds.low, torch.where(high, oracle.bounds.high, x))
    evaluation = oracle.evaluate(x, oracle.start(x))
    gradients, sides = oracle.differentiate(evaluation), oracle.bounds.sides(x)
    multipliers = best_multipliers(evaluation.g, gradients, sides=sides)
    kkt = residuals(evaluation.g, gradients, multipliers, sides=sides).measured()
    values = [
        {"constraint": g, "multiplier": multiplier}
        for g, multiplier in zip(evaluation.g.tolist(), multipliers.tolist(), strict=True)
    ]
    layers = [layer.name for layer in model.layers]
    of_layers = values[len(thresholds) : -1]
    return {
        "status": budgeted.stages[-1]["status"],
        "reason": budgeted.stages[-1]["reason"],
        "objective": evaluation.f.item(),
        **kkt._asdict(),
        "width": budgeted.width,
        "tasks": dict(zip(thresholds, values[: len(thresholds)], strict=True)),
        "layers": {
            name: {**value, "share": share}
            for name, value, share in zip(layers, of_layers, budgeted.shares.tolist(), strict=True)
        },
        "energy": values[-1],
        "stages": budgeted.stages,
    }


def worst_residual(certificate: Mapping[str, Any]) -> float:
    """The largest residual of both problems."""
    return float(max(part[name] for part in (certificate, certificate["budgeted"]) for name in RESIDUALS))
