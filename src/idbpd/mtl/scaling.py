"""Scaling of features to a common size, fitted on the training part alone."""

from typing import Literal

import torch
from torch import Tensor, nn

Kind = Literal["none", "standard", "minmax", "maximum"]


class FeatureScaling(nn.Module):
    """Subtracts a center from each feature and divides by its scale."""

    center: Tensor
    scale: Tensor

    def __init__(self, center: Tensor, scale: Tensor) -> None:
        """Keep both as buffers, so that they are saved and moved with a model."""
        super().__init__()
        self.register_buffer("center", center)
        self.register_buffer("scale", scale)

    def forward(self, features: Tensor) -> Tensor:
        """The scaled features."""
        return (features - self.center) / self.scale


def fit_scaling(features: Tensor, kind: Kind) -> FeatureScaling:
    """The scaling that gives these features mean 0 and deviation 1 (``standard``) or the range 0 to 1 (``minmax``).

    ``maximum`` divides by the largest absolute value and shifts nothing: a zero stays zero. A constant feature has the
    scale 1 under the other two.
    """
    if kind == "none":
        return FeatureScaling(torch.zeros(features.shape[1]), torch.ones(features.shape[1]))
    # In float64: the squares of a large feature do not fit into four bytes.
    precise = features.double()
    if kind == "standard":
        center, scale = precise.mean(dim=0), precise.std(dim=0, correction=0)
    elif kind == "maximum":
        center, scale = torch.zeros_like(precise[0]), precise.abs().amax(dim=0)
    else:
        center = precise.amin(dim=0)
        scale = precise.amax(dim=0) - center
    # Rounding leaves a constant feature with a tiny deviation.
    negligible = torch.finfo(features.dtype).eps * precise.abs().amax(dim=0)
    scale = torch.where(scale > negligible, scale, torch.ones_like(scale))
    return FeatureScaling(center.to(features.dtype), scale.to(features.dtype))
