"""What a method may ask about a problem, and nothing more.

A method never sees data, callables or sets. It sees a flat point ``x`` and an oracle that answers with the worst-case
values ``f(x) = max_y phi(x, y)`` and ``g_i(x) = max_w psi_i(x, w)`` and, on request, with their gradients. Values and
gradients are asked separately, because a line search needs many values and few gradients.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from idbpd.optim.bounds import Bounds, Sides
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.knowledge import Known


class AscentSteps(NamedTuple):
    """How many steps of projected gradient ascent to spend on y and on each w (N_k and M_k of Algorithm 1)."""

    objective: int
    constraints: int
    accelerated: bool = False


class Maximisers(NamedTuple):
    """The current worst cases, of the objective and of each constraint; None for a term without a set."""

    y: Tensor | None
    w: tuple[Tensor | None, ...]

    @classmethod
    def of(cls, points: Sequence[Tensor | None]) -> "Maximisers":
        """The worst case of every term, the objective's first."""
        return cls(points[0], tuple(points[1:]))

    @property
    def points(self) -> tuple[Tensor | None, ...]:
        """The worst case of every term, the objective's first."""
        return (self.y, *self.w)


class Evaluation(NamedTuple):
    """The worst-case values at one point, float64 whatever the dtype of ``x``: a search compares small differences."""

    x: Tensor  # (d,)
    f: Tensor  # scalar, float64
    g: Tensor  # (c,), float64
    maximisers: Maximisers
    error: Tensor  # (1 + c,), float64: by how much f and each g may miss the true maximum, rounding inside included
    equalities: int = 0  # how many of g, the last ones, are equalities: they shall be zero


def sizes(g: Tensor, equalities: int) -> Tensor:
    """How far each constraint is from being met, below zero where an inequality is met with room: |g_i| for the last
    ``equalities``, g_i for the others.
    """
    if equalities == 0:
        return g
    c = g.numel() - equalities
    return torch.cat([g[:c], g[c:].abs()])


class Gradients(NamedTuple):
    """Gradients of f and of every g_i at one point (Danskin: the partial gradients in x at the maximisers)."""

    f: Tensor  # (d,)
    g: Tensor  # (c, d)

    @classmethod
    def of(cls, rows: Tensor) -> "Gradients":
        """The gradient of every term, the objective's first."""
        return cls(rows[0], rows[1:])

    @property
    def rows(self) -> Tensor:
        """(1 + c, d) the gradient of every term, the objective's first."""
        return torch.cat([self.f.unsqueeze(0), self.g])


class Oracle(Protocol):
    """A problem as a method sees it. `Problem` becomes one through autograd; the multi-task engine is one directly."""

    @property
    def constraint_count(self) -> int:
        """The number c of constraints."""
        ...

    def start(self, x: Tensor) -> Maximisers:
        """The maximisers to warm-start from before anything is known (the centre of each set)."""
        ...

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        """Maximise from ``warm`` (exactly, or to the stated accuracy; exactly ``steps`` ascent steps when given) and
        evaluate.

        An oracle whose maximisers are exact in closed form may ignore ``steps``.
        """
        ...

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """Gradients at an evaluated point. May be asked of any evaluation; it may be cheaper for the latest one."""
        ...


@runtime_checkable
class PromptOracle(Oracle, Protocol):
    """An oracle that can also evaluate without waiting for the device, where the inner maxima allow it."""

    def attempt(self, x: Tensor, warm: Maximisers) -> Evaluation:
        """As `evaluate`, but without a wait. Where that takes a look at numbers, the error is infinite."""
        ...

    def complete(self, evaluation: Evaluation, warm: Maximisers) -> Evaluation:
        """An attempt whose infinite errors were made up for, with as many waits as it takes."""
        ...


@runtime_checkable
class CutOracle(Oracle, Protocol):
    """An oracle that also knows a constraint at a w of the method's choice: what methods of cuts need."""

    def cut_values(self, evaluation: Evaluation, constraint: int, points: Tensor) -> Tensor:
        """psi_constraint at an evaluated x and each row of ``points``; (rows,), float64."""
        ...

    def cut_gradient(self, evaluation: Evaluation, constraint: int, points: Tensor, factors: Tensor) -> Tensor:
        """The gradient in x of the same values, summed with ``factors``; (d,)."""
        ...


@runtime_checkable
class TermOracle(Oracle, Protocol):
    """An oracle that also knows its terms at a y or w of the method's choice, for worst cases that are not unique."""

    def linearise(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> tuple[Tensor, Tensor]:
        """The values (rows,), float64, and the gradients in x (rows, d) of a term at a point for each row. Term 0 is
        the objective, term 1 + i constraint i; the point is None for a term without a set.
        """
        ...

    def term_values(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> Tensor:
        """The values of `linearise` alone, without gradients."""
        ...

    def is_only_maximiser(self, x: Tensor, term: int, point: Tensor | None) -> Tensor:
        """Whether a maximiser of a term at ``x`` is known to have no equal; a scalar on the device of ``x``."""
        ...


@runtime_checkable
class PeakOracle(TermOracle, Protocol):
    """An oracle that also knows the local maximisers of some terms."""

    def tracked(self, x: Tensor, term: int, points: Sequence[Tensor | None]) -> list[Tensor] | None:
        """The local maximisers at ``x`` to which ``points``, perhaps those of another x, lead; None where the term is
        not known well enough.
        """
        ...

    def peaks(self, x: Tensor, term: int) -> list[Tensor]:
        """The local maximisers at ``x``, as far as they are known; the highest first."""
        ...


class LinearTerm(NamedTuple):
    """A term around one x that is linear in w over a box or a simplex: psi(x, middle) + slopes.(w - middle)."""

    middle: Tensor  # a point of the set
    halves: Tensor | None  # (n,) float64: half of each side of a box; None for a simplex
    slopes: Tensor  # (n,) float64: the derivatives in w
    rows: Tensor  # (n, d): the gradients of the slopes in x


@runtime_checkable
class LinearOracle(TermOracle, Protocol):
    """An oracle that also knows which terms are linear in y or w over a box, or over a simplex with many corners."""

    def is_linear(self, x: Tensor, term: int) -> bool:
        """Whether `linear` knows the term."""
        ...

    def linear(self, x: Tensor, term: int) -> LinearTerm | None:
        """The term at every point of its set; None where it is not linear, or too large."""
        ...


@runtime_checkable
class CurvedOracle(TermOracle, Protocol):
    """An oracle that also knows second derivatives."""

    def curvature(
        self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None], weights: Sequence[float]
    ) -> Tensor | None:
        """The Hessian in x, (d, d) float64, of the weighted sum of terms, each with its worst case at ``x``, which
        moves with x; None where it is not known.
        """
        ...


class Verification(NamedTuple):
    """What is known of the worst cases at a point."""

    evaluation: Evaluation  # with higher worst cases, where some were found; an error is infinite where one is local
    known: tuple[Known, ...]  # of every term, the objective first
    is_higher: bool  # whether a worst case is higher than was thought, by more than its tolerance
    remarks: tuple[str, ...] = ()  # which of the user's words a test has spoken against


@runtime_checkable
class VerifyingOracle(Oracle, Protocol):
    """An oracle that evaluates by local searches, and can say on request how its maxima are known."""

    def verify(self, evaluation: Evaluation, tolerance: float) -> Verification:
        """Look for the global worst cases at an evaluated point, each to within the tolerance."""
        ...

    def remembered(self) -> tuple[tuple[Tensor, ...], ...]:
        """The worst cases of every term that verifications have found: where evaluations look as well."""
        ...

    def remind(self, worst_cases: tuple[tuple[Tensor, ...], ...]) -> None:
        """Take over what another run had found."""
        ...


@runtime_checkable
class BoundedOracle(Oracle, Protocol):
    """An oracle that may have bounds on x. It is asked for points within them only."""

    @property
    def bounds(self) -> Bounds | None:
        """The bounds; None where there are none."""
        ...


@runtime_checkable
class PreconditionedOracle(Oracle, Protocol):
    """An oracle that knows something about its curvature without being asked for gradients."""

    def initial_metric(self, x: Tensor) -> InitialMetric | None:
        """The metric to begin with from ``x``, on its device and in its dtype; None: the identity, for all the run."""
        ...

    def metric_at(self, evaluation: Evaluation, multipliers: Tensor) -> InitialMetric | None:
        """The metric at an evaluated point, asked for now and then; None: that of the start stays.

        ``multipliers`` are on the host.
        """
        ...


def bounds_of(oracle: Oracle) -> Bounds | None:
    """The bounds on x of an oracle, if there are any."""
    return oracle.bounds if isinstance(oracle, BoundedOracle) else None


def sides_at(oracle: Oracle, x: Tensor) -> Sides | None:
    """Which variables of a point are at bounds; None where there are no bounds."""
    bounds = bounds_of(oracle)
    return None if bounds is None else bounds.sides(x)


def attempt(oracle: Oracle, x: Tensor, warm: Maximisers) -> Evaluation:
    """Evaluate without waiting, if the oracle can."""
    return oracle.attempt(x, warm) if isinstance(oracle, PromptOracle) else oracle.evaluate(x, warm)


def complete(oracle: Oracle, evaluation: Evaluation, warm: Maximisers) -> Evaluation:
    """Make up for what an attempt could not do; ``evaluation`` itself where the oracle did all that it can."""
    return oracle.complete(evaluation, warm) if isinstance(oracle, PromptOracle) else evaluation
