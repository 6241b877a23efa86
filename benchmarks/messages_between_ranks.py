"""What messages between two ranks and the run cost: steps on a table so small that they are hardly anything else.

    OMP_NUM_THREADS=1 PYTHONPATH=src:. python benchmarks/messages_between_ranks.py [STEPS]

The network is that of Multi-MNIST, the table has 64 rows. Processor time of each process counts every thread, and
hardly depends on what else the machine does; the time of an evaluation and of a gradient does.
"""

import os
import sys
import time
from pathlib import Path

import torch
from benchmarks.sharded_speed import LIMIT, MODEL, PROBLEM
from torch import Tensor

from idbpd.experiment.compute_parameters import ComputeParameters, DistributedParameters
from idbpd.experiment.problem import build_problem
from idbpd.experiment.ranks.remote import RemoteProblem
from idbpd.experiment.ranks.team import dismiss, team_of
from idbpd.mtl import MultiTaskData, Task
from idbpd.mtl.sharded import ShardedProblem
from idbpd.mtl.weight_decay import WeightDecay

ROWS, FEATURES, STEPS = 64, 1296, 200
TWO = DistributedParameters(processes=2)


def targets() -> Tensor:
    """Of one task."""
    positive = torch.rand(ROWS, 5)
    return positive / positive.sum(dim=1, keepdim=True)


def processor_seconds() -> list[float]:
    """Of the run and of each rank, which the system counts in hundredths of a second."""
    found = [time.process_time()]
    for pid in team_of(TWO).pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        found.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    return found


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    rows = torch.arange(ROWS)
    tasks = (Task("first", tuple("abcde"), rows, targets()), Task("second", tuple("fghij"), rows, targets()))
    data = MultiTaskData(torch.rand(ROWS, FEATURES), tasks)
    here = ComputeParameters(device="cpu", dtype="float32")
    alone = build_problem(data, "first", {"second": LIMIT}, MODEL, PROBLEM, here, 0)
    remote = RemoteProblem(data, alone.network, MODEL, PROBLEM, here.model_copy(update={"distributed": TWO}), 0)
    decay = WeightDecay(PROBLEM.weight_decay, alone.offsets)
    sharded = ShardedProblem(remote.terms(["first", "second"]), (1.0, 0.0), [LIMIT], decay, alone.network)
    x = torch.cat([tensor.flatten() for tensor in alone.initial_weights.values()])
    sharded.differentiate(sharded.evaluate(x, sharded.start(x)))  # sends the data
    values, gradients, before = [], [], processor_seconds()
    for step in range(steps):
        point, begin = x + 0.01 * step, time.perf_counter()
        evaluation = sharded.evaluate(point, sharded.start(point))
        middle = time.perf_counter()
        sharded.differentiate(evaluation)
        values.append(middle - begin)
        gradients.append(time.perf_counter() - middle)
    after = processor_seconds()
    run, *ranks = (1e3 * (b - a) / steps for a, b in zip(before, after, strict=True))
    begin = time.process_time()
    for step in range(steps):
        point = x + 0.01 * step
        alone.oracle.differentiate(alone.oracle.evaluate(point, alone.oracle.start(point)))
    print(
        f"processor time of a step: run {run:.1f} ms, ranks {', '.join(f'{rank:.1f}' for rank in ranks)} ms; "
        f"in one process {1e3 * (time.process_time() - begin) / steps:.1f} ms\n"
        f"values {1e3 * min(values):.1f} ms at best, gradients {1e3 * min(gradients):.1f} ms at best"
    )
    dismiss()


if __name__ == "__main__":
    main()
