"""What checkpoints cost: the time to write one against the time between two, at the default setting.

    python benchmarks/checkpoint_cost.py

The states are those of a constrained run of sixty steps. One whose metric has all of its fifty pairs is at most three
times as large; writes by time are spaced so that even then they take about half a percent of it.
"""

import tempfile
import time
from pathlib import Path
from statistics import median

import torch

from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.parameters import CheckpointParameters, ModelParameters, ProblemParameters
from idbpd.experiment.problem import build_problem
from idbpd.experiment.solving.checkpoints import SHARE_OF_TIME, StageCheckpoint
from idbpd.experiment.solving.durable_solve import Budget, solve_durably, solve_settings
from idbpd.mtl import MultiTaskData, Task
from idbpd.optim import IDBPD, RunState

SIZES = {"multi_digits": (3200, 100), "multi_mnist": (16000, 1296)}  # samples, features
STEPS = 60
WRITES = 7


class _Timing(StageCheckpoint):
    """A keeper that writes at the last steps only, and takes the time of each write."""

    taken: list[float]

    def due(self, step: int) -> bool:
        return step > STEPS - WRITES

    def keep(self, state: RunState) -> None:
        begin = time.perf_counter()
        super().keep(state)
        self.taken.append(time.perf_counter() - begin)


def _data(samples: int, features: int) -> MultiTaskData:
    torch.manual_seed(0)
    table = torch.rand(samples, features)
    targets = [torch.eye(5)[(table @ torch.randn(features, 5)).argmax(dim=1)] for _ in range(2)]
    labels = tuple("abcde")
    tasks = tuple(Task(n, labels, torch.arange(samples), t) for n, t in zip(("one", "two"), targets, strict=True))
    return MultiTaskData(table, tasks)


def main() -> None:
    """Print one line per size."""
    model, parameters = ModelParameters(hidden=100), CheckpointParameters()
    problem = ProblemParameters.model_validate({"lambda": 0.1, "weight_decay": 1e-3})
    compute = ComputeParameters(device="cpu", dtype="float32")
    print(f"{'size':14}{'state':>9}{'step':>11}{'write':>10}{'every':>9}{'share':>9}")
    for name, size in SIZES.items():
        built = build_problem(_data(*size), "one", {"two": 1.0}, model, problem, compute, 0)
        settings = solve_settings({}, "one", {"two": 1.0}, built, built.initial_weights)
        with tempfile.TemporaryDirectory() as folder:
            keeper = _Timing(Path(folder), "cost", settings, parameters)
            keeper.taken = []
            timed = solve_durably("cost", built, built.initial_weights, IDBPD(), Budget(STEPS, 1e-12), keeper)
            (state,) = Path(folder).iterdir()
            megabytes = state.stat().st_size / 1e6
        write, step = median(keeper.taken), timed.seconds[STEPS - WRITES] / (STEPS - WRITES)
        every = max(parameters.every_seconds or 0, SHARE_OF_TIME * write)
        print(
            f"{name:14}{megabytes:6.1f} MB{1e3 * step:8.1f} ms{1e3 * write:7.1f} ms{every:7.1f} s{write / every:9.3%}"
        )


if __name__ == "__main__":
    main()
