"""What is known about the curvature of the losses in the weights of a network, layer by layer: two small matrices each.

The Hessian in the weights of a linear layer is about B x A (K-FAC: Martens and Grosse 2015). A has the second moments
of what goes into the layer, with a one for its bias, B those of the derivatives behind it. For a layer that takes the
features A is known before the first step, and that alone is what a run begins with: B and the moments inside of the
network, taken at random weights, make the first steps worse. Both are taken once the run is under way.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.losses import Loss
from idbpd.mtl.passes import Cotangent, in_union, union_of
from idbpd.optim.initial_metric import LayeredMetric, LayerMetric

# Shares of the mean moment that are added to each: directions that are hardly seen are not known.
OF_FEATURES, INSIDE = 1e-2, 1e-1
# Inputs or outputs of a layer beyond which only their own moments are taken, not those of pairs: a square matrix of
# this size is inverted within half a second.
MOST_PAIRED = 2000
ROWS_AT_A_TIME = 1024
NEAR = 1e-2  # a difference of logits for a second derivative, in float32 too
LEAST_FACTOR = 0.2  # of a task in the moments: one that has no multiplier yet may get one soon


class _Layer(NamedTuple):
    """A linear layer, or a convolution as one: where its weights are in the flat vector."""

    module: nn.Linear | nn.Conv2d
    begin: int
    outputs: int
    inputs: int
    bias: int | None


class LayerCurvature:
    """The curvature of the losses of some tasks in the linear layers and convolutions of a network."""

    def __init__(self, network: nn.Module, data: MultiTaskData, tasks: Sequence[Task], decay: float) -> None:
        """``decay`` is the weight decay, whose curvature is the same in all weights."""
        self._network, self._features, self._decay = network, data.features, decay
        self._heads = [data.position(task.name) for task in tasks]
        self._union = union_of(tasks, len(data.features))
        self._trained = {name: one for name, one in network.named_parameters() if one.requires_grad}
        self._layers: list[_Layer] = list(_layers(network, self._trained))
        self._of_features: dict[int, Tensor] | None = None

    def at_start(self, x: Tensor) -> LayeredMetric | None:
        """The metric before the first step, from weights ``x``; None where no layer takes the features."""
        known = self._moments_of_features(x)
        layers = tuple(
            self._metric(at, _inverse(moments, OF_FEATURES * _mean(moments)).to(x.dtype), None)
            for at, moments in known.items()
        )
        return LayeredMetric(layers) if layers else None

    def at(self, x: Tensor, spreads: Sequence[Tensor], weights: Sequence[Tensor]) -> LayeredMetric | None:
        """The metric at weights ``x``.

        ``spreads`` (labels, samples) per task are roots of the curvature in the logits, with random signs, and
        ``weights`` (samples,) how much each sample counts.
        """
        known = self._moments_of_features(x)
        if not known:
            return None
        right, left, is_seen = self._moments(x, spreads, weights, known)
        made = []
        for at in range(len(self._layers)):
            if not is_seen[at]:
                continue
            behind = left[at]
            entering, damping = (known[at], OF_FEATURES) if at in known else (right[at], INSIDE)
            # The curvature of the decay is the same in all directions: each side has what the other makes of it.
            made.append(
                self._metric(
                    at,
                    _inverse(entering, damping * _mean(entering) + self._decay / _mean(behind)).to(x.dtype),
                    _inverse(behind, INSIDE * _mean(behind) + self._decay / _mean(entering)).to(x.dtype),
                )
            )
        return LayeredMetric(tuple(made))

    def _metric(self, at: int, right: Tensor, left: Tensor | None) -> LayerMetric:
        return LayerMetric(*self._layers[at][1:], right, left)

    @torch.no_grad()
    def _moments_of_features(self, x: Tensor) -> dict[int, Tensor]:
        """Of the layers whose input depends on no weight: they never change."""
        if self._of_features is None:
            fed = self._fed_by_features(x)
            sums = {at: _zeros(self._sizes(at)[0], x) for at in fed}

            def watch(at: int, entering: Tensor) -> None:
                if at in sums:
                    sums[at] += _products(_inputs(self._layers[at], entering), None, sums[at])

            with self._watched(watch):
                for block in self._blocks():
                    functional_call(self._network, self._weights(x), (self._rows(block, x),))
            self._of_features = {at: of_layer / self._union.size for at, of_layer in sums.items()}
        return self._of_features

    def _fed_by_features(self, x: Tensor) -> set[int]:
        found: dict[int, bool] = {}
        leaves = {name: weight.clone().requires_grad_(True) for name, weight in self._weights(x).items()}

        def watch(at: int, entering: Tensor) -> None:
            found[at] = found.get(at, True) and not entering.requires_grad

        with self._watched(watch), torch.enable_grad():
            functional_call(self._network, leaves, (self._features[:2].to(x.dtype),))
        return {at for at, is_fed in found.items() if is_fed}

    def _moments(
        self, x: Tensor, spreads: Sequence[Tensor], weights: Sequence[Tensor], known: dict[int, Tensor]
    ) -> tuple[list[Tensor], list[Tensor], list[bool]]:
        """Of what goes into each layer, of the derivatives behind it, and whether the layer is used at all."""
        leaves = {name: weight.clone().requires_grad_(True) for name, weight in self._weights(x).items()}
        sizes = [self._sizes(at) for at in range(len(self._layers))]
        right, left = [_zeros(inputs, x) for inputs, _ in sizes], [_zeros(outputs, x) for _, outputs in sizes]
        is_seen = [False] * len(sizes)
        slopes = [in_union(self._union, task, Cotangent(None, spread)) for task, spread in enumerate(spreads)]
        counted = sum(in_union(self._union, task, Cotangent(None, w.unsqueeze(0))) for task, w in enumerate(weights))
        assert isinstance(counted, Tensor)  # there is at least one task
        counted = (counted / counted.sum())[0]
        for block in self._blocks():
            behind: list[tuple[int, Tensor]] = []
            roots = counted[block].sqrt()

            def watch(at: int, entering: Tensor, roots: Tensor = roots) -> None:
                if at not in known:
                    right[at] += _products(_inputs(self._layers[at], entering.detach()), roots, right[at])

            with self._watched(watch, behind), torch.enable_grad():
                logits = functional_call(self._network, leaves, (self._rows(block, x),))
                total = sum(
                    (logits[head] * slope[:, block].T).sum() for head, slope in zip(self._heads, slopes, strict=True)
                )
                assert isinstance(total, Tensor)
                parts = torch.autograd.grad(total, [output for _, output in behind], materialize_grads=True)
            for (at, _), part in zip(behind, parts, strict=True):
                table = _outputs(self._layers[at], part)
                left[at] += _products(table, None, left[at]) * (len(part) / max(len(table), 1))
                is_seen[at] = True
        return right, left, is_seen

    def _sizes(self, at: int) -> tuple[int, int]:
        layer = self._layers[at]
        return layer.inputs + (layer.bias is not None), layer.outputs

    def _weights(self, x: Tensor) -> dict[str, Tensor]:
        pieces = torch.split(x.detach().to(self._features.device), [one.numel() for one in self._trained.values()])
        return {name: piece.view_as(self._trained[name]) for name, piece in zip(self._trained, pieces, strict=True)}

    def _rows(self, block: slice, x: Tensor) -> Tensor:
        rows = self._union.rows
        return (self._features[block] if rows is None else self._features.index_select(0, rows[block])).to(x.dtype)

    def _blocks(self) -> Iterator[slice]:
        for begin in range(0, self._union.size, ROWS_AT_A_TIME):
            yield slice(begin, min(begin + ROWS_AT_A_TIME, self._union.size))

    @contextmanager
    def _watched(
        self, watch: Callable[[int, Tensor], None], outputs: list[tuple[int, Tensor]] | None = None
    ) -> Iterator[None]:
        """Show what goes into each layer, and keep what comes out of it."""

        def hook_of(at: int) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
            def hook(_: nn.Module, entering: tuple[Tensor, ...], leaving: Tensor) -> None:
                watch(at, entering[0])
                if outputs is not None:
                    outputs.append((at, leaving))

            return hook

        handles = [layer.module.register_forward_hook(hook_of(at)) for at, layer in enumerate(self._layers)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def spread_of(loss: Loss, logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Roots of a loss's second derivatives in each logit, (labels, samples), times those of the weights, with random
    signs: the expectation of products of two labels is zero, so that one pass through the network serves all labels.
    """
    generator = torch.Generator().manual_seed(0)
    ways, signs = (torch.randint(2, (2, *logits.shape), generator=generator) * 2 - 1).to(logits)
    # All logits of a sample are moved at once, each either way: what others contribute cancels on the average.
    change = loss.slope(logits + NEAR * ways, targets, dim=0) - loss.slope(logits - NEAR * ways, targets, dim=0)
    bends = (ways * change / (2 * NEAR)).clamp(min=0)
    spread: Tensor = signs * (weights * bends).sqrt()
    return spread


def _layers(network: nn.Module, trained: dict[str, nn.Parameter]) -> Iterator[_Layer]:
    """The layers whose input can be written as a table, as far as their weights are trained."""
    begins, begin = {}, 0
    for name, parameter in trained.items():
        begins[name] = begin
        begin += parameter.numel()
    for name, module in network.named_modules():
        prefix = f"{name}." if name else ""
        if isinstance(module, nn.Linear) or (isinstance(module, nn.Conv2d) and _is_plain(module)):
            at, bias = begins.get(f"{prefix}weight"), begins.get(f"{prefix}bias")
            if at is not None:
                outputs = len(module.weight)
                yield _Layer(module, at, outputs, module.weight.numel() // outputs, bias)


def _is_plain(module: nn.Conv2d) -> bool:
    return module.groups == 1 and module.padding_mode == "zeros" and not isinstance(module.padding, str)


def _inputs(layer: _Layer, entering: Tensor) -> Tensor:
    """What goes into a layer, (samples, places, inputs), with a one for the bias."""
    module = layer.module
    if isinstance(module, nn.Conv2d):
        assert not isinstance(module.padding, str)
        places = functional.unfold(entering, module.kernel_size, module.dilation, module.padding, module.stride)
        table = places.transpose(1, 2)
    else:
        table = entering.reshape(len(entering), -1, layer.inputs)
    return table if layer.bias is None else torch.cat([table, table.new_ones(*table.shape[:2], 1)], dim=2)


def _outputs(layer: _Layer, leaving: Tensor) -> Tensor:
    """What comes out of a layer, one row per sample and place."""
    if isinstance(layer.module, nn.Conv2d):
        return leaving.flatten(2).transpose(1, 2).reshape(-1, layer.outputs)
    return leaving.reshape(-1, layer.outputs)


def _zeros(size: int, x: Tensor) -> Tensor:
    shape = (size, size) if size <= MOST_PAIRED else (size,)
    return torch.zeros(shape, dtype=torch.float64, device=x.device)


def _products(table: Tensor, roots: Tensor | None, like: Tensor) -> Tensor:
    """Sums of products of two columns, or of squares; ``roots`` are those of the weights of samples."""
    table = table if roots is None else table * roots.view(-1, *(1 for _ in table.shape[1:])).to(table)
    table = table.reshape(-1, table.shape[-1])
    return (table.T @ table if like.dim() == 2 else table.square().sum(dim=0)).to(like)


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
