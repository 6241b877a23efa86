"""What the one loop asks of every method: a first state, the next state, and the iterate inside a state."""

from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from torch import Tensor

from idbpd.optim.kkt import Residuals
from idbpd.optim.oracle import Evaluation, Gradients, Oracle


class Status(Enum):
    """How a run ended."""

    CONVERGED = "converged"  # all three KKT residuals are at most the tolerance, and the worst cases are known
    LOCAL = "local"  # the same residuals, but some worst case is only the highest that was found
    MAX_STEPS = "max_steps"  # the steps ran out, or no further step makes progress
    INFEASIBLE = "infeasible"  # stuck at a point that minimises the violation without removing it
    DIVERGED = "diverged"  # a value became infinite or undefined, or the objective is unbounded below


class Verdict(NamedTuple):
    """A method's own reason to end."""

    status: Status
    reason: str


class Iterate(NamedTuple):
    """One point of a run with everything that is judged about it."""

    evaluation: Evaluation
    gradients: Gradients
    multipliers: Tensor  # (c,) float64
    residuals: Residuals
    worst: float | None = None  # residual, where the host knows it already; infinite where a number is not finite


S = TypeVar("S")


class Method(Protocol[S]):
    """A way to go from one iterate to the next. A method never owns the loop."""

    @property
    def state_type(self) -> type[S]:
        """What its states are: a run is resumed by the method that left it."""
        ...

    @property
    def check_every(self) -> int:
        """After how many steps the loop may look at the numbers; looking waits for the device."""
        ...

    @property
    def picks_by_residual(self) -> bool:
        """Whether the iterate with the smallest worst residual is returned, instead of the best feasible one."""
        ...

    def init(self, oracle: Oracle, x: Tensor) -> S:
        """The state at the start."""
        ...

    def step(self, oracle: Oracle, state: S, tolerance: float) -> S:
        """The state one step later."""
        ...

    def iterate(self, state: S) -> Iterate:
        """The iterate inside ``state``."""
        ...

    def verdict(self, state: S) -> Verdict | None:
        """Why the method cannot go on, or None."""
        ...


@runtime_checkable
class RevisingMethod(Protocol):
    """A method that can go on from a point whose worst cases turn out to be higher."""

    def revisit(self, oracle: Oracle, state: Any, evaluation: Evaluation, tolerance: float) -> Any:
        """The state with its point evaluated anew."""
        ...
