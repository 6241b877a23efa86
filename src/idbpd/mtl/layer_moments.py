"""What goes into the layers of a network: its second moments A, with a one for the bias, and the metric they give.

The Hessian of the losses in the weights W of a linear layer is, for each of its outputs, a multiple of A weighted by
sample. So a step in W is worth about as much in every direction once it is multiplied by the inverse of A.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from idbpd.optim.initial_metric import LayeredMetric, LayerMetric

DAMPING = 1e-2  # share of the mean second moment that is added to each: directions hardly seen are not known
# Inputs of a layer beyond which only their own moments are taken, not those of pairs: a square matrix of this size is
# inverted within half a second.
MOST_INPUTS = 2000
ROWS_AT_A_TIME = 1024


class _Layer(NamedTuple):
    """A linear layer, or a convolution as one: where its weights are in the flat vector."""

    module: nn.Linear | nn.Conv2d
    begin: int
    outputs: int
    inputs: int
    bias: int | None


def metric_of_layers(network: nn.Module, features: Tensor, rows: Tensor | None, x: Tensor) -> LayeredMetric | None:
    """The metric for a network with the weights ``x`` on these rows of the features; None where no layer is known."""
    layers = _fed_by_features(network, list(_layers(network)), features, x)
    if not layers:
        return None
    moments = _moments(network, layers, features, rows, x)
    return LayeredMetric(
        tuple(
            LayerMetric(layer.begin, layer.outputs, layer.inputs, layer.bias, _inverse(of_layer).to(x.dtype))
            for layer, of_layer in zip(layers, moments, strict=True)
        )
    )


def _inverse(moments: Tensor) -> Tensor:
    """The inverse of the damped moments, without waiting for a device."""
    if moments.dim() == 1:
        return 1 / (moments + DAMPING * moments.mean())
    damped = moments + DAMPING * moments.diagonal().mean() * torch.eye(len(moments)).to(moments)
    return torch.cholesky_inverse(torch.linalg.cholesky_ex(damped)[0])


def _layers(network: nn.Module) -> Iterator[_Layer]:
    """The layers whose input is known to be a table, as far as their weights are trained and their own."""
    begins, begin = {}, 0
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            begins[name] = begin
            begin += parameter.numel()
    for name, module in network.named_modules():
        prefix = f"{name}." if name else ""
        if isinstance(module, nn.Linear) or (isinstance(module, nn.Conv2d) and _is_plain(module)):
            at, bias = begins.get(f"{prefix}weight"), begins.get(f"{prefix}bias")
            if at is not None:
                outputs = len(module.weight)
                yield _Layer(module, at, outputs, module.weight.numel() // outputs, bias)


def _fed_by_features(network: nn.Module, layers: list[_Layer], features: Tensor, x: Tensor) -> list[_Layer]:
    """The layers whose input does not depend on any weight."""
    found: dict[int, bool] = {}
    leaves = {name: weight.clone().requires_grad_(True) for name, weight in _weights(network, features, x).items()}

    def watch(at: int, entering: Tensor) -> None:
        found[at] = found.get(at, True) and not entering.requires_grad

    with _watched([layer.module for layer in layers], watch), torch.enable_grad():
        functional_call(network, leaves, (features[:2].to(x.dtype),))
    return [layer for at, layer in enumerate(layers) if found.get(at, False)]


def _weights(network: nn.Module, features: Tensor, x: Tensor) -> dict[str, Tensor]:
    trained = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
    pieces = torch.split(x.detach().to(features.device), [parameter.numel() for parameter in trained.values()])
    return {name: piece.view_as(trained[name]) for name, piece in zip(trained, pieces, strict=True)}


def _is_plain(module: nn.Conv2d) -> bool:
    return module.groups == 1 and module.padding_mode == "zeros" and not isinstance(module.padding, str)


@torch.no_grad()
def _moments(
    network: nn.Module, layers: list[_Layer], features: Tensor, rows: Tensor | None, x: Tensor
) -> list[Tensor]:
    """Sums over the places of a convolution, means over the samples; float64 on the device of ``x``."""
    count = len(features) if rows is None else len(rows)
    sums = [_zeros(layer, x) for layer in layers]
    weights = _weights(network, features, x)

    def watch(at: int, entering: Tensor) -> None:
        table = _table(layers[at], entering)
        product = table.square().sum(dim=0) if sums[at].dim() == 1 else table.T @ table
        sums[at] += product.to(x.device, torch.float64)

    with _watched([layer.module for layer in layers], watch):
        for begin in range(0, count, ROWS_AT_A_TIME):
            block = slice(begin, begin + ROWS_AT_A_TIME)
            some = features[block] if rows is None else features.index_select(0, rows[block])
            functional_call(network, weights, (some.to(x.dtype),))
    return [of_layer / count for of_layer in sums]


def _zeros(layer: _Layer, x: Tensor) -> Tensor:
    size = layer.inputs + (layer.bias is not None)
    return torch.zeros((size, size) if size <= MOST_INPUTS else (size,), dtype=torch.float64, device=x.device)


def _table(layer: _Layer, entering: Tensor) -> Tensor:
    """What goes into a layer in rows as long as those of its weights, with a one for the bias."""
    module = layer.module
    if isinstance(module, nn.Conv2d):
        assert not isinstance(module.padding, str)
        places = functional.unfold(entering, module.kernel_size, module.dilation, module.padding, module.stride)
        entering = places.transpose(1, 2)
    table = entering.reshape(-1, layer.inputs)
    return table if layer.bias is None else torch.cat([table, table.new_ones(len(table), 1)], dim=1)


@contextmanager
def _watched(modules: list[nn.Linear | nn.Conv2d], watch: Callable[[int, Tensor], None]) -> Iterator[None]:
    """Show what goes into each of the modules."""

    def hook_of(at: int) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        return lambda _, arguments: watch(at, arguments[0])

    handles = [module.register_forward_pre_hook(hook_of(at)) for at, module in enumerate(modules)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
