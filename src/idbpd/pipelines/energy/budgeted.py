"""Train weights and levels of sparsity together under the budget: solves of ever sharper problems, each from the last.

The first width of the measure is the one at which the dense model is within the budget: so its first problem has a
feasible start. The last one is a small share of it, where the measure is close to the number of non-zero weights.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from idbpd.energy import SHARES, EnergyConstrained, EnergyModel, energy_used, measure, schedule, width_at_which
from idbpd.experiment.checkpoints import Checkpointing
from idbpd.experiment.durable_solve import Budget
from idbpd.experiment.history import history_frame
from idbpd.experiment.problem import BuiltProblem, Experiment, weights_of
from idbpd.experiment.provenance import parameters_of
from idbpd.experiment.stage import Stage
from idbpd.mtl import MultiTaskData
from idbpd.optim import IDBPD, Solution
from idbpd.pipelines.energy.parameters import EnergyParameters
from idbpd.pipelines.energy.plan import energy_model

logger = logging.getLogger(__name__)
ENERGY = "energy"  # the name of the last constraint
WIDEST = 1e6  # times the largest weight: there, no weight counts


class Budgeted(NamedTuple):
    """The weights and levels of the sharpest problem."""

    weights: dict[str, Tensor]
    shares: Tensor  # of the weights of each layer
    width: float  # at which a weight counts half, in the last stage
    multipliers: Tensor
    stages: list[dict[str, Any]]
    history: pd.DataFrame


def train_within_budget(
    train: MultiTaskData,
    thresholds: Mapping[str, float],
    start: Mapping[str, Tensor],
    energy: EnergyParameters,
    experiment: Experiment,
    checkpointing: Checkpointing,
) -> Budgeted:
    """Solve along the schedule from ``start``, a model without a budget."""
    built = experiment.build(train, train.priority.name, thresholds)
    model = energy_model(built.network, built.data, energy)
    budget = model.budget(energy.budget)
    weights = built.placed(start)
    widths = _widths(model, flat(weights), budget, energy)
    shares = torch.tensor([measure(flat(weights)[one.places], widths[0]) / one.size for one in model.layers])
    names = [*thresholds, *(layer.name for layer in model.layers), ENERGY]
    made_with = {**experiment.made_with, **parameters_of("energy", energy)}
    stages: list[dict[str, Any]] = []
    frames: list[pd.DataFrame] = []
    for at, width in enumerate(widths):
        is_last = at == len(widths) - 1
        oracle = EnergyConstrained(built.oracle, model, budget, width, flat(weights))
        stage = Stage(f"energy_stage_{at + 1}", f"energy, stage {at + 1} of {len(widths)}", made_with, checkpointing)
        timed = stage.solve(
            built._replace(oracle=oracle),
            thresholds,
            {**weights, SHARES: shares.to(flat(weights))},
            Budget(energy.max_steps if is_last else energy.stage_steps, energy.tolerance),
            IDBPD(),
        )
        solution = timed.solution
        weights = {name: tensor for name, tensor in weights_of(solution).items() if name != SHARES}
        shares = weights_of(solution)[SHARES]
        stages.append({"width": width, "seconds": timed.total_seconds, **_ending(solution, names)})
        frames.append(_continued(history_frame(solution, names), frames))
        logger.info(
            "energy, stage %d of %d (a weight of %.2g counts half): %s after %d steps, residual %.1e, %.1f s",
            at + 1,
            len(widths),
            width,
            solution.status.name,
            solution.steps,
            solution.kkt.worst,
            timed.total_seconds,
        )
    return Budgeted(weights, shares, widths[-1], solution.multipliers, stages, pd.concat(frames, ignore_index=True))


def flat(weights: Mapping[str, Tensor]) -> Tensor:
    """The weights as a point of the solver."""
    return torch.cat([tensor.flatten() for tensor in weights.values()])


def shaped(x: Tensor, built: BuiltProblem) -> dict[str, Tensor]:
    """A point of the solver as weights."""
    like = built.initial_weights
    pieces = torch.split(x, [tensor.numel() for tensor in like.values()])
    return {name: piece.view_as(like[name]) for name, piece in zip(like, pieces, strict=True)}


def _widths(model: EnergyModel, weights: Tensor, budget: float, energy: EnergyParameters) -> list[float]:
    largest = WIDEST * weights.abs().max().item()
    first = width_at_which(lambda width: energy_used(model, weights, width) <= budget, largest)
    return schedule(first, energy.sharpness * first, energy.stages)


def _ending(solution: Solution, names: Sequence[str]) -> dict[str, Any]:
    return {
        "status": solution.status.name,
        "reason": solution.reason,
        "steps": solution.steps,
        "evaluations": solution.evaluations,
        "objective": solution.f,
        **solution.kkt._asdict(),
        "multipliers": dict(zip(names, solution.multipliers.tolist(), strict=True)),
    }


def _continued(frame: pd.DataFrame, before: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The steps of a stage, counted on from the last one of the stage before."""
    last = before[-1]["step"].iloc[-1] + 1 if before else 0
    return frame.assign(step=frame["step"] + last, stage=len(before) + 1)
