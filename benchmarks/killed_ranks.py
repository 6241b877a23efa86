"""Ranks killed at random during a solve: how many, what was lost, and whether the result differs.

    OMP_NUM_THREADS=1 PYTHONPATH=src:. python benchmarks/killed_ranks.py [KILLS]

A small problem is solved on two ranks, undisturbed and with `kill -9` for a random rank at random steps. Lost are steps
of the solver that had to be done again; different are bytes of the weights, of all values and of the counts of calls.
"""

import logging
import os
import random
import signal
import sys
import time

import torch
from tests.pipelines.small_tasks import COMPUTE, EXPERIMENT, small_tasks

from idbpd.experiment.compute_parameters import DistributedParameters
from idbpd.experiment.ranks.team import dismiss, team_of
from idbpd.experiment.records.provenance import tensors_sha256
from idbpd.optim import Record, solve

KILLS, STEPS = 10, 60


def main() -> None:
    """Solve twice and compare."""
    logging.disable(logging.WARNING)
    torch.manual_seed(7)
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    wanted = DistributedParameters(processes=2, restarts=kills + 1)
    compute = COMPUTE.model_copy(update={"dtype": "float32", "distributed": wanted})
    experiment = type(EXPERIMENT)(**{**vars(EXPERIMENT), "compute": compute})
    data = small_tasks(2)
    results = []
    for killed in (0, kills):
        random.seed(3)
        built = experiment.build(data, "first", {"second": 0.9})
        at = set(random.sample(range(1, STEPS), killed))
        seen: list[int] = []
        ranks: list[int] = []

        def watch(record: Record, at: set[int] = at, seen: list[int] = seen, ranks: list[int] = ranks) -> None:
            seen.append(record.step)
            if record.step in at:
                ranks.append(random.randrange(2))
                os.kill(team_of(wanted).pids[ranks[-1]], signal.SIGKILL)

        begin = time.monotonic()
        solution = solve(built.oracle, built.initial_weights, max_steps=STEPS, tolerance=1e-12, callback=watch)
        assert isinstance(solution.x, dict)
        history = solution.history
        digest = tensors_sha256({**solution.x, "f": history.f, "g": history.g})
        results.append((digest, solution.evaluations))
        lost = len(seen) - len(set(seen))
        print(
            f"{len(ranks)} kills ({ranks.count(0)} of rank 0), {lost} of {solution.steps} steps lost, "
            f"{solution.evaluations} evaluations, {time.monotonic() - begin:.1f} s, result {digest[:16]}"
        )
    print("different:", int(results[0] != results[1]))
    dismiss()


if __name__ == "__main__":
    main()
