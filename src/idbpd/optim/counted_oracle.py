"""An oracle that counts what is asked of it: what a benchmark compares besides seconds.

It can do what the oracle inside can do and no more, so that a method may ask by `isinstance` for what it needs.
"""

from collections.abc import Sequence

from torch import Tensor

from idbpd.optim.bounds import Bounds
from idbpd.optim.deadline import Deadline
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.oracle import (
    AscentSteps,
    BoundedOracle,
    CurvedOracle,
    CutOracle,
    Evaluation,
    Gradients,
    LinearOracle,
    LinearTerm,
    Maximisers,
    Oracle,
    PeakOracle,
    PreconditionedOracle,
    PromptOracle,
    TermOracle,
    Verification,
    VerifyingOracle,
)


class CountedOracle:
    """Counts evaluations and gradients."""

    def __init__(self, oracle: Oracle, deadline: Deadline | None = None) -> None:
        """Nothing is counted yet. No evaluation begins after the deadline."""
        self._oracle, self._deadline = oracle, deadline or Deadline()
        self.evaluations = 0
        self.gradients = 0

    @property
    def constraint_count(self) -> int:
        """The number of constraints."""
        return self._oracle.constraint_count

    def start(self, x: Tensor) -> Maximisers:
        """As of the oracle."""
        return self._oracle.start(x)

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        """One evaluation."""
        self._deadline.check()
        self.evaluations += 1
        return self._oracle.evaluate(x, warm, steps)

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """One gradient."""
        self.gradients += 1
        return self._oracle.differentiate(evaluation)


class _WithCuts(CountedOracle):
    """Of a `CutOracle`; the gradient of a sum of cuts counts as one."""

    _oracle: CutOracle

    def cut_values(self, evaluation: Evaluation, constraint: int, points: Tensor) -> Tensor:
        return self._oracle.cut_values(evaluation, constraint, points)

    def cut_gradient(self, evaluation: Evaluation, constraint: int, points: Tensor, factors: Tensor) -> Tensor:
        self.gradients += 1
        return self._oracle.cut_gradient(evaluation, constraint, points, factors)


class _WithTerms(CountedOracle):
    """Of a `TermOracle`; a term at one point counts as one gradient, its value alone as nothing, as that of a cut."""

    _oracle: TermOracle

    def linearise(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> tuple[Tensor, Tensor]:
        self.gradients += len(terms)
        return self._oracle.linearise(x, terms, points)

    def term_values(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> Tensor:
        return self._oracle.term_values(x, terms, points)

    def is_only_maximiser(self, x: Tensor, term: int, point: Tensor | None) -> Tensor:
        return self._oracle.is_only_maximiser(x, term, point)


class _WithPeaks(CountedOracle):
    """Of a `PeakOracle`; what it costs is part of an evaluation."""

    _oracle: PeakOracle

    def tracked(self, x: Tensor, term: int, points: Sequence[Tensor | None]) -> list[Tensor] | None:
        self._deadline.check()
        return self._oracle.tracked(x, term, points)

    def peaks(self, x: Tensor, term: int) -> list[Tensor]:
        self._deadline.check()
        return self._oracle.peaks(x, term)


class _WithLinearTerms(CountedOracle):
    """Of a `LinearOracle`; each slope counts as one gradient."""

    _oracle: LinearOracle

    def is_linear(self, x: Tensor, term: int) -> bool:
        return self._oracle.is_linear(x, term)

    def linear(self, x: Tensor, term: int) -> LinearTerm | None:
        self._deadline.check()
        found = self._oracle.linear(x, term)
        self.gradients += 0 if found is None else found.slopes.numel()
        return found


class _WithCurvature(CountedOracle):
    """Of a `CurvedOracle`."""

    _oracle: CurvedOracle

    def curvature(
        self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None], weights: Sequence[float]
    ) -> Tensor | None:
        return self._oracle.curvature(x, terms, points, weights)


class _WithAttempts(CountedOracle):
    """Of a `PromptOracle`; completing an attempt is part of its evaluation."""

    _oracle: PromptOracle

    def attempt(self, x: Tensor, warm: Maximisers) -> Evaluation:
        self._deadline.check()
        self.evaluations += 1
        return self._oracle.attempt(x, warm)

    def complete(self, evaluation: Evaluation, warm: Maximisers) -> Evaluation:
        return self._oracle.complete(evaluation, warm)


class _WithVerification(CountedOracle):
    """Of a `VerifyingOracle`; verifications are few, and are not counted."""

    _oracle: VerifyingOracle

    def verify(self, evaluation: Evaluation, tolerance: float) -> Verification:
        return self._oracle.verify(evaluation, tolerance)

    def remembered(self) -> tuple[tuple[Tensor, ...], ...]:
        return self._oracle.remembered()

    def remind(self, worst_cases: tuple[tuple[Tensor, ...], ...]) -> None:
        self._oracle.remind(worst_cases)


class _WithBounds(CountedOracle):
    """Of a `BoundedOracle`."""

    _oracle: BoundedOracle

    @property
    def bounds(self) -> Bounds | None:
        return self._oracle.bounds


class _WithInitialMetric(CountedOracle):
    """Of a `PreconditionedOracle`; asked for now and then, and not counted."""

    _oracle: PreconditionedOracle

    def initial_metric(self, x: Tensor) -> InitialMetric | None:
        return self._oracle.initial_metric(x)

    def metric_at(self, evaluation: Evaluation, multipliers: Tensor) -> InitialMetric | None:
        return self._oracle.metric_at(evaluation, multipliers)


_ABILITIES = (
    (CutOracle, _WithCuts),
    (TermOracle, _WithTerms),
    (PeakOracle, _WithPeaks),
    (LinearOracle, _WithLinearTerms),
    (CurvedOracle, _WithCurvature),
    (PromptOracle, _WithAttempts),
    (VerifyingOracle, _WithVerification),
    (BoundedOracle, _WithBounds),
    (PreconditionedOracle, _WithInitialMetric),
)


def counted(oracle: Oracle, deadline: Deadline | None = None) -> CountedOracle:
    """``oracle`` with its calls counted, and with its own abilities."""
    kinds = tuple(kind for protocol, kind in _ABILITIES if isinstance(oracle, protocol))
    made: CountedOracle = type("CountedOracle", (*kinds, CountedOracle), {})(oracle, deadline)
    return made
