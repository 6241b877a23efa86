"""Whether a network can be within the budget: settled, and refused if need be, before anything is trained."""

import logging
from typing import Any

from torch import Tensor, nn

from idbpd.energy import EnergyModel, layers_of
from idbpd.experiment.network import build_network
from idbpd.experiment.parameters import ModelParameters, Seed
from idbpd.mtl import MultiTaskData
from idbpd.pipelines.energy.parameters import EnergyParameters

logger = logging.getLogger(__name__)
SAMPLES = 8  # rows that networks are compared on


def plan_energy(train: MultiTaskData, model: ModelParameters, energy: EnergyParameters, seed: Seed) -> dict[str, Any]:
    """What the dense network needs and what is allowed, in picojoules per answer."""
    found = energy_model(build_network(model, train, seed), train, energy)
    budget = found.budget(energy.budget)
    logger.info(
        "energy of one answer on the worst hardware: %.4g nJ by the dense network, budget %.4g nJ (%g of it); the "
        "smallest that can be reached is %.2g of it",
        found.dense / 1000,
        budget / 1000,
        energy.budget,
        found.smallest_share,
    )
    return {
        "budget": energy.budget,
        "budget_pj": budget,
        "dense_pj": found.dense,
        "smallest_budget": found.smallest_share,
        "layers": {layer.name: {"weights": layer.size, "uses": layer.uses} for layer in found.layers},
    }


def energy_model(network: nn.Module, data: MultiTaskData, energy: EnergyParameters) -> EnergyModel:
    """The energy of a network by the number of non-zero weights in its layers."""
    return EnergyModel(layers_of(network, samples_of(data)[0]), energy.hardware)


def samples_of(data: MultiTaskData) -> Tensor:
    """A few rows of features, dense."""
    return data.features[:SAMPLES].to_dense().cpu()
