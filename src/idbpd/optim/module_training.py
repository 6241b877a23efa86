"""Train the parameters of a `torch.nn.Module` in place, under constraints, from a training script of one's own."""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.parameter import is_lazy

from idbpd.optim.method import Method
from idbpd.optim.problem import Constraint, Equality, Function, Problem
from idbpd.optim.quasi_newton.method import IDBPD
from idbpd.optim.sets import ConvexSet
from idbpd.optim.solution import Solution
from idbpd.optim.solve import Callback, solve

_DEFAULT = IDBPD()
SAME = 1e-4  # a relative difference of two calls that may be rounding, as on a GPU


def train_module(
    module: nn.Module,
    objective: Function,
    constraints: Sequence[Constraint | Function] = (),
    *,
    over: ConvexSet | None = None,
    concave: bool = False,
    equalities: Sequence[Equality] = (),
    method: Method[Any] = _DEFAULT,
    max_steps: int = 1000,
    tolerance: float = 1e-3,
    callback: Callback | None = None,
    effort: float = 1.0,
    time_limit: float = math.inf,
) -> Solution:
    """Minimise ``objective(module)`` subject to ``constraints``, and leave the module with the parameters found.

    ``objective`` and ``equalities`` are functions of the module. A constraint is a function of the module that shall
    be at most zero, or a `Constraint` whose ``psi(module, w)`` shall be so for all w of a set. With ``over``, the
    objective is the worst ``objective(module, y)`` over that set; ``concave`` states that it is concave in y. All other
    arguments are those of `solve`. Inside of these functions, the module is used as always: call it, or read its
    weights.

    Parameters that require a gradient are trained, all others and all buffers stay. The answer is that of `solve`:
    ``solution.x`` has the trained parameters by name, and ``solution.status`` says how it ended. If an error is raised,
    the module is as it was.

    >>> net = nn.Linear(2, 1).double()
    >>> points = torch.eye(2, dtype=torch.float64)
    >>> solution = train_module(
    ...     net,
    ...     lambda net: ((net(points) - 1) ** 2).sum(),
    ...     constraints=[lambda net: net.weight.square().sum() - 0.25],  # short weights
    ...     tolerance=1e-6,
    ... )
    >>> solution.status.name, net.weight.norm().item() <= 0.5 + 1e-6
    ('CONVERGED', True)
    """
    parameters = _trained(module)
    functions = _Functions(module)
    problem = Problem(
        objective=functions.of_x(objective, "objective"),
        over=over,
        constraints=[functions.constraint(one, at) for at, one in enumerate(_sequence(constraints, "constraints"))],
        concave=concave,
        equalities=[functions.of_x(h, f"equalities[{at}]") for at, h in enumerate(_sequence(equalities, "equalities"))],
    )
    start = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    with _same_buffers(module) as before:
        _require_repeatable(module, problem, start, before)
        solution = solve(problem, start, method, max_steps, tolerance, callback, effort=effort, time_limit=time_limit)
    assert isinstance(solution.x, dict)  # it has the structure of the start
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(solution.x[name])
    return solution


class _Called(nn.Module):
    """A function of a module as a module: `functional_call` then swaps the parameters for the whole function."""

    def __init__(self, module: nn.Module, function: Function) -> None:
        super().__init__()
        self.module, self._function = module, function

    def forward(self, *points: Tensor) -> Any:
        return self._function(self.module, *points)


class _Functions:
    """Functions of a module as functions of its parameters."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module

    def of_x(self, function: Function, name: str) -> Function:
        """The function of a point x: of a dictionary of parameters by name."""
        if not callable(function):
            raise TypeError(f"{name} must be a function of the module, got {type(function).__name__}")
        called = _Called(self._module, function)

        @functools.wraps(function)  # so that a wrong number of arguments is found from its own signature
        def of_parameters(x: Mapping[str, Tensor], *points: Tensor) -> Tensor:
            value: Tensor = functional_call(called, {f"module.{name}": tensor for name, tensor in x.items()}, points)
            return value

        return of_parameters

    def constraint(self, given: Constraint | Function, at: int) -> Constraint:
        """The constraint on the parameters; one without a set may be given as a plain function."""
        if not isinstance(given, Constraint):
            return Constraint(self.of_x(given, f"constraints[{at}]"))
        maximise = None if given.maximise is None else self.of_x(given.maximise, f"constraints[{at}].maximise")
        return replace(given, psi=self.of_x(given.psi, f"constraints[{at}]"), maximise=maximise)


def _trained(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters to train, by name."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    if any(is_lazy(tensor) for tensor in (*module.parameters(), *module.buffers())):
        raise ValueError("module has parameters without a shape yet; call it once on some inputs before it is trained")
    trained = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    if not trained:
        raise ValueError("module has no parameter that requires a gradient, so there is nothing to train")
    return trained


def _sequence(given: Any, name: str) -> Sequence[Any]:
    if callable(given) or isinstance(given, Constraint):
        raise TypeError(f"{name} must be a sequence, got a single one; write {name}=[...]")
    return tuple(given)


@contextmanager
def _same_buffers(module: nn.Module) -> Iterator[dict[str, Tensor]]:
    """The buffers of the module; afterwards they are as before, whatever happened in between."""
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    try:
        yield before
    finally:
        with torch.no_grad():
            for name, buffer in module.named_buffers():
                buffer.copy_(before[name])


@torch.no_grad()
def _require_repeatable(
    module: nn.Module, problem: Problem, x: Mapping[str, Tensor], before: Mapping[str, Tensor]
) -> None:
    """Refuse functions that are another at every call: dropout and batch statistics in training mode."""
    like = next(iter(x.values()))

    def values() -> list[Any]:
        terms = [(problem.objective, problem.over), *((one.psi, one.over) for one in problem.constraints)]
        terms += [(h, None) for h in problem.equalities]
        return [function(x) if over is None else function(x, over.centre(like)) for function, over in terms]

    first, second = values(), values()
    same = all(
        torch.allclose(one, other, rtol=SAME, equal_nan=True)
        for one, other in zip(first, second, strict=True)
        if isinstance(one, Tensor)  # what is none is refused by the solver, with its name
    )
    if not same or any(not torch.equal(buffer, before[name]) for name, buffer in module.named_buffers()):
        raise ValueError(
            "two calls with the same parameters differ, or change a buffer, as dropout and batch normalisation do in "
            "training mode; call module.eval() first, or draw random numbers before"
        )
