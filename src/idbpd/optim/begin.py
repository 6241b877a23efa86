"""How a run begins: what is refused, the oracle of a problem, the units of the run, and its first state."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from idbpd.optim.counted_oracle import CountedOracle, counted
from idbpd.optim.deadline import Deadline
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.inner.equalities import equality_counts
from idbpd.optim.layout import Layout
from idbpd.optim.method import Method, RevisingMethod
from idbpd.optim.oracle import Oracle, VerifyingOracle, bounds_of
from idbpd.optim.problem import Problem
from idbpd.optim.scale_choice import choose_scaling
from idbpd.optim.scaling import Scaling
from idbpd.optim.solution import RunState, empty_history, first_best
from idbpd.optim.stated_bounds import PerVariable, flat_bounds, flat_values

OracleOf = Callable[[Scaling], CountedOracle]  # the oracle of a problem in given units


def check_settings(
    method: Method[Any],
    max_steps: int,
    tolerance: float,
    effort: float,
    time_limit: float,
    relative_tolerance: float | None,
) -> None:
    """Reject what could only fail later."""
    if isinstance(method, type):
        raise TypeError(f"method must be an instance such as {method.__name__}(), got the class {method.__name__}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 0:
        raise ValueError(f"max_steps must be a non-negative integer, got {max_steps!r}")
    if not 0 < tolerance < math.inf:
        raise ValueError(f"tolerance must be positive and finite, got {tolerance}")
    if relative_tolerance is not None and not 0 < relative_tolerance < math.inf:
        raise ValueError(f"relative_tolerance must be positive and finite, got {relative_tolerance}")
    if not 0 < effort < math.inf:
        raise ValueError(f"effort must be positive and finite, got {effort}")
    if not time_limit > 0:
        raise ValueError(f"time_limit must be a positive number of seconds, got {time_limit}")


class Units(NamedTuple):
    """What the user says about units."""

    x_scale: Tensor | None
    is_relative: bool


def oracles(problem: Problem | Oracle, layout: Layout, x: Tensor, effort: float, deadline: Deadline) -> OracleOf:
    """How to make the oracle of a problem in given units."""
    if not isinstance(problem, Problem):
        return lambda _: counted(problem, deadline)
    bounds = flat_bounds(problem.bounds, layout, x)
    counts = equality_counts(problem, layout, x if bounds is None else bounds.project(x))

    def oracle_of(scaling: Scaling) -> CountedOracle:
        return counted(AutogradOracle(problem, layout, effort, scaling, counts, bounds, deadline), deadline)

    return oracle_of


def flat_sizes(x_scale: PerVariable, layout: Layout, x: Tensor) -> Tensor | None:
    """The user's sizes of variables as a flat vector."""
    if x_scale is None:
        return None
    sizes = flat_values("x_scale", x_scale, layout, x, 1.0)
    wrong = (~((sizes > 0) & sizes.isfinite())).nonzero().flatten().tolist()
    if wrong:
        raise ValueError(
            f"x_scale must be positive and finite, but {layout.place(wrong[0])} has {float(sizes[wrong[0]])}"
        )
    return sizes


def refuse_what_the_method_cannot(method: Method[Any], oracle: Oracle, problem: Problem | Oracle, units: Units) -> None:
    """Say so, where a method takes no equalities, no bounds or no units."""
    can_scale = isinstance(oracle, VerifyingOracle) and isinstance(method, RevisingMethod)
    for name, is_given in (("x_scale", units.x_scale is not None), ("relative_tolerance", units.is_relative)):
        if is_given and not can_scale:
            raise ValueError(f"{name} is for a Problem and the method IDBPD(), not for {type(method).__name__}")
    if getattr(method, "takes_equalities_and_bounds", False):
        return
    name = type(method).__name__
    if bounds_of(oracle) is not None:
        raise ValueError(f"method {name} takes no bounds on x; use IDBPD(), or write a bound as a Constraint")
    if isinstance(problem, Problem) and problem.equalities:
        raise ValueError(f"method {name} takes no equalities; use IDBPD(), or write h(x) = 0 as two Constraints")


def begun(
    method: Method[Any],
    oracle: CountedOracle,
    oracle_of: OracleOf,
    x: Tensor,
    units: Units,
) -> tuple[RunState, CountedOracle]:
    """The run at its start, and the oracle in the units of the run."""
    bounds = bounds_of(oracle)
    x = x if bounds is None else bounds.project(x)
    first = method.init(oracle, x)
    scaling = Scaling()
    # Algorithm 1 takes a problem as it is; an oracle that is no `Problem` answers for its own units.
    if isinstance(oracle, VerifyingOracle) and isinstance(method, RevisingMethod):
        counts = oracle.evaluations, oracle.gradients
        scaling = choose_scaling(oracle, x, method.iterate(first), *units)
        oracle.evaluations, oracle.gradients = counts  # a few looks around, not counted, as verifications are not
    if not scaling.is_plain:
        oracle = oracle_of(scaling)
        first = method.init(oracle, scaling.inward(x))
    iterate = method.iterate(first)
    empty = empty_history(oracle.constraint_count - iterate.evaluation.equalities)
    return RunState(0, first, first_best(iterate), empty, oracle.evaluations, oracle.gradients, (), scaling), oracle


def resumed(state: RunState, method: Method[Any], oracle: CountedOracle, x: Tensor) -> RunState:
    """``state`` after a check that it fits; the counts go on from there."""
    if state.best.x.shape != x.shape:
        raise ValueError(
            f"state has {state.best.x.numel()} variables, but x0 has {x.numel()}: it is of another problem"
        )
    if state.best.x.dtype != x.dtype:
        raise ValueError(f"state has dtype {state.best.x.dtype}, but x0 has {x.dtype}")
    if len(state.best.maximisers) - 1 != oracle.constraint_count:
        raise ValueError(
            f"state has {len(state.best.maximisers) - 1} constraints, but the problem has {oracle.constraint_count}"
        )
    if not isinstance(state.method, method.state_type):
        raise ValueError(
            f"state is that of another method: it has a {type(state.method).__name__}, "
            f"{type(method).__name__} needs a {method.state_type.__name__}"
        )
    oracle.evaluations, oracle.gradients = state.evaluations, state.gradients
    if isinstance(oracle, VerifyingOracle):
        oracle.remind(state.worst_cases)
    return state
