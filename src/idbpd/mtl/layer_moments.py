"""Second moments of the inputs of each layer of a network, and of the derivatives in its outputs.

They are sums over samples: if these are dealt to several ranks, each rank adds up its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.losses import Loss
from idbpd.mtl.network import SharedNetwork
from idbpd.mtl.passes import Cotangent, in_union, union_of
from idbpd.mtl.pieces import pieces
from idbpd.mtl.sparse_rows import SparseRows, add_moments

# With more inputs (or outputs) than this, only the mean squares are taken, and no products of pairs: a square matrix of
# this size is inverted within half a second.
MOST_PAIRED = 2000
ROWS_AT_A_TIME = 1024
NEAR = 1e-2  # the step in the logits for a second derivative by differences, large enough for float32


class Layer(NamedTuple):
    """A linear layer, or a convolution as one: where its weights are in the flat vector."""

    module: nn.Linear | nn.Conv2d
    begin: int
    outputs: int
    inputs: int
    bias: int | None


class Moments(NamedTuple):
    """Sums of products by the number of the layer, float64: (size, size), or (size,) where only squares are taken."""

    right: Mapping[int, Tensor]  # of the layer's inputs, with a one for the bias
    left: Mapping[int, Tensor]  # of the derivatives in its outputs


class LayerMoments:
    """The moments in the linear layers and convolutions of a network, for the samples of some tasks."""

    def __init__(
        self,
        network: nn.Module,
        data: MultiTaskData,
        tasks: Sequence[Task],
        *,
        every_row: bool | None = None,
        add: Callable[[Tensor], Tensor] = lambda tensor: tensor,
    ) -> None:
        """``add`` sums over all ranks; ``every_row`` (see `union_of`) is then decided from the samples of all ranks."""
        self._network, self._features, self._add = network, data.features, add
        self._heads = [data.position(task.name) for task in tasks]
        self._union = union_of(tasks, len(data.features), every_row=every_row)
        self._trained = _trained(network)
        self._layers = layers_of(network)
        self._fed: set[int] | None = None

    @torch.no_grad()
    def of_features(self, x: Tensor) -> dict[int, Tensor]:
        """The moments of layers whose inputs depend on no weight: they never change."""
        sums = {at: _zeros(self._sizes(at)[0], x) for at in sorted(self._fed_by_features(x))}
        if isinstance(self._features, SparseRows) and isinstance(self._network, SharedNetwork):
            for moments in sums.values():  # its first layer takes the features as they are
                add_moments(self._features, self._union.rows, moments)
            return self._over_all(sums, x)

        def watch(at: int, entering: Tensor) -> None:
            if at in sums:
                sums[at] += _products(_inputs(self._layers[at], entering), None, sums[at])

        with self._watched(watch):
            for block in self._blocks():
                functional_call(self._network, self._weights(x), (self._rows(block, x),))
        return self._over_all(sums, x)

    def _over_all(self, sums: dict[int, Tensor], x: Tensor) -> dict[int, Tensor]:
        """The means over the samples of all ranks."""
        size, *added = self._added([torch.full((1,), self._union.size).to(_zeros(1, x)), *sums.values()])
        return {at: of_layer / size.view(()) for at, of_layer in zip(sums, added, strict=True)}

    def at(self, x: Tensor, spreads: Sequence[Tensor], weights: Sequence[Tensor]) -> Moments:
        """The moments at weights ``x``, without those of `of_features`.

        ``spreads`` (labels, samples) per task are roots of the curvature in the logits, with random signs, and
        ``weights`` (samples,) how much each sample counts.
        """
        known = self._fed_by_features(x)
        leaves = {name: weight.clone().requires_grad_(True) for name, weight in self._weights(x).items()}
        sizes = [self._sizes(at) for at in range(len(self._layers))]
        right, left = [_zeros(inputs, x) for inputs, _ in sizes], [_zeros(outputs, x) for _, outputs in sizes]
        is_seen = [False] * len(sizes)
        slopes = [in_union(self._union, task, Cotangent(None, spread)) for task, spread in enumerate(spreads)]
        counted = sum(in_union(self._union, task, Cotangent(None, w.unsqueeze(0))) for task, w in enumerate(weights))
        assert isinstance(counted, Tensor)  # there is at least one task
        counted = (counted / self._add(counted.sum()))[0]
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
        # A layer is used by all ranks or by none: each has samples of every task.
        seen = [at for at in range(len(sizes)) if is_seen[at]]
        inside = [at for at in seen if at not in known]
        added = self._added([*(right[at] for at in inside), *(left[at] for at in seen)])
        return Moments(
            dict(zip(inside, added[: len(inside)], strict=True)), dict(zip(seen, added[len(inside) :], strict=True))
        )

    def _added(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The sums over all ranks, in one message."""
        flat = self._add(torch.cat([tensor.flatten() for tensor in tensors]))
        pieces = torch.split(flat, [tensor.numel() for tensor in tensors])
        return [piece.view_as(tensor) for piece, tensor in zip(pieces, tensors, strict=True)]

    def _fed_by_features(self, x: Tensor) -> set[int]:
        if self._fed is not None:
            return self._fed
        found: dict[int, bool] = {}
        leaves = {name: weight.clone().requires_grad_(True) for name, weight in self._weights(x).items()}

        def watch(at: int, entering: Tensor) -> None:
            found[at] = found.get(at, True) and not entering.requires_grad

        with self._watched(watch), torch.enable_grad():
            functional_call(self._network, leaves, (self._features[:2].to(x.dtype),))
        self._fed = {at for at, is_fed in found.items() if is_fed}
        return self._fed

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
        """Pass the input of each layer to ``watch``, and keep its output in ``outputs``."""

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


def random_signs(labels: int, samples: int) -> Tensor:
    """(2, labels, samples), int8: the same signs for the same samples, on one rank or on several."""
    signs = torch.empty(2 * labels * samples, dtype=torch.int8)
    generator = torch.Generator().manual_seed(0)
    for piece in pieces(len(signs)):  # drawn one by one: the same as all at once
        signs[piece] = torch.randint(2, (piece.stop - piece.start,), generator=generator) * 2 - 1
    return signs.view(2, labels, samples)


def spread_of(loss: Loss, logits: Tensor, targets: Tensor, weights: Tensor, signs: Tensor | None = None) -> Tensor:
    """Roots of a loss's second derivatives in each logit, (labels, samples), times those of the weights, with random
    signs: the expectation of products of two labels is zero, so that one pass through the network serves all labels.
    ``signs`` are those of `random_signs` for these samples.
    """
    signs = random_signs(*logits.shape) if signs is None else signs
    spread = torch.empty_like(logits)
    for p in pieces(logits.shape[1]):
        ways, root_signs = signs[:, :, p].to(logits)
        at, truth = logits[:, p], targets[:, p]
        # All logits of a sample are moved at once, each either way: what others contribute cancels on the average.
        change = loss.slope(at + NEAR * ways, truth, dim=0) - loss.slope(at - NEAR * ways, truth, dim=0)
        bends = (ways * change / (2 * NEAR)).clamp(min=0)
        spread[:, p] = root_signs * (weights[p] * bends).sqrt()
    return spread


def layers_of(network: nn.Module) -> list[Layer]:
    """The trained layers whose input can be written as a table: linear ones, and plain convolutions."""
    begins, begin = {}, 0
    found = []
    for name, parameter in _trained(network).items():
        begins[name] = begin
        begin += parameter.numel()
    for name, module in network.named_modules():
        prefix = f"{name}." if name else ""
        if isinstance(module, nn.Linear) or (isinstance(module, nn.Conv2d) and _is_plain(module)):
            at, bias = begins.get(f"{prefix}weight"), begins.get(f"{prefix}bias")
            if at is not None:
                outputs = len(module.weight)
                found.append(Layer(module, at, outputs, module.weight.numel() // outputs, bias))
    return found


def _trained(network: nn.Module) -> dict[str, nn.Parameter]:
    return {name: one for name, one in network.named_parameters() if one.requires_grad}


def _is_plain(module: nn.Conv2d) -> bool:
    return module.groups == 1 and module.padding_mode == "zeros" and not isinstance(module.padding, str)


def _inputs(layer: Layer, entering: Tensor) -> Tensor:
    """The inputs of a layer, (samples, places, inputs), with a one for the bias."""
    module = layer.module
    if isinstance(module, nn.Conv2d):
        assert not isinstance(module.padding, str)
        places = functional.unfold(entering, module.kernel_size, module.dilation, module.padding, module.stride)
        table = places.transpose(1, 2)
    else:
        table = entering.reshape(len(entering), -1, layer.inputs)
    return table if layer.bias is None else torch.cat([table, table.new_ones(*table.shape[:2], 1)], dim=2)


def _outputs(layer: Layer, leaving: Tensor) -> Tensor:
    """The outputs of a layer, one row per sample and place."""
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
