"""Watch a method: its own clock, and the same measurements for every method."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from idbpd.baselines import both_residuals
from idbpd.experiment.solving.history import history_frame
from idbpd.optim import Iterate, Method, Oracle, Record, Solution, Verdict
from idbpd.optim.kkt import Residuals

# An iterate with no constraint above this counts as feasible.
FEASIBLE = 1e-4
# The first steps are all measured. Then a step is measured when there are a tenth more steps, or a 150th of the time is
# over: a few hundred points in all.
FIRST_STEPS, GROWTH, PARTS_OF_THE_TIME = 20, 1.1, 150


class _Measured(NamedTuple):
    step: int
    multiplier: Tensor
    residuals: Residuals


class Observer:
    """Runs a `Method` unchanged, ends it when its time is over, and measures its iterates with the best multiplier.

    The clock stops while something is measured that the method does not need itself. It counts what the method
    computes, and what the loop needs to judge and remember its iterates. It is the processor's clock, which stops while
    other programs have the core, or the wall clock where an accelerator does the work.
    """

    def __init__(self, method: Method[Any], seconds: float) -> None:
        """The clock starts with the first state."""
        self._method = method
        self._limit = seconds
        self._latest: Iterate | None = None
        self._clock: Callable[[], float] = time.process_time
        self._begin = 0.0
        self._paused = 0.0
        self._next_step, self._next_seconds = 0, 0.0
        self._seconds: list[float] = []
        self._measured: list[_Measured] = []

    @property
    def state_type(self) -> type[Any]:
        """The method's own."""
        return self._method.state_type

    @property
    def check_every(self) -> int:
        """The method's own."""
        return self._method.check_every

    @property
    def picks_by_residual(self) -> bool:
        """The method's own."""
        return self._method.picks_by_residual

    def init(self, oracle: Oracle, x: Tensor) -> Any:
        """The method's own, with the clock running."""
        self._clock = time.process_time if x.device.type == "cpu" else time.perf_counter
        self._begin = self._clock()
        return self._method.init(oracle, x)

    def step(self, oracle: Oracle, state: Any, tolerance: float) -> Any:
        """The method's own."""
        return self._method.step(oracle, state, tolerance)

    def iterate(self, state: Any) -> Iterate:
        """The method's own, remembered until it is measured."""
        self._latest = self._method.iterate(state)
        return self._latest

    def verdict(self, state: Any) -> Verdict | None:
        """The method's own."""
        return self._method.verdict(state)

    def record(self, record: Record) -> bool:
        """The callback of `solve`: True when the time is over."""
        assert self._latest is not None  # the loop asks for the iterate before it records it
        if record.f.is_cuda:
            torch.cuda.synchronize()
        now = self._clock()
        seconds = now - self._begin - self._paused
        over = seconds >= self._limit
        self._seconds.append(seconds)
        if over or record.step >= self._next_step or seconds >= self._next_seconds:
            self._measured.append(_measure(record.step, self._latest))
            self._next_step = max(record.step + 1, math.ceil(record.step * GROWTH) if record.step > FIRST_STEPS else 0)
            self._next_seconds = seconds + self._limit / PARTS_OF_THE_TIME
        self._paused += self._clock() - now
        return over

    @property
    def seconds(self) -> float:
        """How long the method worked."""
        return self._seconds[-1]

    def history(self, solution: Solution) -> pd.DataFrame:
        """A row per step; the columns ``best_*`` have values only at the steps that were measured."""
        frame = history_frame(solution).set_index("step", drop=False)
        frame["seconds"] = self._seconds[: len(frame)]
        frame["evaluations"] = solution.history.evaluations.numpy()
        frame["feasible_objective"] = frame["objective"].where(frame["constraint"] <= FEASIBLE).cummin().ffill()
        measured = [one for one in self._measured if one.step in frame.index]
        best = pd.DataFrame(
            {
                "best_multiplier": [one.multiplier.max().item() for one in measured],
                "best_stationarity": [one.residuals.stationarity.item() for one in measured],
                "best_slackness": [one.residuals.slackness.item() for one in measured],
            },
            index=[one.step for one in measured],
            dtype=float,
        )
        return frame.join(best)


def thinned(history: pd.DataFrame) -> pd.DataFrame:
    """The measured steps, and exactly those with the best objective, the best residual and the least violation."""
    worst = history[["stationarity", "infeasibility", "slackness"]].max(axis=1)
    kept = {history.index[-1], worst.idxmin(), history["infeasibility"].idxmin()}
    feasible = history["objective"][history["constraint"] <= FEASIBLE]
    if len(feasible):
        kept |= {feasible.index[0], feasible.idxmin()}
    chosen: pd.DataFrame = history[history["best_stationarity"].notna() | history.index.isin(sorted(kept))]
    return chosen


def _measure(step: int, iterate: Iterate) -> _Measured:
    both = both_residuals(iterate)
    return _Measured(step, both.best_multipliers, both.best)
