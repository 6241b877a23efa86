import pytest
import torch

from idbpd.mtl import fit_scaling
from idbpd.mtl.scaling import Kind


@pytest.mark.parametrize(("kind", "mean", "largest"), [("standard", 0.0, 2.0), ("minmax", 0.5, 1.0)])
def test_features_of_any_size_become_comparable(kind: Kind, mean: float, largest: float) -> None:
    size = torch.tensor([1e-6, 1.0, 1e6, 1e20])
    features = (torch.linspace(-1, 1, 101)[:, None] + 3) * size
    scaled = fit_scaling(features, kind)(features)
    torch.testing.assert_close(scaled.mean(dim=0), torch.full((4,), mean), atol=1e-3, rtol=0)
    assert (scaled.abs().amax(dim=0) <= largest).all()


@pytest.mark.parametrize("kind", ["standard", "minmax"])
def test_a_constant_feature_does_not_explode(kind: Kind) -> None:
    scaling = fit_scaling(torch.full((1000, 1), 0.1), kind)
    assert scaling.scale == 1
    torch.testing.assert_close(scaling(torch.tensor([[0.1], [0.6]])), torch.tensor([[0.0], [0.5]]))


def test_scaling_none_changes_nothing() -> None:
    features = torch.randn(5, 3)
    assert torch.equal(fit_scaling(features, "none")(features), features)


def test_by_the_maximum_zeros_stay_zero() -> None:
    features = torch.tensor([[0.0, 2.0, 0.0], [0.0, -8.0, 1e20], [0.0, 0.0, 5.0]])
    scaled = fit_scaling(features, "maximum")(features)
    assert torch.equal(scaled[:, :2], torch.tensor([[0.0, 0.25], [0.0, -1.0], [0.0, 0.0]]))
    assert torch.equal(scaled == 0, features == 0)
    assert scaled.abs().max() == 1
