"""The curvature of the losses in the weights of a network, approximated layer by layer by two small matrices.

The Hessian in the weights of a linear layer is about B x A (K-FAC: Martens and Grosse 2015). A has the second moments
of the layer's inputs, with a one for the bias, and B those of the derivatives in its outputs. For a layer that takes
the features, A is known before the first step. A run begins with that alone: B and the moments inside the network,
taken at random weights, make the first steps worse. They are used once the run is under way.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.layer_moments import Layer, LayerMoments, Moments, layers_of
from idbpd.optim.initial_metric import LayeredMetric, LayerMetric

# Damping, as a share of the mean moment: the samples say little about directions in which they hardly vary.
OF_FEATURES, INSIDE = 1e-2, 1e-1
LEAST_FACTOR = 0.2  # the least factor of a task in the moments: a task without a multiplier may get one soon


class LayerCurvature:
    """The curvature of the losses of some tasks in the linear layers and convolutions of a network."""

    def __init__(self, network: nn.Module, data: MultiTaskData, tasks: Sequence[Task], decay: float) -> None:
        """``decay`` is the weight decay, whose curvature is the same in all weights."""
        self._moments, self._layers, self._decay = LayerMoments(network, data, tasks), layers_of(network), decay
        self._of_features: dict[int, Tensor] | None = None

    def at_start(self, x: Tensor) -> LayeredMetric | None:
        """The metric before the first step, from weights ``x``; None where no layer takes the features."""
        return first_metric(self._layers, self._known(x), x)

    def at(self, x: Tensor, spreads: Sequence[Tensor], weights: Sequence[Tensor]) -> LayeredMetric | None:
        """The metric at weights ``x``; the other arguments are those of `LayerMoments.at`."""
        known = self._known(x)
        if not known:
            return None
        return later_metric(self._layers, known, self._moments.at(x, spreads, weights), self._decay, x)

    def _known(self, x: Tensor) -> dict[int, Tensor]:
        if self._of_features is None:
            self._of_features = self._moments.of_features(x)
        return self._of_features


def first_metric(layers: Sequence[Layer], of_features: Mapping[int, Tensor], x: Tensor) -> LayeredMetric | None:
    """The metric of the features' moments alone; None where there are none."""
    made = tuple(
        _metric(layers[at], _inverse(moments, OF_FEATURES * _mean(moments)).to(x), None)
        for at, moments in of_features.items()
    )
    return LayeredMetric(made) if made else None


def later_metric(
    layers: Sequence[Layer], of_features: Mapping[int, Tensor], moments: Moments, decay: float, x: Tensor
) -> LayeredMetric:
    """The metric of all moments and of weight decay."""
    made = []
    for at, behind in moments.left.items():
        entering, damping = (of_features[at], OF_FEATURES) if at in of_features else (moments.right[at], INSIDE)
        # Weight decay adds a multiple of the identity to the product: each factor gets it, divided by the other's mean.
        right = _inverse(entering, damping * _mean(entering) + decay / _mean(behind))
        left = _inverse(behind, INSIDE * _mean(behind) + decay / _mean(entering))
        made.append(_metric(layers[at], right.to(x), left.to(x)))
    return LayeredMetric(tuple(made))


def _metric(layer: Layer, right: Tensor, left: Tensor | None) -> LayerMetric:
    return LayerMetric(*layer[1:], right, left)


def _mean(moments: Tensor) -> Tensor:
    """The mean moment, positive."""
    own = moments.diagonal() if moments.dim() == 2 else moments
    mean = own.mean()
    return torch.where(mean > 0, mean, 1.0)


def _inverse(moments: Tensor, damping: Tensor) -> Tensor:
    """The inverse of the damped moments, without waiting for a device."""
    if moments.dim() == 1:
        return 1 / (moments + damping)
    damped = moments + damping * torch.eye(len(moments)).to(moments)
    return torch.cholesky_inverse(torch.linalg.cholesky_ex(damped)[0])
