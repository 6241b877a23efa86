"""What a new model must pass before it replaces the one in use."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from idbpd.experiment.parameters import RetrainParameters

RESIDUALS = ("stationarity", "infeasibility", "slackness")


class Gate(NamedTuple):
    """One condition: what was measured, what it may be at most, and whether that holds."""

    gate: str
    value: float
    limit: float | None  # None: there is nothing to compare with, which is no reason against the new model
    passed: bool
    note: str


def gates(
    certificate: Mapping[str, Any],
    held_out: Mapping[str, float],
    champion: Mapping[str, Any],
    priority: str,
    retrain: RetrainParameters,
) -> list[Gate]:
    """All conditions, in the order in which a person would ask for them; ``held_out`` is each task's loss there."""
    return [
        _at_most(
            "feasible_train", certificate["infeasibility"], retrain.train_tolerance, "largest violation, training"
        ),
        *(
            _at_most(
                f"feasible_held_out_{name}",
                held_out[name],
                record["threshold"] * (1 + retrain.held_out_tolerance),
                f"worst-case loss, test; threshold {record['threshold']:.4f} and {retrain.held_out_tolerance:.0%}",
            )
            for name, record in certificate["tasks"].items()
        ),
        _at_most(
            "residual",
            max((certificate[name] for name in RESIDUALS), key=_nan_is_worst),
            retrain.residual_limit,
            "worst of " + ", ".join(RESIDUALS),
        ),
        _against_champion(held_out[priority], champion, retrain),
    ]


def _nan_is_worst(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _at_most(name: str, value: float, limit: float, note: str) -> Gate:
    return Gate(name, value, limit, value <= limit, note)


def _against_champion(loss: float, champion: Mapping[str, Any], retrain: RetrainParameters) -> Gate:
    name = "not_worse_than_champion"
    if champion["version"] is None:
        return Gate(name, loss, None, True, "there is no champion yet")
    if champion["priority_loss"] is None:
        return Gate(name, loss, None, retrain.accept_other_tasks, str(champion["reason"]))
    note = (
        f"worst-case loss of the priority task, test; version {champion['version']} has {champion['priority_loss']:.4f}"
    )
    return _at_most(name, loss, champion["priority_loss"] * (1 + retrain.margin), note)
