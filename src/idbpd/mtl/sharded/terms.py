"""The worst cases of tasks whose samples are spread over ranks, and their gradients, as one rank computes them."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from idbpd.mtl.criterion import Criteria
from idbpd.mtl.data import MultiTaskData
from idbpd.mtl.layer_moments import LayerMoments, Moments, random_signs, spread_of
from idbpd.mtl.passes import sees_every_row, weighted_cotangent
from idbpd.mtl.pieces import loss_values
from idbpd.mtl.problem import passes_of
from idbpd.mtl.sharded.balls import ChiSquareBalls, EntropyBalls
from idbpd.mtl.sharded.dealing import Shard
from idbpd.mtl.sharded.lines import Lines
from idbpd.mtl.sharded.reduction import Reduction
from idbpd.mtl.sharded.worst_weights import Equal, Finder, Gathered, Mixtures, Samples, Weighted
from idbpd.mtl.worst_cases import ChiSquare, GroupMixture, KullbackLeibler, Mean, Penalty, Share, WorstCase

_FINDERS: tuple[tuple[tuple[type, ...], type[Finder]], ...] = (
    ((Share, Penalty), Lines),
    ((ChiSquare,), ChiSquareBalls),
    ((KullbackLeibler,), EntropyBalls),
    ((GroupMixture,), Mixtures),
    ((Mean,), Equal),
)


# Samples of all tasks together, whose losses go to every rank. A short message costs a rank half a millisecond, and a
# threshold takes a dozen of them; 8 bytes for each of so many samples take one, and all weights are found in 2 ms.
FEW = 1 << 16


class ShardedTerms:
    """The worst case of each of some tasks. All ranks call the same methods in the same order with the same point."""

    def __init__(
        self,
        network: nn.Module,
        whole: MultiTaskData,
        shard: Shard,
        tasks: Sequence[str],
        criteria: Criteria,
        over: Reduction,
        *,
        gathered: bool | None = None,
    ) -> None:
        """``whole`` has all tasks with all their samples; of its features only the number counts.

        ``gathered`` finds all weights as those of unknown worst cases are found: from the losses of all samples. None:
        where these are few.
        """
        here = tuple(shard.data[name] for name in tasks)
        self._over = over
        self._losses = tuple(criteria(whole[name]).loss for name in tasks)
        self._targets = tuple(task.targets.T.contiguous() for task in here)
        self._passes = passes_of(network, shard.data, here)
        self._sizes = tuple(whole[name].size for name in tasks)
        self._dense = self._passes.device.type != "cpu"
        samples = [
            Samples(criteria(whole[name]).worst_case, shard.positions[whole.position(name)], whole[name].size)
            for name in tasks
        ]
        are_few = sum(self._sizes) <= FEW
        self._finders = _finders(samples, gathered=are_few if gathered is None else gathered)
        every_row = sees_every_row([whole[name] for name in tasks], len(whole.features))
        self._moments = LayerMoments(network, shard.data, here, every_row=every_row, add=over.add)
        self._positions = tuple(of_task.positions for of_task in samples)
        self._last: tuple[Tensor, tuple[Tensor, ...], list[Tensor]] | None = None

    @torch.no_grad()
    def values(self, x: Tensor) -> Tensor:
        """The worst case of each task at a point, over the samples of all ranks: (tasks,), float64, on the host."""
        x = x.to(self._passes.device)
        logits = self._passes.forward(x)
        losses = [
            loss_values(loss, of_task, targets, dim=0).double()
            for loss, of_task, targets in zip(self._losses, logits, self._targets, strict=True)
        ]
        weighted: list[Weighted] = [Weighted(losses[0])] * len(losses)
        for finder, places in self._finders:
            found = finder.find([losses[place] for place in places], self._over)
            for place, worst in zip(places, found, strict=True):
                weighted[place] = worst
        self._last = x, logits, [one.weights for one in weighted]
        return self._valued(losses, weighted)

    def _valued(self, losses: Sequence[Tensor], weighted: Sequence[Weighted]) -> Tensor:
        """The worst cases, added up over all ranks where a rank does not know them."""
        values = torch.tensor([math.nan if one.value is None else one.value for one in weighted], dtype=torch.float64)
        unknown = [place for place, one in enumerate(weighted) if one.value is None]
        if unknown:
            numbers = []
            for place in unknown:
                of_task = weighted[place].weights
                numbers += [of_task @ losses[place], (of_task - 1 / self._sizes[place]).square().sum()]
            sums = self._over.sums(numbers).view(-1, 2)
            for place, (weighted_loss, square) in zip(unknown, sums.tolist(), strict=True):
                values[place] = weighted_loss - weighted[place].per_square * square - weighted[place].price
        return values

    @torch.no_grad()
    def gradients(self) -> Tensor:
        """The gradient of each worst case at the last point: (tasks, len(x)); those of all tasks in one message."""
        assert self._last is not None  # there is no gradient before a value
        cotangents = [
            weighted_cotangent(loss, logits, targets, weights.to(logits), dense=self._dense)
            for loss, logits, targets, weights in zip(
                self._losses, self._last[1], self._targets, self._last[2], strict=True
            )
        ]
        return self._over.add(self._passes.backward(cotangents))

    def moments_of_features(self, x: Tensor) -> Moments:
        """The moments that are known before the first step, over the samples of all ranks, in one message."""
        return Moments(self._moments.of_features(x), {})

    @torch.no_grad()
    def moments(self, factors: Sequence[float]) -> Moments:
        """The moments at the last point, with a factor for each task; one number and the moments are sent."""
        assert self._last is not None
        x, all_logits, all_weights = self._last
        spreads, counts = [], []
        for at, (logits, weights) in enumerate(zip(all_logits, all_weights, strict=True)):
            counts.append(factors[at] * weights.to(logits))
            # The signs of these samples in one process, so that the metric is the same for any number of ranks.
            signs = random_signs(len(logits), self._sizes[at])[:, :, self._positions[at].cpu()]
            spreads.append(spread_of(self._losses[at], logits, self._targets[at], counts[-1], signs))
        return self._moments.at(x, spreads, counts)

    @property
    def support(self) -> Tensor:
        """How many samples have weight at the last point: (tasks,), on the host."""
        assert self._last is not None
        return self._over.sums([weights.count_nonzero() for weights in self._last[2]])


def _finders(samples: Sequence[Samples], *, gathered: bool) -> list[tuple[Finder, list[int]]]:
    """One finder for all tasks with a worst case of the same kind, and which tasks these are."""
    by_kind: dict[type[Finder], list[int]] = {}
    for place, of_task in enumerate(samples):
        kind = Gathered if gathered else _finder_of(of_task.worst_case)
        by_kind.setdefault(kind, []).append(place)
    return [(kind([samples[place] for place in places]), places) for kind, places in by_kind.items()]  # type: ignore[call-arg]


def _finder_of(worst_case: WorstCase) -> type[Finder]:
    for kinds, finder in _FINDERS:
        if isinstance(worst_case, kinds):
            return finder
    return Gathered
