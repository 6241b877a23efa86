"""The moment when a run has to end, also in the middle of a long search."""

import math
import time
from types import TracebackType


class OutOfTimeError(Exception):
    """The time of a run is over. It never leaves `solve`."""


class Deadline:
    """So many seconds from now. It interrupts only inside of a ``with`` block: a start and an answer are always due."""

    def __init__(self, seconds: float = math.inf) -> None:
        """The clock starts."""
        self.seconds = seconds
        self._end, self._can_interrupt = time.monotonic() + seconds, False

    @property
    def is_over(self) -> bool:
        """Whether the time has passed."""
        return time.monotonic() > self._end

    def check(self) -> None:
        """Interrupt, if the time has passed."""
        if self._can_interrupt and self.is_over:
            raise OutOfTimeError

    def __enter__(self) -> "Deadline":
        """Interrupt from here on."""
        self._can_interrupt = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Interrupt no longer."""
        self._can_interrupt = False
