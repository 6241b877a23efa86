"""Short marks by which runs are told apart everywhere on the page."""

from collections.abc import Sequence
from typing import NamedTuple

from idbpd.experiment.page.curve_chart import series
from idbpd.experiment.tracked.run import TrackedRun

LETTERS = "ABCDEFGHIJ"


class Marked(NamedTuple):
    """A run with its mark: a letter, or the number of a version."""

    mark: str
    run: TrackedRun
    at: int  # among all runs, from 0

    @property
    def class_(self) -> str:
        """Its colour and dashes in charts."""
        return series(self.at)

    @property
    def title(self) -> str:
        """The mark with a few words, for rows of pictures."""
        if self.run.is_champion:
            return f"{self.mark} champion"
        return f"{self.mark}  {self.run.started:%m-%d %H:%M}"


def marked(runs: Sequence[TrackedRun]) -> list[Marked]:
    """All runs with their marks, in their order."""
    return [Marked(LETTERS[at] if run.version is None else f"v{run.version}", run, at) for at, run in enumerate(runs)]
