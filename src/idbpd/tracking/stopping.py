"""End a run on Ctrl-C or SIGTERM."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType


class StopHandler:
    """Ends the process on a signal, after calling ``before_exit``.

    With the sequential runner, the signal interrupts the node and the interpreter ends normally. With other runners,
    Python would wait until the nodes of other threads or processes end, which can take hours. There the workers are
    terminated and the process ends at once; a file that is being written stays behind under its temporary name.
    """

    def __init__(self, before_exit: Callable[[], None]) -> None:
        """Set the function that is called before the process ends."""
        self._before_exit = before_exit
        self._process = os.getpid()

    def install(self, runner: str) -> None:
        """Handle signals from now on; only the main thread can. ``runner`` is Kedro's name of the runner or "None"."""
        if threading.current_thread() is not threading.main_thread():
            return
        if runner == "None" or "SequentialRunner" in runner:
            signal.signal(signal.SIGTERM, _exit)
        else:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._end_at_once)

    def _end_at_once(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if os.getpid() == self._process:  # workers inherit this handler
            for child in multiprocessing.active_children():
                child.terminate()
            self._before_exit()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + number)


def _exit(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    sys.exit(128 + number)
