"""Prune to the levels that were found, and train what is left under the limits."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
from torch import Tensor

from idbpd.energy import largest, levels, only, silenced
from idbpd.errors import ConfigurationError
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.parameters import TrainingParameters
from idbpd.experiment.problem import BuiltProblem, Experiment, weights_of
from idbpd.experiment.records.provenance import parameters_of
from idbpd.experiment.solving.checkpoints import Checkpointing
from idbpd.experiment.solving.durable_solve import Budget, Timed
from idbpd.experiment.solving.endings import say_how_it_ended
from idbpd.experiment.solving.history import history_frame
from idbpd.experiment.solving.stage import Stage
from idbpd.mtl import MultiTaskData
from idbpd.optim import IDBPD
from idbpd.optim.restricted_oracle import RestrictedOracle
from idbpd.pipelines.energy.budgeted import Budgeted, flat, shaped
from idbpd.pipelines.energy.parameters import EnergyParameters
from idbpd.pipelines.energy.plan import energy_model, samples_of

LEFT = "weights that are left"  # the name under which the solver knows them


class Pruned(NamedTuple):
    """A pruned model, in the shape of the dense one with zeros."""

    weights: dict[str, Tensor]
    levels: dict[str, int]  # the number of weights that each layer may keep
    timed: Timed  # the solve that trained what was left
    history: pd.DataFrame


def prune_to_levels(built: BuiltProblem, budgeted: Budgeted, energy: EnergyParameters) -> tuple[Tensor, dict[str, int]]:
    """The largest weights of each layer, as many as its level; those of dead units are zero as well. Flat.

    The smallest budgets leave weights that lead from no feature to any answer. Then nothing is left, and we say so.
    """
    model = energy_model(built.network, built.data, energy)
    kept = levels(model, budgeted.shares, model.budget(energy.budget))
    x = flat(built.placed(budgeted.weights))
    pruned = without_dead_units(built, only(x, largest(model, x, kept)))
    if not bool(pruned.any()):
        raise ConfigurationError(
            f"parameter 'energy.budget' = {energy.budget:g} is too small to train with: none of the {sum(kept)} "
            "weights that it allows is on a way from a feature to an answer; allow more energy"
        )
    by_name = dict(zip((layer.name for layer in model.layers), kept, strict=True))
    return pruned, by_name


def without_dead_units(built: BuiltProblem, x: Tensor) -> Tensor:
    """The weights with zeros at all weights of dead units."""
    network = copy.deepcopy(built.network).cpu()
    network.load_state_dict({name: tensor.cpu() for name, tensor in shaped(x, built).items()})
    quiet = silenced(network, samples_of(built.data)).state_dict()
    return flat({name: quiet[name] for name in built.initial_weights}).to(x)


def fine_tune(stage: Stage, built: BuiltProblem, x: Tensor, thresholds: Mapping[str, float], budget: Budget) -> Timed:
    """Train the weights that are not zero; all others stay at zero. The solution is the whole point."""
    restricted = RestrictedOracle(built.oracle, x, x.nonzero().flatten(), preconditioner=True)
    start = {LEFT: x[x != 0]}
    timed = stage.solve(built._replace(oracle=restricted), thresholds, start, budget, IDBPD())
    whole = shaped(restricted.whole(weights_of(timed.solution)[LEFT]), built)
    return timed._replace(solution=timed.solution._replace(x=whole))


def prune_and_fine_tune(
    train: MultiTaskData,
    threshold: Mapping[str, Any],
    budgeted: Budgeted,
    energy: EnergyParameters,
    training: TrainingParameters,
    experiment: Experiment,
    checkpointing: Checkpointing,
) -> Pruned:
    """The model with real zeros, trained under the limits on what is left."""
    thresholds = thresholds_of(threshold)
    built = experiment.build(train, train.priority.name, thresholds)
    x, kept = prune_to_levels(built, budgeted, energy)
    made_with = {
        **experiment.made_with,
        **parameters_of("energy", energy),
        **parameters_of("training", training),
    }
    stage = Stage("energy_fine_tuning", "fine-tuning what is left", made_with, checkpointing)
    timed = fine_tune(stage, built, x, thresholds, Budget(training.max_steps, training.tolerance))
    say_how_it_ended("pruned, fine-tuned", timed, training.tolerance, threshold["tasks"])
    history = history_frame(timed.solution, list(thresholds))
    return Pruned(weights_of(timed.solution), kept, timed, history)
