"""Whether short trainings on several threads end with the same bytes on a busy machine, and what threads gain.

    PYTHONPATH=src python benchmarks/thread_repeats.py [runs] [processes that keep the machine busy]

25 runs share a process, while other processes keep all cores busy. *As torch has it* sets the number of threads only;
*fixed* is what `kedro run` does (`experiment/machine/computing`). ``OMP_DYNAMIC=true`` provokes differences: OpenMP
then takes fewer threads the higher the load of the last 15 minutes. The times that follow are those of evaluations with
gradients without that load, the settings in turns, the least of several.
"""

import hashlib
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext

import torch
from torch import nn

from idbpd.experiment.machine.computing import computing
from idbpd.mtl import (
    CrossEntropy,
    MultiTaskData,
    Penalty,
    RobustMultiTask,
    Task,
    same_for_all,
    seeded_network,
)
from idbpd.optim import solve

STEPS, LABELS, WIDTH = 12, 5, 100
TOGETHER = 25
SIZES = ((300, 30), (3200, 100), (10000, 300), (20000, 400), (20000, 1296))
BUSY = "import time\nend = time.time() + 3600\nwhile time.time() < end: sum(range(2000))"
PASSIVE = {"OMP_WAIT_POLICY": "passive"}  # threads that wait do not keep the core busy; no digit depends on it


def problem(samples: int, features: int) -> tuple[RobustMultiTask, torch.Tensor]:
    """Made-up data with two tasks, and the first weights."""
    random = torch.Generator().manual_seed(0)
    X = torch.randn(samples, features, generator=random)
    tasks = []
    for name in ("priority", "constraint"):
        labels = (X @ torch.randn(features, LABELS, generator=random)).argmax(1)
        targets = nn.functional.one_hot(labels, LABELS).float()
        tasks.append(Task(name, tuple(map(str, range(LABELS))), torch.arange(samples), targets))
    data = MultiTaskData(X, tuple(tasks))
    network = seeded_network(features, WIDTH, data.classes, seed=0)
    start = nn.utils.parameters_to_vector(network.parameters()).detach()
    criteria = same_for_all(CrossEntropy(), Penalty(0.1))
    made = RobustMultiTask(
        network, data, objective="priority", thresholds={"constraint": 1.0}, criteria=criteria, weight_decay=1e-3
    )
    return made, start


def digest(threads: int, *, fixed: bool) -> str:
    """The bytes of the weights after a short training."""
    with computing(threads, deterministic=True) if fixed else nullcontext():
        if not fixed:
            torch.set_num_threads(threads)
        solution = solve(*problem(*SIZES[1]), max_steps=STEPS, tolerance=1e-6)
    assert isinstance(solution.x, torch.Tensor)
    return hashlib.sha256(solution.x.numpy().tobytes()).hexdigest()[:10]


def seconds(threads: int, samples: int, features: int) -> float:
    """The least time of an evaluation with gradients."""
    with computing(threads, deterministic=True):
        oracle, x = problem(samples, features)
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            oracle.differentiate(oracle.evaluate(x, oracle.start(x)))
            times.append(time.perf_counter() - begin)
    return min(times)


def child(*arguments: str, **environment: str) -> str:
    """What this script prints in a process of its own."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    """Print both tables."""
    match sys.argv[1:]:
        case ["digest", threads, fixed]:
            for _ in range(TOGETHER):
                print(digest(int(threads), fixed=fixed == "fixed"))
            return
        case ["seconds", threads, samples, features]:
            print(seconds(int(threads), int(samples), int(features)))
            return
    runs, load = (int(value) for value in (*sys.argv[1:], *("100", "3")[len(sys.argv) - 1 :]))
    cores = os.cpu_count() or 1
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(load)]
    try:
        print("| threads | OMP_DYNAMIC | how | runs | different results |\n|---|---|---|---|---|")
        for dynamic in ("false", "true"):
            for how in ("as torch has it", "fixed"):
                found = Counter[str]()
                for _ in range(max(runs // TOGETHER, 1) if how == "fixed" else 2):
                    found.update(child("digest", str(cores), how, OMP_DYNAMIC=dynamic, **PASSIVE).split())
                named = ", ".join(f"{name} ({times})" for name, times in found.items())
                print(f"| {cores} | {dynamic} | {how} | {found.total()} | {named} |", flush=True)
        alone = Counter(child("digest", "1", "fixed").split())
        print(f"| 1 | false | fixed | {alone.total()} | {', '.join(alone)} |\n")
    finally:
        for process in busy:
            process.kill()
    print(f"| samples | features | 1 thread | {cores} threads | {cores}, waiting actively |\n|---|---|---|---|---|")
    for shape in SIZES:
        size = tuple(map(str, shape))
        settings: list[tuple[int, dict[str, str]]] = [(1, {}), (cores, PASSIVE), (cores, {})]
        times = [float(child("seconds", str(count), *size, **extra)) for count, extra in settings]
        print(f"| {shape[0]} | {shape[1]} | {' | '.join(f'{1e3 * one:.1f} ms' for one in times)} |", flush=True)


if __name__ == "__main__":
    main()
