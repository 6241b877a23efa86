"""What the metric's knowledge of the network is worth: evaluations and processor seconds until the worst residual is
below 0.1, 0.01 and 0.001, with and without each of its parts.

    IDBPD_DATA=/path/to/data PYTHONPATH=src:. python -m benchmarks.metric [--data NAME ...] [--seconds S]

Ways to begin, each with all that the ones before have: `identity`, as a problem without knowledge; `features`, the
second moments of what goes into the first layer; `layers`, the moments on both sides of every layer, taken again every
twenty steps; and without the curvature of the weight decay in it, `no decay`. Cases: each of the limited tasks alone
(calibration) from random weights, training under 1.1 times what it reaches, and the sum of both losses (equal).
One thread; the ways take turns case by case.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import torch
from benchmarks.ablation_data import DATA, SMALL, _table
from torch import Tensor, nn

from idbpd.experiment.parameters import FeatureParameters, SplitParameters
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.mtl import CrossEntropy, MultiTaskData, Penalty, RobustMultiTask, same_for_all, seeded_network
from idbpd.mtl.fixed_weights import FixedWeights
from idbpd.mtl.weight_decay import output_offsets
from idbpd.mtl.worst_cases import Share
from idbpd.optim import IDBPD, Record, solve
from idbpd.optim.quasi_newton import known_metric

LIMITS = (1e-1, 1e-2, 1e-3)
NEVER = 10**9
WAYS = ("identity", "features", "layers", "no decay")


class Setting(NamedTuple):
    """A data set and the problem on it."""

    data: str
    worst_case: Any
    decay: float

    @property
    def name(self) -> str:
        """As in the table."""
        kind = "share" if isinstance(self.worst_case, Share) else f"{self.worst_case.regularisation:g}"
        return f"{self.data}, {kind}, {self.decay:g}"


SETTINGS = (
    Setting("multi_digits", Penalty(0.1), 0.0),
    Setting("multi_digits", Penalty(0.1), 0.008),
    Setting("multi_digits", Share(0.8), 0.001),
    Setting("yeast", Penalty(0.1), 0.0),
    Setting("yeast", Share(0.8), 0.01),
    Setting("chd49", Penalty(0.1), 0.0),
    Setting("chd49", Share(0.8), 0.003),
    Setting("multi_mnist", Penalty(0.1), 0.0),
    Setting("multi_fashion", Penalty(0.1), 0.0),
    Setting("20ng", Penalty(1e-3), 0.0),
)


@cache
def training_part(data: str) -> MultiTaskData:
    """All rows of a data set but the test part, scaled as the product scales them."""
    DATA[data] = SMALL  # without a limit on its rows
    division = Division(SplitParameters(test_fraction=0.2, seed=0), FeatureParameters(scaling="auto"))
    found: MultiTaskData = split(_table(data), division)[0]
    return found


@contextmanager
def way_of(way: str) -> Iterator[IDBPD]:
    """The method with a part of the metric's knowledge."""
    before = known_metric.REFRESH_EVERY
    known_metric.REFRESH_EVERY = NEVER if way == "features" else before
    try:
        yield IDBPD(preconditioner=way != "identity")
    finally:
        known_metric.REFRESH_EVERY = before


def measured(make: Callable[[], Any], start: Tensor, way: str, seconds: float) -> tuple[str, Tensor]:
    """A cell of the table, and where the run came to."""
    oracle = make()
    if way == "no decay":
        oracle._curvature._decay = 0.0
    reached: dict[float, tuple[int, float]] = {}
    begin = time.process_time()

    def watch(record: Record) -> bool:
        passed, worst = time.process_time() - begin, float(record.kkt.worst)
        for limit in LIMITS:
            if worst <= limit:
                reached.setdefault(limit, (record.evaluations, passed))
        return passed > seconds

    with way_of(way) as method:
        found = solve(oracle, start, method, max_steps=NEVER, tolerance=LIMITS[-1], callback=watch)
    assert isinstance(found.x, Tensor)
    counts = "/".join(str(reached[limit][0]) if limit in reached else "-" for limit in LIMITS)
    last = f" {reached[LIMITS[-1]][1]:.1f} s" if LIMITS[-1] in reached else ""
    return counts + last, found.x


def rows_of(setting: Setting, seconds: float) -> Iterator[str]:
    """The rows of a setting."""
    data = training_part(setting.data)
    network = seeded_network(data.features.shape[1], 100, data.classes, seed=0)
    start = nn.utils.parameters_to_vector(network.parameters()).detach()
    offsets, criteria = output_offsets(network, data.features), same_for_all(CrossEntropy(), setting.worst_case)
    first, second = data.priority.name, data.limited[0].name

    def problem(objective: str, thresholds: dict[str, float]) -> RobustMultiTask:
        return RobustMultiTask(
            network,
            data,
            objective=objective,
            thresholds=thresholds,
            criteria=criteria,
            weight_decay=setting.decay,
            offsets=offsets,
        )

    def row(case: str, make: Callable[[], Any], x: Tensor, ways: tuple[str, ...]) -> tuple[str, Tensor]:
        cells = {way: measured(make, x, way, seconds) for way in ways}
        shown = [cells[way][0] if way in cells else "" for way in WAYS]
        return f"| {setting.name}: {case} | {' | '.join(shown)} |", cells["layers"][1]

    ways = WAYS if setting.decay > 0 else WAYS[:3]
    text, alone = row("calibration", lambda: problem(second, {}), start, ways)
    yield text
    oracle = problem(second, {})
    limit = 1.1 * (float(oracle.evaluate(alone, oracle.start(alone)).f) - float(oracle._decay.value(alone)))
    if math.isfinite(limit):
        yield row("training", lambda: problem(first, {second: limit}), alone, ways)[0]
    sums = {first: 1.0, second: 1.0}
    yield row("equal", lambda: FixedWeights(network, data, criteria, sums, setting.decay, offsets=offsets),
              start, ways)[0]  # fmt: skip


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=["multi_digits", "yeast", "chd49"])
    parser.add_argument("--seconds", type=float, default=15.0, help="of each run")
    given = parser.parse_args()
    print(f"| data, worst case, decay: case | {' | '.join(WAYS)} |\n|{'---|' * (len(WAYS) + 1)}")
    for setting in SETTINGS:
        if setting.data in given.data:
            for text in rows_of(setting, given.seconds):
                print(text, flush=True)


if __name__ == "__main__":
    main()
