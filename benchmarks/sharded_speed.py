"""How much faster two ranks are than one process, and where the time goes, on Multi-MNIST.

    IDBPD_DATA=/path/to/data OMP_NUM_THREADS=1 PYTHONPATH=src:. python benchmarks/sharded_speed.py [ROUNDS]

One process with one thread, one rank and two ranks take turns at the same points: values (one forward pass) and
gradients (one backward pass over the samples with weight), with the default worst case. The best time of each counts,
and the ratio is also taken turn by turn. A line for each number of ranks is what docs/scale.md fits its model to.
"""

import os
import statistics
import sys
import time
from pathlib import Path

import torch
from benchmarks.evaluation_cost import tasks_of
from torch import Tensor

from idbpd.datasets import ComposedImagesDataset
from idbpd.experiment.compute_parameters import ComputeParameters, DistributedParameters
from idbpd.experiment.parameters import ModelParameters, ProblemParameters
from idbpd.experiment.problem import build_problem
from idbpd.experiment.ranks.remote import RemoteProblem
from idbpd.experiment.ranks.team import dismiss, team_of
from idbpd.mtl import MultiTaskData
from idbpd.mtl.sharded import ShardedProblem
from idbpd.mtl.weight_decay import WeightDecay
from idbpd.optim import Oracle

ROUNDS = 15
LIMIT = 1.0
PROBLEM = ProblemParameters.model_validate({"weight_decay": 1e-3})
MODEL = ModelParameters(hidden=100)


def multi_mnist(root: Path) -> MultiTaskData:
    """20 000 pairs of digits, the first half of the labels against the second."""
    images, classes = (
        {"filepath": str(root / "mnist" / f"train-{f}-ubyte.gz")} for f in ("images-idx3", "labels-idx1")
    )
    composed = ComposedImagesDataset(images=images, classes=classes, pairs=20000, offset=8, groups=10, seed=0)
    return tasks_of(composed.load())


def contestants(data: MultiTaskData) -> tuple[dict[str, Oracle], Tensor]:
    """The same problem in one process, on one rank, and on two; and its first point."""
    here = ComputeParameters(device="cpu", dtype="float32")
    first, second = (task.name for task in data.tasks)
    alone = build_problem(data, first, {second: LIMIT}, MODEL, PROBLEM, here, 0)
    found: dict[str, Oracle] = {"one process": alone.oracle}
    for ranks in (1, 2):
        compute = here.model_copy(update={"distributed": DistributedParameters(processes=ranks)})
        remote = RemoteProblem(data, alone.network, MODEL, PROBLEM, compute, 0)
        decay = WeightDecay(PROBLEM.weight_decay, alone.offsets)
        found[f"{ranks} ranks"] = ShardedProblem(
            remote.terms([first, second]), (1.0, 0.0), [LIMIT], decay, alone.network
        )
    return found, torch.cat([tensor.flatten() for tensor in alone.initial_weights.values()])


def busy_seconds(name: str) -> float:
    """The processor time on the way to an answer: of this process, and of the busiest rank (a clock of 10 ms)."""
    ranks = 0 if name == "one process" else int(name.split(maxsplit=1)[0])
    ticks = [0]
    if ranks:
        for pid in team_of(DistributedParameters(processes=ranks)).pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks.append(int(fields[11]) + int(fields[12]))
    return time.thread_time() + max(ticks) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    oracles, x = contestants(multi_mnist(Path(os.environ["IDBPD_DATA"])))
    values: dict[str, list[float]] = {name: [] for name in oracles}
    gradients: dict[str, list[float]] = {name: [] for name in oracles}
    f: dict[str, float] = {}
    work: dict[str, list[float]] = {name: [] for name in oracles}
    for turn in range(rounds + 1):
        point = x + 0.01 * turn * torch.randn(x.shape, generator=torch.Generator().manual_seed(turn))
        for name, oracle in oracles.items():
            begin, busy = time.perf_counter(), busy_seconds(name)
            evaluation = oracle.evaluate(point, oracle.start(point))
            middle = time.perf_counter()
            oracle.differentiate(evaluation)
            end = time.perf_counter()
            f[name] = float(evaluation.f)
            if turn > 0:  # the first turn sends the data
                values[name].append(middle - begin)
                gradients[name].append(end - middle)
                work[name].append(busy_seconds(name) - busy)
    totals = {name: [a + b for a, b in zip(values[name], gradients[name], strict=True)] for name in oracles}
    base = totals["one process"]
    for name in oracles:
        ratio = statistics.median(a / b for a, b in zip(base, totals[name], strict=True))
        print(
            f"{name:12} values {1e3 * min(values[name]):6.1f} ms, gradients {1e3 * min(gradients[name]):6.1f} ms, both "
            f"{1e3 * min(totals[name]):6.1f} ms; {min(base) / min(totals[name]):.2f} times as fast as one process "
            f"(median turn {ratio:.2f}); busy {1e3 * statistics.mean(work[name]):.1f} ms, "
            f"{statistics.mean(work['one process']) / statistics.mean(work[name]):.2f} times less; "
            f"f differs by {abs(f[name] / f['one process'] - 1):.1e}"
        )
    dismiss()


if __name__ == "__main__":
    main()
