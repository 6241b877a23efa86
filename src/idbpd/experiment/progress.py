"""What a person sees while a solver works."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from idbpd.optim import Record

# Reading a value off an accelerator waits for it, and nobody can follow more than a few updates a second.
SECONDS_BETWEEN_UPDATES = 0.2


class Progress:
    """A solver callback that shows a bar with f, g and the worst KKT residual on a terminal, and nothing elsewhere."""

    def __init__(self, title: str, steps: int) -> None:
        """Prepare a bar of at most ``steps`` steps; nothing shows before the ``with`` block begins."""
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=15),  # the whole line fits into 80 columns
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._next_update = 0.0
        self._task = self._bar.add_task(title, total=steps, state="")

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Take the bar away, also after an error."""
        self._bar.stop()

    def __call__(self, record: Record) -> None:
        """Show one step."""
        if self._bar.disable or time.monotonic() < self._next_update:
            return
        self._next_update = time.monotonic() + SECONDS_BETWEEN_UPDATES
        violation = f"  g {float(record.g.max()):+.3f}" if len(record.g) else ""
        state = f"f {float(record.f):.3f}{violation}  kkt {float(record.kkt.worst):.1e}"
        self._bar.update(self._task, completed=record.step, state=state)
