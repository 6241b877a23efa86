"""What this process is doing right now, for whoever waits for it."""

import time
from typing import NamedTuple


class Activity(NamedTuple):
    """Something that takes long: its title, the steps done and at most needed (0: unknown), and when it began."""

    title: str
    step: int
    most: int
    began: float

    def in_words(self) -> str:
        """One clause.

        >>> Activity("calibrating upsell", 0, 0, 0.0).in_words()
        'calibrating upsell'
        """
        if not self.most:
            return self.title
        words = f"{self.title}, step {self.step} of at most {self.most}"
        if self.step:
            rest = (time.monotonic() - self.began) / self.step * (self.most - self.step)
            words += f" (at most {duration(rest)} more)"
        return words


_current: list[Activity] = []  # the innermost last; only the main thread changes it


def begin(title: str, most: float | None) -> None:
    """Begin an activity inside of the present one."""
    _current.append(Activity(title, 0, int(most or 0), time.monotonic()))


def progress(step: int) -> None:
    """The innermost activity is at this step."""
    if _current:
        _current[-1] = _current[-1]._replace(step=step)


def end() -> None:
    """The innermost activity is over."""
    if _current:
        _current.pop()


def innermost() -> Activity | None:
    """What is being done."""
    return _current[-1] if _current else None


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(12.3), duration(89), duration(5400)
    ('12 s', '89 s', '90 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
