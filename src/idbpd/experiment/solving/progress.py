"""What a person sees while a solver works."""

import time

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from idbpd import activity
from idbpd.optim import Record
from idbpd.terminal import NARROW, TerminalBar

# Reading a value off an accelerator waits for it, and nobody can follow more than a few updates a second.
SECONDS_BETWEEN_UPDATES = 0.2


class Progress(TerminalBar):
    """A solver callback that shows a bar with f, g and the worst KKT residual."""

    def __init__(self, title: str, steps: int) -> None:
        """Prepare a bar of at most ``steps`` steps."""
        columns = (TextColumn("{task.description}"), BarColumn(NARROW), MofNCompleteColumn())
        super().__init__(title, steps, *columns, TextColumn("{task.fields[state]}"), TimeElapsedColumn(), state="")
        self._next_update = 0.0

    def __call__(self, record: Record) -> None:
        """Show one step."""
        activity.progress(record.step)
        if self.bar.disable or time.monotonic() < self._next_update:
            return
        self._next_update = time.monotonic() + SECONDS_BETWEEN_UPDATES
        violation = f"  g {float(record.g.max()):+.3f}" if len(record.g) else ""
        state = f"f {float(record.f):.3f}{violation}  kkt {float(record.kkt.worst):.1e}"
        self.bar.update(self.task, completed=record.step, state=state)
