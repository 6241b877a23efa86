"""The methods of other libraries, on the same problem as `IDBPD()`: what each does with values and gradients.

All take f, the constraints and their gradients from one oracle, so that an evaluation costs everybody the same. An
oracle that is `Watched` notes what every point is worth, with the multipliers that certify it best, and stops its clock
meanwhile. So no method needs multipliers of its own, and none pays for being measured.

humancompatible-train, PyGRANSO and cyipopt are not needed by the project. Each is left out where it is not installed.
"""

# ruff: noqa: PLC0415 - what may be missing is imported where it is used

import contextlib
import importlib.util
import io
import math
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from idbpd.baselines import make_method
from idbpd.mtl import RobustMultiTask
from idbpd.optim import IDBPD, solve
from idbpd.optim.initial_metric import LayeredMetric, LayerMetric
from idbpd.optim.kkt import best_multipliers, residuals
from idbpd.optim.oracle import Evaluation, Gradients

NEVER = 10**9
LIMITS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3)


class DoneError(Exception):
    """The time of a run is over, or the last limit is reached."""


class Curve(NamedTuple):
    """The worst residual at the points of a run, and after how many seconds and evaluations."""

    seconds: list[float]
    evaluations: list[int]
    worst: list[float]

    def first_below(self, limit: float) -> tuple[float, int] | None:
        """When the run first got below a limit."""
        found = (at for at, worst in enumerate(self.worst) if worst <= limit)
        at = next(found, None)
        return None if at is None else (self.seconds[at], self.evaluations[at])


class Watched:
    """An oracle that notes the worst residual wherever gradients are taken."""

    def __init__(self, oracle: RobustMultiTask, seconds: float) -> None:
        """``seconds`` of the processor are all that a run has."""
        self._oracle, self._seconds = oracle, seconds
        self._begin, self._evaluations = time.process_time(), 0
        self.curve = Curve([], [], [])

    def __getattr__(self, name: str) -> Any:
        """Everything else is that of the oracle."""
        return getattr(self._oracle, name)

    def evaluate(self, x: Tensor, *args: Any) -> Evaluation:
        """One evaluation, which is counted."""
        self._evaluations += 1
        return self._oracle.evaluate(x, *args)

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """The gradients; what the point is worth is noted, with the clock stopped."""
        found = self._oracle.differentiate(evaluation)
        reached = time.process_time()
        worst = float(residuals(evaluation.g, found, best_multipliers(evaluation.g, found)).worst)
        self.curve.seconds.append(reached - self._begin)
        self.curve.evaluations.append(self._evaluations)
        self.curve.worst.append(worst)
        if worst <= LIMITS[-1] or self.curve.seconds[-1] > self._seconds:
            raise DoneError
        self._begin += time.process_time() - reached
        return found

    def all_at(self, x: Tensor) -> tuple[Evaluation, Gradients]:
        """Values and gradients at a point, for methods that are not ours."""
        evaluation = self.evaluate(x, self._oracle.start(x))
        return evaluation, self.differentiate(evaluation)


class Preconditioned:
    """The oracle in the coordinates z of x = start + C z, where C C^T is the metric that is known before the start."""

    def __init__(self, oracle: Watched, start: Tensor) -> None:
        """The watched oracle goes on measuring in x."""
        metric = oracle.initial_metric(start)
        assert isinstance(metric, LayeredMetric)
        self._oracle, self._start = oracle, start
        self._root = LayeredMetric(tuple(_root_of(layer) for layer in metric.layers))
        self._at: Evaluation | None = None

    constraint_count = property(lambda self: self._oracle.constraint_count)

    def start(self, z: Tensor) -> Any:
        """Uniform weights."""
        return self._oracle.start(z)

    def evaluate(self, z: Tensor, *args: Any) -> Evaluation:
        """The values at x."""
        self._at = self._oracle.evaluate(self._start + self._root.apply(z.unsqueeze(0))[0], *args)
        return self._at._replace(x=z)

    def differentiate(self, evaluation: Evaluation) -> Gradients:  # noqa: ARG002
        """The gradients in z, at the point that was evaluated last."""
        assert self._at is not None
        found = self._oracle.differentiate(self._at)
        rows = self._root.apply(torch.cat([found.f.unsqueeze(0), found.g]))
        return Gradients(rows[0], rows[1:])


def _root_of(layer: LayerMetric) -> LayerMetric:
    """The symmetric square root of a layer's part of the metric."""
    return layer._replace(right=_root(layer.right), left=_root(layer.left))


def _root(matrix: Tensor | None) -> Tensor | None:
    if matrix is None or matrix.dim() == 1:
        return matrix if matrix is None else matrix.sqrt()
    values, vectors = torch.linalg.eigh(matrix.double())
    root: Tensor = (vectors * values.clamp(min=0).sqrt()) @ vectors.T
    return root.to(matrix)


Run = Callable[[Watched, Tensor], None]


def idbpd(oracle: Watched, start: Tensor) -> None:
    """The default method of this project."""
    solve(oracle, start, IDBPD(), max_steps=NEVER, tolerance=LIMITS[-1] / 10)


def cooper(primal: float, dual: float) -> Run:
    """Cooper with Adam."""

    def run(oracle: Watched, start: Tensor) -> None:
        method = make_method("cooper_adam", {"primal_rate": primal, "dual_rate": dual})
        solve(oracle, start, method, max_steps=NEVER, tolerance=LIMITS[-1] / 10)

    return run


def preconditioned_cooper(primal: float, dual: float) -> Run:
    """Cooper with Adam in the coordinates that our metric begins with."""

    def run(oracle: Watched, start: Tensor) -> None:
        method = make_method("cooper_adam", {"primal_rate": primal, "dual_rate": dual})
        inner = Preconditioned(oracle, start)
        solve(inner, torch.zeros_like(start), method, max_steps=NEVER, tolerance=LIMITS[-1] / 100)

    return run


def augmented_lagrangian(primal: float, dual: float) -> Run:
    """humancompatible-train's `ALM` with its augmentation for inequalities, and Adam."""

    def run(oracle: Watched, start: Tensor) -> None:
        from humancompatible.train.dual_optim import ALM

        # The rate of the multipliers is at most the penalty, as its documentation asks for.
        duals = ALM(m=oracle.constraint_count, lr=dual, penalty=max(1.0, dual), is_ineq=True)
        _with_adam(oracle, start, primal, duals.forward_update)

    return run


def penalty_barrier(primal: float, dual: float) -> Run:
    """humancompatible-train's `PBM` and Adam; ``dual`` is how fast multipliers and penalties follow."""

    def run(oracle: Watched, start: Tensor) -> None:
        from humancompatible.train.dual_optim import PBM

        duals = PBM(
            m=oracle.constraint_count,
            penalty_mult=1 - dual,
            gamma=1 - dual,
            gamma_annealing=False,
            penalty_annealing=False,
        )
        _with_adam(oracle, start, primal, duals.forward_update)

    return run


def _with_adam(oracle: Watched, start: Tensor, rate: float, surrogate: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Adam on what the other library makes of f and g."""
    x = torch.nn.Parameter(start.clone())
    adam = torch.optim.Adam([x], lr=rate)
    while True:
        evaluation, gradients = oracle.all_at(x.detach().clone())
        values = _Known.apply(  # type: ignore[no-untyped-call]
            x, torch.cat([evaluation.f.reshape(1), evaluation.g]).to(x), gradients
        )
        adam.zero_grad()
        surrogate(values[0], values[1:]).backward()  # type: ignore[no-untyped-call]
        adam.step()


class _Known(torch.autograd.Function):
    """Values and gradients that are known, for a library that calls `backward`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, values: Tensor, gradients: Gradients) -> Tensor:  # noqa: ARG004
        ctx.gradients = gradients
        return values.clone()

    @staticmethod
    def backward(ctx: Any, factors: Tensor) -> Any:
        return factors[0] * ctx.gradients.f + factors[1:] @ ctx.gradients.g, None, None


def pygranso(oracle: Watched, start: Tensor) -> None:
    """PyGRANSO: BFGS and SQP on a penalty function, with limited memory."""
    # It imports Gurobi even where another solver does its quadratic programs, and a name that NumPy 2 has no more.
    sys.modules.setdefault("gurobipy", types.SimpleNamespace(GRB=None))  # type: ignore[arg-type]
    with warnings.catch_warnings(action="ignore"):
        import numpy.core.numeric

        numpy.core.numeric.Inf = math.inf
    from pygranso.pygranso import pygranso as optimise
    from pygranso.pygransoStruct import pygransoStruct

    done = False

    def combined(point: Any) -> list[Any]:
        nonlocal done
        x = point.x.detach().reshape(-1).clone()
        if done:
            raise DoneError
        try:
            evaluation, gradients = oracle.all_at(x)
        except DoneError:
            done = True
            raise
        g = gradients.g.T.double() if oracle.constraint_count else None
        return [
            float(evaluation.f), gradients.f.double().reshape(-1, 1),
            evaluation.g.double().reshape(-1, 1) if oracle.constraint_count else None, g, None, None,
        ]  # fmt: skip

    options = pygransoStruct()
    options.torch_device, options.double_precision, options.globalAD = torch.device("cpu"), True, False
    options.x0, options.limited_mem_size, options.print_level = start.double().reshape(-1, 1), 20, 0
    options.maxit, options.opt_tol, options.rel_tol = NEVER, 1e-12, 0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        optimise(var_spec={"x": [len(start), 1]}, combined_fn=combined, user_opts=options)


def ipopt(oracle: Watched, start: Tensor) -> None:
    """IPOPT with a quasi-Newton Hessian of limited memory."""
    import cyipopt
    import numpy as np

    class Functions:
        """f, g and gradients at the point that was asked for last."""

        def __init__(self) -> None:
            self.x: Any = None
            self.found: Any = None
            self.done: DoneError | None = None

        def at(self, x: Any) -> tuple[Evaluation, Gradients]:
            if self.x is None or not np.array_equal(self.x, x):
                self.x, self.found = x.copy(), oracle.all_at(torch.as_tensor(x, dtype=start.dtype).clone())
            return self.found  # type: ignore[no-any-return]

        def objective(self, x: Any) -> float:
            return float(self.at(x)[0].f)

        def gradient(self, x: Any) -> Any:
            return self.at(x)[1].f.double().numpy()

        def constraints(self, x: Any) -> Any:
            return self.at(x)[0].g.double().numpy()

        def jacobian(self, x: Any) -> Any:
            return self.at(x)[1].g.double().numpy().ravel()

    count = oracle.constraint_count
    problem = cyipopt.Problem(
        n=len(start), m=count, problem_obj=Functions(), lb=None, ub=None, cl=[-np.inf] * count, cu=[0.0] * count
    )
    for name, value in {
        "hessian_approximation": "limited-memory", "limited_memory_max_history": 20, "print_level": 0, "sb": "yes",
        "tol": 1e-9, "acceptable_iter": 0, "max_iter": 10**6,
    }.items():  # fmt: skip
        problem.add_option(name, value)
    problem.solve(start.double().numpy())


def installed() -> Iterator[tuple[str, str, Run | Callable[[float, float], Run]]]:
    """The peers that are there: name, the numbers in which they compute, and a run or how to make one of its rates."""
    yield "cooper", "float32", cooper
    yield "cooper, preconditioned", "float32", preconditioned_cooper
    if importlib.util.find_spec("humancompatible"):
        yield "humancompatible ALM", "float32", augmented_lagrangian
        yield "humancompatible PBM", "float32", penalty_barrier
    # The line searches of these two end early in float32.
    if importlib.util.find_spec("pygranso"):
        yield "PyGRANSO", "float64", pygranso
    if importlib.util.find_spec("cyipopt"):
        yield "IPOPT", "float64", ipopt
