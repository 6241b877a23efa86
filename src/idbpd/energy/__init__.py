"""Training under an energy budget: the second real problem on the solver of `idbpd.optim`, beside `idbpd.mtl`."""

from idbpd.energy.dead_units import narrowed, silenced
from idbpd.energy.hardware import Costs, Hardware
from idbpd.energy.layers import Layer, layers_of
from idbpd.energy.problem import SHARES, EnergyConstrained, EnergyModel, energy_used
from idbpd.energy.prune import largest, levels, only
from idbpd.energy.sparsity import measure, schedule, slope, width_at_which
from idbpd.energy.verify import VerifiedEnergy, verified_energy

__all__ = [
    "SHARES",
    "Costs",
    "EnergyConstrained",
    "EnergyModel",
    "Hardware",
    "Layer",
    "VerifiedEnergy",
    "energy_used",
    "largest",
    "layers_of",
    "levels",
    "measure",
    "narrowed",
    "only",
    "schedule",
    "silenced",
    "slope",
    "verified_energy",
    "width_at_which",
]
