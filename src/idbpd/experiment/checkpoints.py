"""States of a long solve on disk: a run that was killed goes on where it was, never with a state of another problem.

A stage keeps its latest state in ``<stage>-<key>.state`` and, once it is over, in ``<stage>-<key>.finished``. The key
is that of all that decides the numbers, so the state of other data or parameters is not overwritten, and a run that
meets one says why it does not go on from there.
"""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import CheckpointParameters
from idbpd.experiment.provenance import content_key, differences
from idbpd.optim import RunState, load_noted_state, save_state

logger = logging.getLogger(__name__)

# Writing may take at most one part in so many of the time: large states on slow disks are written more seldom.
SHARE_OF_TIME = 200
# Of states that no run has taken up again, so many of a stage are kept, and for so long.
ABANDONED_KEPT = 3
ABANDONED_DAYS = 7


class Found(NamedTuple):
    """A state from an earlier session of the same run, with the seconds that each of its steps was done at."""

    state: RunState
    seconds: list[float]


class StageCheckpoint:
    """The keeper of one solve: see `idbpd.optim.Keeper`."""

    def __init__(
        self, folder: Path, stage: str, made_with: Mapping[str, Any], parameters: CheckpointParameters
    ) -> None:
        """Name the stage and all that decides its numbers."""
        self._stage = stage
        self._made_with = dict(made_with)
        self._parameters = parameters
        self._folder = folder
        self._latest = folder / f"{stage}-{content_key(made_with)}.state"
        self._finished = self._latest.with_suffix(".finished")
        self._next = time.monotonic() + (parameters.every_seconds or 0)
        self._last_good: int | None = None  # the step of the state on disk
        self._failing = False  # whether the last write failed
        self.seconds: list[float] = []  # of the steps so far, over all sessions; the clock of the solve writes here

    def find(self) -> Found | None:
        """Where an earlier session of the same run got to; None where it begins anew."""
        for half in self._folder.glob(f".partial-{self._latest.stem}.*"):  # of a session killed while it wrote
            _remove(half)
        if self._parameters.resume == "never":
            return None
        for path in (self._finished, self._latest):
            found = self._read(path)
            if found is not None:
                what = "is done" if path == self._finished else "goes on"
                logger.info(
                    "%s %s: step %d after %.1f s of work, from %s of %s",
                    self._stage,
                    what,
                    found.state.step,
                    found.seconds[-1],
                    path,
                    _time_of(path),
                )
                self._last_good = found.state.step
                return found
        self._refuse_others()
        return None

    def due(self, step: int) -> bool:
        """Whether it is time to write."""
        every = self._parameters.every_steps
        if every is not None and step > 0 and step % every == 0:
            return True
        return self._parameters.every_seconds is not None and time.monotonic() >= self._next

    def keep(self, state: RunState) -> None:
        """Write the latest state; a disk that is full does not end the run."""
        self._write(state, self._latest)

    def finish(self, state: RunState) -> None:
        """Keep the last state until the whole run has succeeded: a later stage may be killed."""
        if self._write(state, self._finished):
            _remove(self._latest)
        self._tidy()

    def discard(self) -> None:
        """Remove the state of a solve whose result is kept elsewhere."""
        _remove(self._latest)
        self._tidy()

    def _write(self, state: RunState, path: Path) -> bool:
        begin = time.monotonic()
        seconds = (self.seconds + self.seconds[-1:])[: state.step + 1]  # the clock may lack the interrupted step
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            save_state(state, path, {"made_with": self._made_with, "seconds": seconds})
        except OSError as error:
            if not self._failing:  # said once: it may stay so for hours
                kept = "there is none yet" if self._last_good is None else f"the one of step {self._last_good} stays"
                what = f"the checkpoint of step {state.step} could not be written to {path}: {error.strerror or error}"
                logger.warning("%s: %s; the run goes on, %s", self._stage, what, kept)
            self._failing = True
        else:
            self._last_good, self._failing = state.step, False
        now = time.monotonic()
        self._next = now + max(self._parameters.every_seconds or 0, SHARE_OF_TIME * (now - begin))
        return not self._failing

    def _read(self, path: Path) -> Found | None:
        if not path.exists():
            return None
        try:
            state, note = load_noted_state(path)
        except (ValueError, OSError) as error:
            logger.warning("%s; it is not used", error)
            return None
        differing = differences(note["made_with"], self._made_with)
        if differing:  # the name says otherwise: somebody has copied or renamed it
            raise ConfigurationError(
                f"the checkpoint {path} was made with {'; '.join(differing)}; "
                "delete the file, or run with checkpoint.resume=never"
            )
        return Found(state, note["seconds"])

    def _refuse_others(self) -> None:
        """Say why the latest state of this stage is not gone on from, where there is one."""
        others = self._others()
        if not others:
            return
        path = others[0]
        try:
            _, note = load_noted_state(path)
        except (ValueError, OSError) as error:
            logger.warning("%s; it is not used", error)
            return
        logger.warning(
            "%s begins anew: the checkpoint %s is refused, it was made with %s; it waits %d days for a run with those",
            self._stage,
            path,
            "; ".join(differences(note["made_with"], self._made_with)),
            ABANDONED_DAYS,
        )

    def _others(self) -> list[Path]:
        """The states of this stage under other settings, latest first."""
        paths = [path for path in self._folder.glob(f"{self._stage}-*.state") if path != self._latest]
        return sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)

    def _tidy(self) -> None:
        oldest = time.time() - ABANDONED_DAYS * 24 * 3600
        for rank, path in enumerate(self._others()):
            if rank >= ABANDONED_KEPT or path.stat().st_mtime < oldest:
                _remove(path)


def _remove(path: Path) -> None:
    """Remove a file that is not needed; one that cannot be removed does no harm."""
    with suppress(OSError):
        path.unlink()


def _time_of(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone().isoformat(" ", "seconds")
