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
from idbpd.experiment.problem import BuiltProblem, Experiment, weights_of
from idbpd.experiment.records.provenance import parameters_of
from idbpd.experiment.solving.checkpoints import Checkpointing
from idbpd.experiment.solving.durable_solve import Budget
from idbpd.experiment.solving.history import history_frame
from idbpd.experiment.solving.stage import Stage
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
    run = _Run(train, thresholds, energy, experiment, checkpointing)
    return run.along_the_schedule(start)


class _Run:
    """The solves of one schedule, and what is known of them so far."""

    def __init__(
        self,
        train: MultiTaskData,
        thresholds: Mapping[str, float],
        energy: EnergyParameters,
        experiment: Experiment,
        checkpointing: Checkpointing,
    ) -> None:
        self._train, self._thresholds, self._energy = train, thresholds, energy
        self._experiment, self._checkpointing = experiment, checkpointing
        self._stages: list[dict[str, Any]] = []
        self._multipliers: Tensor | None = None  # of the stage before
        self._frames: list[pd.DataFrame] = []

    def along_the_schedule(self, start: Mapping[str, Tensor]) -> Budgeted:
        """From the widest measure to the sharpest one.

        Small widths need small numbers. Where the precision of training is not enough for them, and the last solve
        ends beyond the tolerance, it goes on in float64.
        """
        built = self._experiment.build(self._train, self._train.priority.name, self._thresholds)
        model = energy_model(built.network, built.data, self._energy)
        weights = built.placed(start)
        widths = _widths(model, flat(weights), model.budget(self._energy.budget), self._energy)
        measured = [measure(flat(weights)[layer.places], widths[0]) / layer.size for layer in model.layers]
        point = {**weights, SHARES: torch.stack(measured).to(flat(weights))}
        for width in widths[:-1]:
            point = weights_of(self._solved(built, model, point, width, self._energy.stage_steps))
        solution = self._solved(built, model, point, widths[-1], self._energy.max_steps)
        if solution.kkt.worst > self._energy.tolerance and flat(weights).dtype != torch.float64:
            exact = self._experiment.in_float64().build(self._train, self._train.priority.name, self._thresholds)
            point = {name: tensor.to(torch.float64) for name, tensor in weights_of(solution).items()}
            solution = self._solved(exact, model, point, widths[-1], self._energy.max_steps)
        point = weights_of(solution)
        shares = point.pop(SHARES)
        history = pd.concat(self._frames, ignore_index=True)
        return Budgeted(point, shares, widths[-1], solution.multipliers, self._stages, history)

    def _solved(
        self, built: BuiltProblem, model: EnergyModel, point: dict[str, Tensor], width: float, steps: int
    ) -> Solution:
        number = len(self._stages) + 1
        names = [*self._thresholds, *(layer.name for layer in model.layers), ENERGY]
        like = flat({name: tensor for name, tensor in point.items() if name != SHARES})
        budget = model.budget(self._energy.budget)
        oracle = EnergyConstrained(built.oracle, model, budget, width, like, self._multipliers)
        made_with = {**self._experiment.made_with, **parameters_of("energy", self._energy)}
        title = f"energy, stage {number}"
        timed = Stage(f"energy_stage_{number}", title, made_with, self._checkpointing).solve(
            built._replace(oracle=oracle), self._thresholds, point, Budget(steps, self._energy.tolerance), IDBPD()
        )
        solution = timed.solution
        self._multipliers = solution.multipliers.cpu()
        self._frames.append(_continued(history_frame(solution, names), self._frames))
        self._stages.append(
            {"width": width, "seconds": timed.total_seconds, "dtype": str(like.dtype), **_ending(solution, names)}
        )
        logger.info(
            "%s (a weight of %.2g counts half): %s after %d steps, residual %.1e, %.1f s",
            title,
            width,
            solution.status.name,
            solution.steps,
            solution.kkt.worst,
            timed.total_seconds,
        )
        return solution


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
