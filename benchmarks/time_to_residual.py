"""How long until the worst KKT residual is below a limit: `IDBPD()` against Cooper with Adam, on the embedded data.

    PYTHONPATH=src python benchmarks/time_to_residual.py [seconds for each run]

Both work on the same oracle, so that an evaluation costs both the same, from the same point (the constraint task's own
optimum, after 600 steps) and under the same limit (1.1 times its loss there), with lambda 0.1 and weight decay 1e-3.
Cooper runs once for each pair of learning rates; the table has its best for each residual. The residuals are those at
the methods' own multipliers. One thread; time is that of the processor.
"""

import contextlib
import itertools
import math
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from idbpd.baselines import METHODS, make_method
from idbpd.datasets import ComposedDigitsDataset
from idbpd.experiment.parameters import FeatureParameters, SplitParameters
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.mtl import CrossEntropy, Penalty, RobustMultiTask, same_for_all, seeded_network
from idbpd.optim import Record, solve

LIMITS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3)
REGULARISATION, DECAY = 0.1, 1e-3


class OutOfTimeError(Exception):
    """The seconds of a run are over."""


def recorder(seconds: float, curve: list[tuple[float, Tensor]]) -> Callable[[Record], None]:
    """A callback that notes the worst residual with the time, and ends the run when its time is over."""
    begin = time.process_time()

    def note(record: Record) -> None:
        passed = time.process_time() - begin
        if passed > seconds:
            raise OutOfTimeError
        curve.append((passed, record.kkt.worst))

    return note


def first_times(curve: list[tuple[float, Tensor]]) -> list[float]:
    """When the curve first gets below each limit; infinity where it does not."""
    return [next((at for at, worst in curve if float(worst) <= limit), math.inf) for limit in LIMITS]


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    table = ComposedDigitsDataset(pairs=4000, seed=0).load()
    data, *_ = split(table, Division(SplitParameters(test_fraction=0.2, seed=0), FeatureParameters(scaling="none")))
    network = seeded_network(data.features.shape[1], 100, data.classes, seed=0)
    start = nn.utils.parameters_to_vector(network.parameters()).detach()

    def problem_of(objective: str, thresholds: dict[str, float]) -> RobustMultiTask:
        return RobustMultiTask(
            network,
            data,
            objective=objective,
            thresholds=thresholds,
            criteria=same_for_all(CrossEntropy(), Penalty(REGULARISATION)),
            weight_decay=DECAY,
        )

    alone = problem_of("constraint", {})
    calibrated = solve(alone, start, max_steps=600, tolerance=1e-3)
    assert isinstance(calibrated.x, Tensor)
    reached = calibrated.f - DECAY / 2 * float(calibrated.x.double().square().sum())
    problem = problem_of("priority", {"constraint": 1.1 * reached})
    results = {}
    methods = {"idbpd": make_method("idbpd")} | {
        f"cooper_adam {primal:g}, {dual:g}": make_method("cooper_adam", {"primal_rate": primal, "dual_rate": dual})
        for primal, dual in itertools.product(*METHODS["cooper_adam"].grid.values())
    }
    for name, method in methods.items():
        curve: list[tuple[float, Tensor]] = []
        with contextlib.suppress(OutOfTimeError):
            solve(
                problem,
                calibrated.x,
                method,
                max_steps=10**6,
                tolerance=LIMITS[-1],
                callback=recorder(seconds, curve),
            )
        results[name] = first_times(curve)
    cooper = [min(times) for times in zip(*(t for name, t in results.items() if name != "idbpd"), strict=True)]
    print("| worst residual | IDBPD() | Cooper with Adam, best of its rates | ratio |\n|---|---|---|---|")
    for limit, ours, theirs in zip(LIMITS, results["idbpd"], cooper, strict=True):
        shown = [f"{t:.1f} s" if t < math.inf else f"not in {seconds:g} s" for t in (ours, theirs)]
        ratio = f"{theirs / ours:.1f}" if theirs < math.inf else f"> {seconds / ours:.1f}" if ours < math.inf else ""
        print(f"| {limit:g} | {shown[0]} | {shown[1]} | {ratio} |")


if __name__ == "__main__":
    main()
