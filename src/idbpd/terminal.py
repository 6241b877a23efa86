"""A progress bar on a terminal. Elsewhere a hook prints a line now and then (`idbpd.hooks.heartbeat`)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn

from idbpd import activity

NARROW = 15  # the width of a bar whose whole line fits into 80 columns
_hidden: ContextVar[bool] = ContextVar("_hidden", default=False)


@contextmanager
def bars(*, shown: bool) -> Iterator[None]:
    """Whether bars are shown inside of the block: a library says nothing unless it is asked to."""
    before = _hidden.set(not shown)
    try:
        yield
    finally:
        _hidden.reset(before)


class TerminalBar:
    """A bar that shows while its ``with`` block runs, on the error stream, where it does not mix with results."""

    def __init__(self, title: str, total: float | None, *columns: str | ProgressColumn, **fields: Any) -> None:
        """Prepare a bar of these columns; ``fields`` are first values of what the columns show beside the progress."""
        unseen = _hidden.get() or not sys.stderr.isatty()
        self.bar = Progress(*columns, console=Console(stderr=True), disable=unseen, transient=True)
        self._title, self._most = title, total
        self.task = self.bar.add_task(title, total=total, **fields)

    def __enter__(self) -> Self:
        """Show the bar."""
        activity.begin(self._title, self._most)
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Take the bar away, also after an error."""
        activity.end()
        self.bar.stop()
