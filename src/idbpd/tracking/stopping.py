"""What happens when somebody stops a run: Ctrl-C, or a termination by the system or a scheduler."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType


class Stopping:
    """Ends the process on a signal, and says so first.

    One thread that runs nodes one after the other is interrupted where it is, and the interpreter ends as usual. Other
    threads and processes cannot be: Python would wait for their nodes to end, hours perhaps. There the workers are
    terminated and the process ends at once; a file that is being written is left behind under its temporary name.
    """

    def __init__(self, before_exit: Callable[[], None]) -> None:
        """Take what is done before the process ends."""
        self._before_exit = before_exit
        self._process = os.getpid()

    def install(self, runner: str) -> None:
        """Answer signals from now on; only the main thread can. ``runner`` is what Kedro calls it, None by default."""
        if threading.current_thread() is not threading.main_thread():
            return
        if runner == "None" or "SequentialRunner" in runner:
            signal.signal(signal.SIGTERM, _exit)
        else:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._end_at_once)

    def _end_at_once(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if os.getpid() == self._process:  # a worker has this handler too
            for child in multiprocessing.active_children():
                child.terminate()
            self._before_exit()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + number)


def _exit(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    sys.exit(128 + number)
