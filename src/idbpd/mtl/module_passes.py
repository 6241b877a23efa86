"""The passes of any network, by autograd."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.passes import Cotangent, in_union, union_of

# Rows per pass, so that memory does not grow with the data. How much a row takes depends on the network.
ROWS_AT_A_TIME = 1024
ROWS_ON_AN_ACCELERATOR = 16384


class ModulePasses:
    """A network that gives one tensor of logits per task, on the tasks of a problem.

    The forward pass keeps no graph. A backward pass runs the rows with weight through the network a second time, with a
    graph, which gives the gradients of all tasks.
    """

    def __init__(self, network: nn.Module, data: MultiTaskData, tasks: Sequence[Task]) -> None:
        """Keep the network's structure; its weights come with every point."""
        self.device = data.features.device
        self._network = network
        self._features = data.features
        self._heads = [data.position(task.name) for task in tasks]
        self._union = union_of(tasks, len(data.features))
        trained = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
        self._shapes = {name: parameter.shape for name, parameter in trained.items()}
        self._rows_at_a_time = ROWS_AT_A_TIME if self.device.type == "cpu" else ROWS_ON_AN_ACCELERATOR
        self._x: Tensor | None = None

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Block by block, and only the logits are kept."""
        self._x = x
        weights = self._weights(x)
        with torch.no_grad():
            blocks = [self._logits(weights, block, x.dtype) for block in self._blocks(None)]
        return tuple(
            torch.cat([block[task].T for block in blocks], dim=1).index_select(1, places)
            for task, places in enumerate(self._union.positions)
        )

    def backward(self, cotangents: Sequence[Cotangent]) -> Tensor:
        """Pass the rows with weight a second time, now with a graph."""
        assert self._x is not None  # there is no backward pass before a forward pass
        leaves = {name: weight.detach().requires_grad_(True) for name, weight in self._weights(self._x).items()}
        gradients = self._x.new_zeros(len(cotangents), len(self._x))
        slopes = [in_union(self._union, task, cotangent) for task, cotangent in enumerate(cotangents)]
        for block in self._blocks(self._with_weight(cotangents)):
            with torch.enable_grad():
                logits = self._logits(leaves, block, self._x.dtype)
            for task, slope in enumerate(slopes):
                parts = torch.autograd.grad(
                    logits[task],
                    list(leaves.values()),
                    slope[:, block].T,
                    retain_graph=task + 1 < len(slopes),
                    materialize_grads=True,  # the other tasks' heads have no part in this one
                )
                gradients[task] += torch.cat([part.flatten() for part in parts])
        return gradients

    def _logits(self, weights: dict[str, Tensor], block: Tensor | slice, dtype: torch.dtype) -> list[Tensor]:
        rows = block if self._union.rows is None else self._union.rows[block]
        logits = functional_call(self._network, weights, (self._features[rows].to(dtype),))
        return [logits[head] for head in self._heads]

    def _with_weight(self, cotangents: Sequence[Cotangent]) -> Tensor | None:
        """The places in the union with weight in some task; None for all, where a task does not say which."""
        weighted = torch.zeros(self._union.size, dtype=torch.bool, device=self.device)
        for cotangent, places in zip(cotangents, self._union.positions, strict=True):
            if cotangent.samples is None:
                return None
            weighted[places[cotangent.samples]] = True
        return weighted.nonzero(as_tuple=True)[0]

    def _blocks(self, chosen: Tensor | None) -> Iterator[Tensor | slice]:
        count = self._union.size if chosen is None else len(chosen)
        for begin in range(0, count, self._rows_at_a_time):
            span = slice(begin, min(begin + self._rows_at_a_time, count))
            yield span if chosen is None else chosen[span]

    def _weights(self, x: Tensor) -> dict[str, Tensor]:
        pieces = torch.split(x, [shape.numel() for shape in self._shapes.values()])
        return {name: piece.view(shape) for (name, shape), piece in zip(self._shapes.items(), pieces, strict=True)}
