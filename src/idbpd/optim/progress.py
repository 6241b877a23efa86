"""A run to watch: a callback that writes a line now and then."""

import sys
import time
from typing import TextIO, final

from idbpd.optim.device_reads import read
from idbpd.optim.solution import Record

_HEADER = "    step  evaluations              f   stationarity  infeasibility      slackness   seconds"


@final
class Progress:
    """Writes the numbers of a step as one line: ``solve(problem, x0, callback=Progress())``.

    At most one line in ``every`` seconds, to the standard error unless another ``stream`` is given; with 0, a line for
    every step. Only steps that are written are read from the device.

    >>> import torch
    >>> from idbpd.optim import Problem, solve
    >>> solution = solve(
    ...     Problem(lambda x: x @ x), torch.ones(1).double(), callback=Progress(every=0, stream=sys.stdout)
    ... )  # doctest: +ELLIPSIS
        step  evaluations              f   stationarity  infeasibility      slackness   seconds
           0            1   1.000000e+00        2.0e+00        0.0e+00        0.0e+00       0...
    ...
    """

    def __init__(self, every: float = 1.0, stream: TextIO | None = None) -> None:
        """Nothing is written before the first step."""
        if not every >= 0:
            raise ValueError(f"every must be a number of seconds, 0 for every step, got {every}")
        self._every, self._stream = every, stream
        self._start, self._last = time.monotonic(), -float("inf")

    def __call__(self, record: Record) -> None:
        """Write a step, if it is time to."""
        now = time.monotonic()
        if record.step == 0:
            self._start, self._last = now, -float("inf")
        if now - self._last < self._every:
            return
        stream = sys.stderr if self._stream is None else self._stream
        if self._last == -float("inf"):
            stream.write(_HEADER + "\n")
        self._last = now
        f, *residuals = (float(one) for one in read(record.f, *record.kkt))
        numbers = "".join(f"{one:15.1e}" for one in residuals)
        stream.write(f"{record.step:8d}{record.evaluations:13d}{f:15.6e}{numbers}{now - self._start:10.1f}\n")
        stream.flush()
