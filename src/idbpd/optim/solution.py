"""What a run hands back, what it remembers of its steps, and which of its iterates counts as the best."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from idbpd.optim.kkt import KKT, Residuals
from idbpd.optim.knowledge import Known
from idbpd.optim.method import Iterate, Status
from idbpd.optim.scaling import Scaling


class Record(NamedTuple):
    """One step as a callback sees it. Numbers are tensors: reading them waits for the device, keeping them does not."""

    step: int
    f: Tensor
    g: Tensor  # (c,)
    multipliers: Tensor  # (c,)
    kkt: Residuals  # with equalities and bounds, where there are any
    evaluations: int


class History(NamedTuple):
    """The records of a run, one row per step from the start (step 0) on; on the host."""

    step: Tensor  # int64, like evaluations; the others are float64
    f: Tensor
    g: Tensor  # (rows, c)
    multipliers: Tensor  # (rows, c)
    stationarity: Tensor
    infeasibility: Tensor
    slackness: Tensor
    evaluations: Tensor

    @property
    def worst(self) -> Tensor:
        """The largest of the three residuals per step."""
        return torch.stack([self.stationarity, self.infeasibility, self.slackness]).amax(0)

    def extended(self, records: Sequence[Record]) -> "History":
        """The history with further records: one transfer from the device per quantity, however many they are."""
        if not records:
            return self
        kkt = torch.stack([torch.stack(tuple(record.kkt)) for record in records]).cpu()
        rows = History(
            torch.tensor([record.step for record in records]),
            torch.stack([record.f for record in records]).cpu(),
            torch.stack([record.g for record in records]).cpu(),
            torch.stack([record.multipliers for record in records]).cpu(),
            kkt[:, 0],
            kkt[:, 1],
            kkt[:, 2],
            torch.tensor([record.evaluations for record in records]),
        )
        return History(*(torch.cat([old, new]) for old, new in zip(self, rows, strict=True)))

    def until(self, last: int) -> "History":
        """The first rows, up to step ``last``."""
        return History(*(column[: last + 1] for column in self))


def empty_history(constraint_count: int) -> History:
    """No rows yet."""
    none, wide = torch.zeros(0, dtype=torch.float64), torch.zeros((0, constraint_count), dtype=torch.float64)
    count = torch.zeros(0, dtype=torch.int64)
    return History(count, none, wide, wide, none, none, none, count)


class Best(NamedTuple):
    """The iterate that would be returned if the run ended now."""

    x: Tensor
    maximisers: tuple[Tensor | None, ...]
    multipliers: Tensor
    f: Tensor
    infeasibility: Tensor
    worst: Tensor

    def or_better(self, iterate: Iterate, tolerance: float, by_residual: bool) -> "Best":
        """The better of the two, chosen on the device.

        By residual: the smaller worst residual; the first that meets the tolerance stays. Else: feasible before
        infeasible, then the lower f among the feasible and the smaller violation among the infeasible. An iterate that
        is not finite is never chosen.
        """
        new = first_best(iterate)
        if by_residual:
            better = (new.worst < self.worst) & ~(self.worst <= tolerance)
        else:
            feasible, was_feasible = new.infeasibility <= tolerance, self.infeasibility <= tolerance
            lower = (new.f < self.f) | ~was_feasible
            better = torch.where(feasible, lower, ~was_feasible & (new.infeasibility < self.infeasibility))
            # The same point evaluated again, perhaps with a worse worst case: the later evaluation counts.
            better = better | (new.x == self.x).all()
        better = (better | ~self.worst.isfinite()) & new.worst.isfinite() & new.f.isfinite()
        maximisers = tuple(
            None if one is None or other is None else torch.where(better, one, other)
            for one, other in zip(new.maximisers, self.maximisers, strict=True)
        )
        return Best(
            torch.where(better, new.x, self.x),
            maximisers,
            torch.where(better, new.multipliers, self.multipliers),
            torch.where(better, new.f, self.f),
            torch.where(better, new.infeasibility, self.infeasibility),
            torch.where(better, new.worst, self.worst),
        )


def first_best(iterate: Iterate) -> Best:
    """An iterate as the best, for want of another."""
    evaluation, found = iterate.evaluation, iterate.residuals
    points = evaluation.maximisers.points
    return Best(evaluation.x, points, iterate.multipliers, evaluation.f, found.infeasibility, found.worst)


class RunState(NamedTuple):
    """Everything a run needs to go on as if it had never stopped. ``method`` is the state of its method."""

    step: int
    method: Any
    best: Best
    history: History
    evaluations: int
    gradients: int
    worst_cases: tuple[tuple[Tensor, ...], ...] = ()  # of every term, those that were hard to find
    scaling: Scaling = Scaling()  # in which units the run computes


class Solution(NamedTuple):
    """The answer, with its certificate computed at ``x``.

    Where several worst cases attain the maximum of a term, and the certificate needs them, ``y`` (likewise each ``w``)
    is their mixture sum_j a_j y_j, if that is a worst case with the mixed gradient too, as it is for a term concave in
    y: grad phi(x, y) + sum_i lambda_i grad psi_i(x, w_i) is small then. If it is not, ``y`` is the worst case with the
    largest weight: one of those that ``kkt`` is about, and not enough to recompute its stationarity.
    """

    x: Tensor | dict[str, Tensor]  # in the shape of x0
    y: Tensor | None
    w: tuple[Tensor | None, ...]
    f: float
    g: Tensor  # (c,) float64
    multipliers: Tensor  # (c,) float64, non-negative
    kkt: KKT
    status: Status
    reason: str  # the status in words
    steps: int
    history: History
    evaluations: int  # how often the values were asked for
    gradients: int  # how often the gradients were asked for; one term at one further worst case counts as one
    inner_error: float  # by how much f and g may miss the true maxima; infinite where one of them is local
    state: RunState  # to go on from here, see `solve`
    known: tuple[Known, ...] = ()  # how the worst case of every term is known, the objective first
    h: Tensor = torch.zeros(0, dtype=torch.float64)  # the values of all equalities, float64
    equality_multipliers: Tensor = torch.zeros(0, dtype=torch.float64)  # one for each of h, of either sign
    # In the shape of x: positive at a low bound that holds a variable up, negative at a high one that holds it down.
    bound_multipliers: Tensor | dict[str, Tensor] | None = None
