"""The worst hardware: exact maximisers against samples and a convex solver, and what is refused."""

import cvxpy as cp
import numpy as np
import pytest
import torch

from idbpd.energy import Costs, Hardware
from idbpd.errors import ConfigurationError

COUNTS = torch.tensor([300.0, 300.0, 700.0, 120.0], dtype=torch.float64)


def test_the_table_is_the_published_one() -> None:
    assert Costs()._asdict() == {"multiply": 3.7, "add": 0.9, "on_chip": 5.0, "off_chip": 640.0}


@pytest.mark.parametrize("shape", ["ball", "box"])
def test_the_worst_energy_is_that_of_a_convex_solver(shape: str) -> None:
    hardware = Hardware(shape=shape, radius=0.4)  # type: ignore[arg-type]
    table = np.array(hardware.costs)
    h = cp.Variable(4)
    relative = (h - table) / table
    inside = cp.norm(relative, 2) <= 0.4 if shape == "ball" else cp.abs(relative) <= 0.4
    value = cp.Problem(cp.Maximize(COUNTS.numpy() @ h), [inside]).solve()
    assert hardware.worst_energy(COUNTS).item() == pytest.approx(value, rel=1e-6)
    assert hardware.worst(COUNTS).numpy() == pytest.approx(h.value, rel=1e-2)


def test_no_hardware_in_the_ball_needs_more_energy() -> None:
    hardware = Hardware(radius=0.3)
    worst, table = hardware.worst(COUNTS), torch.tensor(hardware.costs, dtype=torch.float64)
    directions = torch.nn.functional.normalize(torch.randn(5000, 4, dtype=torch.float64), dim=1)
    samples = table * (1 + 0.3 * directions)
    assert (samples @ COUNTS <= COUNTS @ worst + 1e-9).all()
    assert torch.linalg.vector_norm((worst - table) / table).item() == pytest.approx(0.3)


def test_the_worst_hardware_of_a_ball_depends_on_the_network() -> None:
    other = torch.tensor([1e6, 1e6, 2e6, 1.0], dtype=torch.float64)
    assert not torch.allclose(Hardware().worst(COUNTS), Hardware().worst(other), rtol=1e-2)


@pytest.mark.parametrize("shape", ["ball", "box"])
def test_a_set_with_negative_energies_is_refused(shape: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the {shape} of radius 1.5 .* negative energies .*below 1"):
        Hardware(shape=shape, radius=1.5)  # type: ignore[arg-type]


def test_a_cost_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'add' is -1 pJ; it must be positive"):
        Hardware(Costs(add=-1.0))


def test_without_uncertainty_the_worst_hardware_is_the_table() -> None:
    hardware = Hardware(radius=0.0)
    assert hardware.worst(COUNTS).tolist() == pytest.approx(list(hardware.costs))
