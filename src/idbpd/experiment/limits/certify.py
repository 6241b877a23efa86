"""What is known of a model under limits: its KKT residuals in float64, and whether the limits hold on unseen data."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn

from idbpd.experiment.limits.calibration import weights_alone
from idbpd.experiment.limits.certificate import evaluate_exactly
from idbpd.experiment.limits.held_out import Evidence, check_held_out
from idbpd.experiment.limits.thresholds import Promise, thresholds_of
from idbpd.experiment.parameters import SplitParameters
from idbpd.experiment.problem import Experiment, criteria_of, protected
from idbpd.experiment.records.provenance import require_same
from idbpd.mtl import MultiTaskData
from idbpd.optim.oracle import Maximisers


def certify(
    train: MultiTaskData,
    test: MultiTaskData,
    weights: dict[str, Tensor],
    outcome: dict[str, Any],
    threshold: dict[str, Any],
    single_task_weights: dict[str, Tensor],
    split: SplitParameters,
    experiment: Experiment,
) -> dict[str, Any]:
    """The three KKT residuals at the saved weights, with f, g and the multipliers that make the residuals least.

    ``constraint`` and ``multiplier`` are the largest of all constraint tasks, None without one; ``tasks`` has them one
    by one.
    ``protects`` says in words what the worst case of each task is taken over, and ``support`` how many samples carry
    weight in it. ``held_out`` is about data that the model never saw; without a test part there is none.
    """
    require_same(outcome["made_with"], experiment.made_with, "model", "train_constrained")
    thresholds = thresholds_of(threshold)
    residuals, judged = _residuals(train, thresholds, weights, experiment)
    return {
        "status": outcome["status"],
        "reason": outcome["reason"],
        **{name: value for name, value in residuals.items() if name not in ("tasks", "support")},
        "threshold": threshold["threshold"],
        "tasks": residuals["tasks"],
        "protects": protected(train, experiment.problem),
        "support": residuals["support"],
        "held_out": (
            _held_out(judged, weights, test, threshold, single_task_weights, experiment)
            if split.test_fraction > 0
            else None
        ),
    }


class _Judged(NamedTuple):
    """What verdicts need of a problem. Its oracle, which remembers several numbers of every sample, goes before."""

    network: nn.Module
    initial_weights: dict[str, Tensor]
    data: MultiTaskData

    def network_with(self, weights: dict[str, Tensor]) -> nn.Module:
        """Another network with these weights."""
        network = copy.deepcopy(self.network)
        network.load_state_dict({name: weights[name].to(initial) for name, initial in self.initial_weights.items()})
        return network


def _residuals(
    train: MultiTaskData, thresholds: Mapping[str, float], weights: dict[str, Tensor], experiment: Experiment
) -> tuple[dict[str, Any], _Judged]:
    point = evaluate_exactly(train, thresholds, experiment, weights)
    evaluation, multipliers = point.evaluation, point.best_multipliers
    kkt = point.kkt(multipliers)
    found = {
        "objective": evaluation.f.item(),
        "constraint": evaluation.g.max().item() if thresholds else None,
        "multiplier": multipliers.max().item() if thresholds else None,
        "stationarity": kkt.stationarity,
        "infeasibility": kkt.infeasibility,
        "slackness": kkt.slackness,
        "tasks": {
            name: {"constraint": g.item(), "multiplier": multiplier.item(), "threshold": thresholds[name]}
            for name, g, multiplier in zip(thresholds, evaluation.g, multipliers, strict=True)
        },
        "support": _support_sizes([train.priority.name, *thresholds], evaluation.maximisers),
    }
    return found, _Judged(point.built.network, point.built.initial_weights, point.built.data)


def _support_sizes(tasks: list[str], maximisers: Maximisers) -> dict[str, dict[str, int]]:
    sizes = {}
    for name, worst in zip(tasks, (maximisers.y, *maximisers.w), strict=True):
        assert worst is not None  # every task has a worst case
        sizes[name] = {"weighted": int((worst > 0).sum()), "samples": len(worst)}
    return sizes


def _held_out(
    judged: _Judged,
    weights: dict[str, Tensor],
    test: MultiTaskData,
    threshold: dict[str, Any],
    single_task_weights: dict[str, Tensor],
    experiment: Experiment,
) -> dict[str, Any]:
    data = judged.data
    evidence = Evidence(
        judged.network_with(weights),
        lambda task: judged.network_with(weights_alone(single_task_weights, task)),
        data,
        test.to(data.features.device, data.priority.targets.dtype),
        criteria_of(experiment.problem),
    )
    promises = {name: Promise.of_record(task) for name, task in threshold["tasks"].items()}
    found = check_held_out(evidence, promises)
    for name, limit in thresholds_of(threshold).items():
        found["tasks"][name] = {"threshold": limit, **found["tasks"][name]}
    return found
