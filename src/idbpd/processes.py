"""Which process did something, and is it still there?"""

import os
import socket
from pathlib import Path

_SEPARATOR = ":"


def this_process() -> str:
    """The name of this process, so made that no other one, here or elsewhere, at any time, has the same name."""
    return _SEPARATOR.join((socket.gethostname(), str(os.getpid()), _began(os.getpid()) or "?"))


def has_ended(process: str) -> bool:
    """Whether the process of that name is gone for certain; one of another machine never is."""
    host, number, began = process.split(_SEPARATOR)
    if host != socket.gethostname() or began == "?":
        return False
    return _began(int(number)) != began


def _began(number: int) -> str | None:
    """When a process began, since this machine was started: a number of a process that ended is used again.

    None where there is no such process, or no telling.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8]
        # After the command's name, in parentheses, which may hold anything.
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return f"{boot}-{fields[19]}"
