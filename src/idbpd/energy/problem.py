"""A problem under an energy budget: the oracle of another problem with weights W, and L + 1 constraints more.

    min over (W, S) of f(W)   subject to   g(W) <= 0,
        phi(w_u) <= s_u                  for every layer u = 1..L   (see `sparsity`)
        energy(S, h) <= budget           for all hardware h in a set (see `hardware`)

S are numbers of non-zero weights, kept as shares of the weights of their layers: the point of the solver is the weights
and then these shares, between one weight and all of them. All L + 1 constraints are in units of the budget: 0.01 is one
percent of the energy that is allowed. So a multiplier is what the objective gains if that part of the budget grows by
its whole, and where s_u is between its bounds the multiplier of layer u is that of the energy times the share of cost
of its weights on the worst hardware in the nominal one: all layers pay the same price.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from idbpd.energy.hardware import Counts, Hardware, counted
from idbpd.energy.layers import Layer
from idbpd.energy.sparsity import bend, measure, slope
from idbpd.energy.stretched_metric import StretchedMetric
from idbpd.errors import ConfigurationError
from idbpd.optim import Oracle
from idbpd.optim.bounds import Bounds
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers, PreconditionedOracle

SHARES = "shares of weights"  # the name of S in the point of the solver


class EnergyModel:
    """The energy of a network by the number of non-zero weights in each layer."""

    def __init__(self, layers: Sequence[Layer], hardware: Hardware) -> None:
        """Count what each weight, and what all activations cost."""
        self.layers, self.hardware = tuple(layers), hardware
        self.sizes = torch.tensor([layer.size for layer in layers], dtype=torch.float64)
        self.of_weight = counted([Counts.of_weight(layer.uses) for layer in layers])  # (layers, operations)
        self.fixed = counted([Counts.of_activations(layer.activations) for layer in layers]).sum(0)

    def counts(self, numbers: Tensor) -> Tensor:
        """The operations with so many non-zero weights per layer."""
        return self.fixed + numbers.to(torch.float64) @ self.of_weight

    def worst_energy(self, numbers: Tensor) -> float:
        """The energy on the worst hardware, in picojoules."""
        return self.hardware.worst_energy(self.counts(numbers)).item()

    @property
    def dense(self) -> float:
        """The energy of the network with all weights, on the worst hardware."""
        return self.worst_energy(self.sizes)

    @property
    def smallest_share(self) -> float:
        """The smallest budget that leaves one weight to every layer, as a share of the dense network's energy."""
        return self.worst_energy(torch.ones_like(self.sizes)) / self.dense

    def budget(self, share: float) -> float:
        """A budget in picojoules; a `ConfigurationError` says why a share cannot be one."""
        if not 0 < share <= 1:
            raise ConfigurationError(
                f"parameter 'energy.budget' = {share:g} is not valid: it is a share of the dense network's energy, "
                "above 0 and at most 1"
            )
        if share < self.smallest_share:
            raise ConfigurationError(
                f"parameter 'energy.budget' = {share:g} is below what one weight per layer costs: the smallest budget "
                f"that this network can reach is {self.smallest_share:.3g}"
            )
        return share * self.dense

    def start(self, budget: float) -> Tensor:
        """Shares of weights that use the budget: the same share in each layer, but one weight at least."""
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            fits = self.worst_energy(self._at_least_one(middle) * self.sizes) <= budget
            low, high = (middle, high) if fits else (low, middle)
        return self._at_least_one(low)

    def _at_least_one(self, share: float) -> Tensor:
        return torch.full_like(self.sizes, share).clamp(min=1 / self.sizes)


class EnergyConstrained:
    """The problem of ``inner`` under an energy budget. Its constraints come first, then layers, then the energy."""

    def __init__(
        self,
        inner: Oracle,
        model: EnergyModel,
        budget: float,
        delta: float,
        like: Tensor,
        around: Tensor | None = None,
    ) -> None:
        """``budget`` is in picojoules, ``delta`` the size at which a weight counts as half a weight.

        ``like`` has the length, the precision and the device of a flat point of ``inner``. ``around`` are multipliers
        of all constraints, on the host, as far as they are known from a similar problem: for the metric at the start.
        """
        self._inner, self._model, self._budget, self._delta = inner, model, budget, delta
        self._length = len(like)
        self._around = torch.zeros(self.constraint_count, dtype=torch.float64) if around is None else around
        self._last: tuple[Tensor, Evaluation] | None = None
        self._places = [layer.places.to(like.device) for layer in model.layers]
        # What a weight of each layer costs by the table, in units of the budget.
        self._prices = model.of_weight @ torch.tensor(model.hardware.costs, dtype=torch.float64) / budget
        shares = torch.stack([1 / model.sizes, torch.ones_like(model.sizes)]).to(like)
        free = torch.full_like(like, torch.inf)
        self._bounds = Bounds(torch.cat([-free, shares[0]]), torch.cat([free, shares[1]]))

    @property
    def constraint_count(self) -> int:
        """Those of the other problem, one per layer, and the energy."""
        return self._inner.constraint_count + len(self._model.layers) + 1

    @property
    def bounds(self) -> Bounds:
        """Every layer keeps at least one weight, and has no more than all."""
        return self._bounds

    def start(self, x: Tensor) -> Maximisers:
        """Where the other problem starts; and the hardware of the table."""
        inner = self._inner.start(x[: self._length])
        table = torch.tensor(self._model.hardware.costs, dtype=torch.float64)
        return Maximisers(inner.y, (*inner.w, *(None for _ in self._places), table))

    @torch.no_grad()
    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        """One evaluation of the other problem; the worst hardware is exact."""
        weights, numbers = x[: self._length], x[self._length :].cpu().to(torch.float64) * self._model.sizes
        of_inner = self._inner.constraint_count
        inner = self._inner.evaluate(weights, Maximisers(warm.y, warm.w[:of_inner]), steps)
        self._last = (x, inner)
        found = torch.stack([measure(weights[places], self._delta).cpu() for places in self._places])
        counts = self._model.counts(numbers)
        worst = self._model.hardware.worst(counts)
        energy = (counts @ worst) / self._budget - 1
        g = torch.cat([inner.g, torch.cat([self._prices * (found - numbers), energy.reshape(1)]).to(inner.g.device)])
        # Sums of float64 over numbers that are exact in the precision of x.
        rounding = torch.finfo(torch.float64).eps * len(x)
        maximisers = Maximisers(inner.maximisers.y, (*inner.maximisers.w, *(None for _ in self._places), worst))
        error = torch.cat([inner.error, inner.error.new_full((len(self._places) + 1,), rounding)])
        return Evaluation(x, inner.f, g, maximisers, error)

    @torch.no_grad()
    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """The gradients of the other problem, of the measures, and of the energy on the worst hardware (Danskin)."""
        x, length, layers = evaluation.x, self._length, len(self._places)
        of_inner = self._inner.constraint_count
        gradients = self._inner.differentiate(self._inner_at(evaluation))
        f = torch.cat([gradients.f, gradients.f.new_zeros(layers)])
        g = gradients.g.new_zeros((of_inner + layers + 1, len(x)))
        g[:of_inner, :length] = gradients.g
        for at, places in enumerate(self._places):
            price = self._prices[at].item()
            g[of_inner + at, places] = price * slope(x[places], self._delta)
            g[of_inner + at, length + at] = -price * self._model.sizes[at].item()
        worst = evaluation.maximisers.w[-1]
        assert worst is not None  # the energy has a worst case
        per_share = self._model.of_weight @ worst.cpu() * self._model.sizes / self._budget
        g[-1, length:] = per_share.to(g)
        return Gradients(f, g)

    @torch.no_grad()
    def initial_metric(self, x: Tensor) -> InitialMetric | None:
        """What the other problem knows about its curvature at ``x``, and what the measures bend there.

        The Lagrangian is nearly linear in the levels.
        """
        if not isinstance(self._inner, PreconditionedOracle):
            return None
        weights, of_inner = x[: self._length], self._inner.constraint_count
        inner = self._inner.evaluate(weights, self._inner.start(weights))
        known = self._inner.metric_at(inner, self._around[:of_inner])
        if known is None:
            known = self._inner.initial_metric(weights)
        if known is None:
            return None
        bends = torch.zeros_like(weights)
        for at, places in enumerate(self._places):
            factor = (self._around[of_inner + at] * self._prices[at]).item()
            bends[places] = factor * bend(weights[places], self._delta).abs()
        return StretchedMetric.with_curvature(known, bends)

    def metric_at(self, evaluation: Evaluation, multipliers: Tensor) -> InitialMetric | None:  # noqa: ARG002
        """That of the start stays. Known after ten steps, and taken again every 20, it cost 1667 evaluations, not 710
        (multi_digits, one seed).
        """
        return None

    def _inner_at(self, evaluation: Evaluation) -> Evaluation:
        """The evaluation of the other problem is kept: its oracle may not have to pass the data again."""
        if self._last is not None and self._last[0] is evaluation.x:
            return self._last[1]
        count, (y, w) = self._inner.constraint_count, evaluation.maximisers
        return Evaluation(
            evaluation.x[: self._length],
            evaluation.f,
            evaluation.g[:count],
            Maximisers(y, w[:count]),
            evaluation.error[: 1 + count],
        )


def energy_used(model: EnergyModel, weights: Tensor, delta: float) -> float:
    """The worst-case energy by the smooth measure, in picojoules; a layer has at least one weight."""
    measured = torch.stack([measure(weights[layer.places], delta).cpu() for layer in model.layers])
    return model.worst_energy(measured.clamp(min=1.0))
