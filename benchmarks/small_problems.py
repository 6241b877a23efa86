"""How many evaluations the default solver needs on small problems with known answers, and how near it comes.

Three groups, all of the tests: the six problems with published answers from 20 random starts each; the bank of problems
in closed form from its own starts; problems whose worst case at the answer is not unique (kinks). Everything in
float64, with the defaults of `solve`.

Run: ``PYTHONPATH=src:. python benchmarks/small_problems.py``, half a minute.
"""

import math
import statistics
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from tests.optim.bank import CASES, KINKS, PUBLISHED

from idbpd.optim import Problem, Status, solve

RANDOM_STARTS, SPREAD = 20, 3.0


class Run(NamedTuple):
    """What one start gave."""

    status: Status
    evaluations: int
    worst: float  # of the three residuals
    error: float  # distance from the nearest known answer; NaN where none is given
    seconds: float


def run(problem: Problem, start: Sequence[float], answer: Sequence[float] | None) -> Run:
    """Solve from one start."""
    begin = time.process_time()
    solution = solve(problem, torch.tensor(start, dtype=torch.float64))
    seconds = time.process_time() - begin
    assert isinstance(solution.x, torch.Tensor)
    error = math.nan if answer is None else float((solution.x - torch.tensor(answer).double()).norm())
    return Run(solution.status, solution.evaluations, solution.kkt.worst, error, seconds)


def row(name: str, runs: Sequence[Run]) -> str:
    """A line of the table."""
    evaluations = [one.evaluations for one in runs]
    converged = sum(one.status is Status.CONVERGED for one in runs)
    errors = [one.error for one in runs if not math.isnan(one.error)]
    return (
        f"| {name} | {converged} of {len(runs)} | {statistics.median(evaluations):g} | {max(evaluations)} | "
        f"{max(one.worst for one in runs):.0e} | {f'{max(errors):.0e}' if errors else ''} | "
        f"{sum(one.seconds for one in runs) / len(runs):.2f} |"
    )


def random_starts(dimension: int) -> Iterable[list[float]]:
    """The same for every problem of a dimension."""
    generator = torch.Generator().manual_seed(0)
    starts: list[list[float]] = (SPREAD * torch.randn(RANDOM_STARTS, dimension, generator=generator)).tolist()
    return starts


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    print("| problem | converged | evaluations, median | most | worst residual | x off by | processor seconds |")
    print("|---|---|---|---|---|---|---|")
    for case in PUBLISHED:
        # The one that is not convex has two answers.
        answer = case.x if case.convex else None
        starts = random_starts(len(case.starts[0]))
        print(row(f"{case.name}, random starts", [run(case.problem, start, answer) for start in starts]), flush=True)
    bank = [run(case.problem, start, case.x if case.convex else None) for case in CASES for start in case.starts]
    print(row(f"bank of {len(CASES)}", bank), flush=True)
    for kink in KINKS:
        print(row(f"kink: {kink.name}", [run(kink.problem, start, kink.x) for start in kink.starts]), flush=True)


if __name__ == "__main__":
    main()
