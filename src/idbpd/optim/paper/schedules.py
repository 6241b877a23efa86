"""Step-dependent parameters of Algorithm 1: functions from the step k to a value, made by documented factories."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

Schedule: TypeAlias = Callable[[int], float]


def constant(value: float, name: str = "value") -> Schedule:
    """The same value at every step: the step size gamma of the experiments. Errors call it ``name``."""
    _positive(name, value)
    return lambda _: value


def barrier(alpha: float, exponent: float = 1.001) -> Schedule:
    """The barrier weight of the experiments, alpha_k = alpha / (k + 2)^exponent."""
    _positive("alpha", alpha)
    _positive("exponent", exponent)
    return lambda k: alpha / (k + 2) ** exponent


def theorem_barrier(horizon: int, omega: float = 0.001) -> Schedule:
    """The barrier weight of Theorem 2, alpha_k = T^{1/3} / (k + 2)^{1 + omega}, for a run of ``horizon`` = T steps."""
    _positive("horizon", horizon)
    _positive("omega", omega)
    return barrier(horizon ** (1 / 3), 1 + omega)


def theorem_step_size(horizon: int, factor: float = 1.0, largest: float = math.inf) -> Schedule:
    """The step size of Theorem 2, min(factor / T^{1/3}, largest); ``largest`` stands for 1 / (L_f + L_xy)."""
    _positive("horizon", horizon)
    _positive("factor", factor)
    _positive("largest", largest)
    return constant(min(factor / horizon ** (1 / 3), largest))


@final
@dataclass(frozen=True)
class LogarithmicSteps:
    """k -> factor * ceil(log(k + 2)) steps of ascent: N_k with factor 2 and M_k with factor 10 in the experiments."""

    factor: int

    def __post_init__(self) -> None:
        """Algorithm 1 wants at least one step."""
        _positive("factor", self.factor)

    def __call__(self, k: int) -> int:
        """The number of steps at step ``k``."""
        return self.factor * math.ceil(math.log(k + 2))


@final
@dataclass(frozen=True)
class TheoremConstraintSteps:
    """M_k of Theorem 2: factor * max(max(1, 1/(2 theta)) log T, log(T [psi]_+^{4 theta - 2})) steps of ascent on w.

    The second term counts only while zeta = [psi]_+ ||grad psi|| > 0. It depends on the value of psi, so each step then
    waits for the device once; with ``theta`` = 1/2 it is log T, and nothing is waited for. ``factor`` stands for 1 / (1
    - delta_w).
    """

    horizon: int
    theta: float = 0.5
    factor: float = 1.0
    most: int = 10_000

    def __post_init__(self) -> None:
        """Check the ranges of Theorem 2."""
        _positive("horizon", self.horizon)
        _positive("factor", self.factor)
        _positive("most", self.most)
        if not 0 < self.theta < 1:
            raise ValueError(f"theta must lie strictly between 0 and 1, got {self.theta}")

    @property
    def needs_violation(self) -> bool:
        """Whether the number of steps depends on the value of psi."""
        return self.theta != 0.5

    def __call__(self, violation: float | None) -> int:
        """The number of steps when [psi]_+ is ``violation``; None when zeta = 0 or when it does not matter."""
        steps = max(1.0, 1 / (2 * self.theta)) * math.log(self.horizon)
        if violation is not None and violation > 0:
            steps = max(steps, math.log(self.horizon) + (4 * self.theta - 2) * math.log(violation))
        return max(1, min(math.ceil(self.factor * steps), self.most))


def _positive(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{name} must be positive, got {value}")
