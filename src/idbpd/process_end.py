"""The end of a command's process: what is done last, with no moment after it in which a kill could still come.

After its exit functions, Python tears down modules and libraries, which takes a good part of a second with torch and
MLflow. The caller sees a kill in that time; nothing in the process does, and a note that an exit function has removed
says that all went well. So a command that has succeeded ends at once, without the tear-down.
"""

import atexit
import logging
import os
import sys
from collections.abc import Callable

_last: list[Callable[[], object]] = []
_process = os.getpid()
_has_succeeded = False
_COMMANDS = ("kedro", "idbpd")  # programs whose process is one command


def at_the_very_end(function: Callable[[], object]) -> None:
    """Call ``function`` when nothing is left to do in this process."""
    _last.append(function)


def command_has_succeeded() -> None:
    """Note that the command has succeeded, if this process is one command: its exit code is zero from now on."""
    global _has_succeeded  # noqa: PLW0603 - there is one end of a process
    _has_succeeded = True


def _is_one_command() -> bool:
    """Whether the program is one command: tests and notebooks call commands, too, and go on."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    name = spec.name if spec is not None else os.path.basename(sys.argv[0])  # noqa: PTH119 - the name of a program
    return name.removesuffix(".exe").partition(".")[0] in _COMMANDS


def _end() -> None:
    if os.getpid() != _process:
        return
    leaves = _has_succeeded and _last and _is_one_command() and not hasattr(sys, "last_value")
    if leaves:
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    for function in _last:
        function()
    if leaves:
        os._exit(0)


# The first to be registered is called last: the commands import this module before any library.
atexit.register(_end)
