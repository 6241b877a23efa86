"""What one evaluation with both gradients costs, in forward passes, on Multi-MNIST and 20NG.

    IDBPD_DATA=/path/to/data PYTHONPATH=src python benchmarks/evaluation_cost.py

Four things take turns in one process with one thread, and the best time of each counts (the thread's own time: other
programs that take the processor away do not count): a bare forward pass without a
graph; f, g and both gradients as `RobustMultiTask` computes them; the same in the straightforward way (two forward
passes, two backward passes by autograd, the paper's N_k and M_k projections at step k = 100); and one step of Cooper
with Adam on f and g by autograd. The first two are also compared number by number.
"""

import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import cooper
import torch
from torch import Tensor, nn

from idbpd.datasets import ArffDataset, ComposedImagesDataset
from idbpd.datasets.table import TaskTable
from idbpd.mtl import (
    CrossEntropy,
    MultiTaskData,
    Penalty,
    RobustMultiTask,
    SharedNetwork,
    Task,
    same_for_all,
    seeded_network,
    worst_weighting,
)
from idbpd.optim import solve

ROUNDS = 12
STEP = 100  # the k of N_k and M_k
THRESHOLD = 1.0


class Case(NamedTuple):
    """A problem at a point."""

    name: str
    network: SharedNetwork
    data: MultiTaskData
    x: Tensor
    regularisation: float


def tasks_of(table: TaskTable) -> MultiTaskData:
    """The first half of the labels against the second, all samples."""
    labels = torch.from_numpy(table.labels).float()
    half = labels.shape[1] // 2
    tasks = []
    for name, part in (("priority", slice(0, half)), ("constraint", slice(half, None))):
        rows = labels[:, part].any(dim=1).nonzero(as_tuple=True)[0]
        positives = labels[rows, part]
        tasks.append(Task(name, table.label_names[part], rows, positives / positives.sum(dim=1, keepdim=True)))
    return MultiTaskData(torch.from_numpy(table.dense_features(slice(None))), tuple(tasks))


def cases(root: Path) -> list[Case]:
    """At the first weights with a small lambda, and after some steps with the default one, where supports are large."""
    images, classes = (
        {"filepath": str(root / "mnist" / f"train-{f}-ubyte.gz")} for f in ("images-idx3", "labels-idx1")
    )
    tables = {
        "Multi-MNIST": ComposedImagesDataset(
            images=images, classes=classes, pairs=20000, offset=8, groups=10, seed=0
        ).load(),
        "20NG": ArffDataset(filepath=str(root / "20ng" / "20NG.arff")).load(),
    }
    found = []
    for name, table in tables.items():
        data = tasks_of(table)
        network = seeded_network(data.features.shape[1], 100, data.classes, seed=0)
        start = nn.utils.parameters_to_vector(network.parameters()).detach()
        found.append(Case(name, network, data, start, 1e-3))
        later = solve(problem_of(Case(name, network, data, start, 0.1)), start, max_steps=15, tolerance=1e-9).x
        assert isinstance(later, Tensor)
        found.append(Case(name, network, data, later, 0.1))
    return found


def problem_of(case: Case) -> RobustMultiTask:
    """The problem that the solver would see."""
    return RobustMultiTask(
        case.network,
        case.data,
        objective="priority",
        thresholds={"constraint": THRESHOLD},
        criteria=same_for_all(CrossEntropy(), Penalty(case.regularisation)),
    )


def project_by_sorting(v: Tensor) -> Tensor:
    """The textbook projection onto the simplex."""
    down = v.sort(descending=True).values
    thresholds = (down.cumsum(0) - 1) / torch.arange(1, len(v) + 1)
    return (v - thresholds[int((down > thresholds).sum()) - 1]).clamp(min=0)


def straightforward(case: Case) -> tuple[Tensor, Tensor]:
    """Values and gradients, task by task, each with a forward and a backward pass and its projections."""
    values, gradients = [], []
    growth = math.ceil(math.log(STEP + 2))
    for at, (task, steps) in enumerate(zip(case.data.tasks, (2 * growth, 10 * growth), strict=True)):
        losses = CrossEntropy().values(case.network(case.data.features)[at][task.rows], task.targets)
        known, n = losses.detach().double(), task.size
        weights = torch.full_like(known, 1 / n)
        for _ in range(steps):
            slope = known - case.regularisation * n * (weights - 1 / n)
            weights = project_by_sorting(weights + slope / (case.regularisation * n))
        parts = torch.autograd.grad(
            weights.to(losses.dtype) @ losses, list(case.network.parameters()), materialize_grads=True
        )
        values.append(weights @ known - case.regularisation * n / 2 * (weights - 1 / n).square().sum())
        gradients.append(torch.cat([part.flatten() for part in parts]))
    return torch.stack(values), torch.stack(gradients)


class CooperProblem(cooper.ConstrainedMinimizationProblem):
    """The exact f and g as Cooper differentiates them."""

    def __init__(self, case: Case) -> None:
        """One multiplier for the one constraint."""
        super().__init__()
        self._case = case
        self.limit = cooper.Constraint(
            cooper.ConstraintType.INEQUALITY,
            formulation_type=cooper.formulations.Lagrangian,
            multiplier=cooper.multipliers.DenseMultiplier(num_constraints=1),
        )

    def compute_cmp_state(self) -> cooper.CMPState:
        """One forward pass with a graph, and the exact weights."""
        worst = []
        logits = self._case.network(self._case.data.features)
        for task, task_logits in zip(self._case.data.tasks, logits, strict=True):
            losses = CrossEntropy().values(task_logits[task.rows], task.targets)
            weights = worst_weighting(losses.detach(), Penalty(self._case.regularisation)).weights
            n = task.size
            distance = self._case.regularisation * n / 2 * (weights - 1 / n).square().sum()
            worst.append(weights.to(losses.dtype) @ losses - distance.to(losses.dtype))
        state = cooper.ConstraintState(violation=(worst[1] - THRESHOLD).reshape(1))
        return cooper.CMPState(loss=worst[0], observed_constraints={self.limit: state})


def cooper_step(case: Case) -> Callable[[], object]:
    """A step of Adam and of the multiplier; the rates are zero, so that every step is at the same point."""
    problem = CooperProblem(case)
    primal = torch.optim.Adam(case.network.parameters(), lr=0.0)
    dual = torch.optim.SGD(problem.dual_parameters(), lr=0.0, maximize=True)
    optimiser = cooper.optim.SimultaneousOptimizer(problem, primal, dual)
    return optimiser.roll


def measure(case: Case) -> str:
    """One row of the table."""
    nn.utils.vector_to_parameters(case.x, case.network.parameters())
    problem = problem_of(case)
    warm = problem.start(case.x)

    def forward() -> None:
        with torch.no_grad():
            case.network(case.data.features)

    def ours() -> tuple[Tensor, Tensor]:
        evaluation = problem.evaluate(case.x, warm)
        gradients = problem.differentiate(evaluation)
        values = torch.cat([evaluation.f.reshape(1), evaluation.g + THRESHOLD])
        return values, torch.cat([gradients.f[None], gradients.g])

    ways: list[Callable[[], object]] = [forward, ours, lambda: straightforward(case), cooper_step(case)]
    best = [math.inf] * len(ways)
    for _ in range(ROUNDS):
        for at, way in enumerate(ways):
            begin = time.thread_time()
            way()
            best[at] = min(best[at], time.thread_time() - begin)
    (values, gradients), (expected_values, expected) = ours(), straightforward(case)
    value_error = ((values - expected_values).abs() / expected_values.abs()).max().item()
    error = ((gradients - expected).norm(dim=1) / expected.norm(dim=1)).max().item()
    found = problem.evaluate(case.x, warm).maximisers
    support = "/".join(str(int((w > 0).sum())) for w in (found.y, *found.w) if w is not None)
    bare, mine, plain, step = best
    return (
        f"| {case.name} | {case.regularisation:g} | {support} | {bare * 1e3:.0f} ms | {mine / bare:.2f} | "
        f"{plain / bare:.2f} | {step / bare:.2f} | {mine / plain:.2f} | {value_error:.0e} | {error:.0e} |"
    )


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    root = os.environ.get("IDBPD_DATA")
    if root is None:
        sys.exit("set IDBPD_DATA to the folder with mnist/train-images-idx3-ubyte.gz and 20ng/20NG.arff")
    print(
        "| data | lambda | support | forward | ours / forward | straightforward / forward | Cooper step / forward "
        "| ours / straightforward | f, g differ by | gradients differ by |\n|" + "---|" * 10
    )
    for case in cases(Path(root)):
        print(measure(case), flush=True)


if __name__ == "__main__":
    main()
