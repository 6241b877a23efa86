"""Gradient descent on the sum of objective and constraints."""

from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from torch import Tensor

from idbpd.baselines.method_entry import Look, MethodEntry, Option
from idbpd.optim.kkt import residuals
from idbpd.optim.method import Iterate, Verdict
from idbpd.optim.oracle import Evaluation, Gradients, Oracle
from idbpd.optim.state_file import register


class PlainDescentState(NamedTuple):
    """A point with its values and gradients."""

    evaluation: Evaluation
    gradients: Gradients


@final
@dataclass(frozen=True)
class PlainDescent:
    """x - rate (grad f + sum_i grad g_i)."""

    rate: float = 0.1

    def __post_init__(self) -> None:
        """Reject a rate without meaning."""
        if not self.rate > 0:
            raise ValueError(f"rate must be positive, got {self.rate}")

    @property
    def state_type(self) -> type[PlainDescentState]:
        """What its states are."""
        return PlainDescentState

    @property
    def check_every(self) -> int:
        """At every step."""
        return 1

    @property
    def picks_by_residual(self) -> bool:
        """The best feasible point is wanted."""
        return False

    def init(self, oracle: Oracle, x: Tensor) -> PlainDescentState:
        """The start."""
        evaluation = oracle.evaluate(x, oracle.start(x))
        return PlainDescentState(evaluation, oracle.differentiate(evaluation))

    def step(self, oracle: Oracle, state: PlainDescentState, tolerance: float) -> PlainDescentState:
        """One step of descent."""
        x = state.evaluation.x - self.rate * (state.gradients.f + state.gradients.g.sum(dim=0))
        evaluation = oracle.evaluate(x, state.evaluation.maximisers)
        return PlainDescentState(evaluation, oracle.differentiate(evaluation))

    def iterate(self, state: PlainDescentState) -> Iterate:
        """The iterate with multipliers of one."""
        evaluation, gradients = state
        multipliers = torch.ones_like(evaluation.g)
        return Iterate(evaluation, gradients, multipliers, residuals(evaluation.g, gradients, multipliers))

    def verdict(self, state: PlainDescentState) -> Verdict | None:
        """It never gives up by itself."""
        return None


register(PlainDescentState)

ENTRIES = (
    MethodEntry(
        "plain_descent",
        PlainDescent,
        options={"rate": Option(0.1, above=0)},
        grid={"rate": (0.01, 0.1)},
        look=Look("plain descent", "#ff00ff", "--"),
    ),
)
