"""States of a long solve on disk: a run that was killed continues from its last state, never from another problem's.

A stage keeps its latest state in ``<stage>-<key>.state`` and, once it is over, in ``<stage>-<key>.finished``. The key
stands for all that decides the numbers. So a run with other data or parameters overwrites nothing, and says why it does
not continue from the state that it finds.
"""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from idbpd.datasets.partial import remove_abandoned, replacing
from idbpd.errors import ConfigurationError
from idbpd.experiment.node_inputs import Bundle
from idbpd.experiment.parameters import DEFAULT_CHECKPOINT, CheckpointParameters
from idbpd.experiment.records.content_store import by_last_use, content_key, forget_oldest, remove
from idbpd.experiment.records.provenance import differences
from idbpd.optim import RunState, load_noted_state, save_state

logger = logging.getLogger(__name__)

# Writing states takes at most this part (1 / 200) of the time: large states on slow disks are written less often.
SHARE_OF_TIME = 200
# How many states of a stage that no run has continued from are kept, and for how long.
ABANDONED_KEPT = 3
ABANDONED_DAYS = 7
LATEST, FINISHED = ".state", ".finished"


class CheckpointFolder:
    """The folder of the states of all stages."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; it is made when the first state is written."""
        self.folder = folder

    def run_succeeded(self) -> None:
        """Remove the states of finished stages: only a later stage that was killed would have needed them."""
        for path in self.folder.glob(f"*{FINISHED}"):
            remove(path.with_suffix(LATEST))  # of a run that was killed just when the stage was over
            remove(path)
        with suppress(OSError):  # it is not empty, was never made, or is a link or a mount point
            self.folder.rmdir()


@dataclass(frozen=True)
class Checkpointing(Bundle):
    """How often states are written, and where: nowhere without a folder."""

    checkpoint: CheckpointParameters
    checkpoints: CheckpointFolder | None

    def of(self, stage: str, made_with: Mapping[str, Any]) -> "StageCheckpoint | None":
        """The checkpoint of one stage; None without a folder."""
        if self.checkpoints is None:
            return None
        return StageCheckpoint(self.checkpoints.folder, stage, made_with, self.checkpoint)


NO_CHECKPOINTS = Checkpointing(DEFAULT_CHECKPOINT, None)


class EarlierState(NamedTuple):
    """A state from an earlier session of the same run, with the seconds at which each of its steps was done."""

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
        self._latest = folder / f"{stage}-{content_key(made_with)}{LATEST}"
        self._finished = self._latest.with_suffix(FINISHED)
        self._next = time.monotonic() + (parameters.every_seconds or 0)
        self._last_good: int | None = None  # the step of the state on disk
        self._failing = False  # whether the last write failed
        self.seconds: list[float] = []  # of the steps so far, over all sessions; the clock of the solve writes here

    def find(self) -> EarlierState | None:
        """The state that an earlier session of the same run left; None where the solve starts anew."""
        remove_abandoned(self._folder)  # of a session killed while it wrote
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
        """Write the latest state; a full disk does not end the run."""
        self._write(state, self._latest)

    def finish(self, state: RunState) -> None:
        """Keep the last state until the whole run has succeeded: a later stage may be killed."""
        if self._write(state, self._finished):
            remove(self._latest)
        self._tidy()

    def discard(self) -> None:
        """Remove the state of a solve whose result is kept elsewhere."""
        remove(self._latest)
        self._tidy()

    def _write(self, state: RunState, path: Path) -> bool:
        begin = time.monotonic()
        seconds = (self.seconds + self.seconds[-1:])[: state.step + 1]  # the clock may lack the interrupted step
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with replacing(path) as partial:  # a name that says whose it is
                save_state(state, partial, {"made_with": self._made_with, "seconds": seconds})
        except OSError as error:
            if not self._failing:  # said once: the disk may stay full for hours
                kept = "there is none yet" if self._last_good is None else f"the one of step {self._last_good} stays"
                what = f"the checkpoint of step {state.step} could not be written to {path}: {error.strerror or error}"
                logger.warning("%s: %s; the run goes on, %s", self._stage, what, kept)
            self._failing = True
        else:
            self._last_good, self._failing = state.step, False
        now = time.monotonic()
        self._next = now + max(self._parameters.every_seconds or 0, SHARE_OF_TIME * (now - begin))
        return not self._failing

    def _read(self, path: Path) -> EarlierState | None:
        note_and_state = _load(path) if path.exists() else None
        if note_and_state is None:
            return None
        state, note = note_and_state
        differing = differences(note["made_with"], self._made_with)
        if differing:  # the file has the name of this run's state, so it was copied or renamed
            raise ConfigurationError(
                f"the checkpoint {path} was made with {'; '.join(differing)}; "
                "delete the file, or run with checkpoint.resume=never"
            )
        return EarlierState(state, note["seconds"])

    def _refuse_others(self) -> None:
        """Say why the solve does not continue from the latest state of this stage, where there is one."""
        others = by_last_use(self._others(LATEST))
        found = _load(others[0]) if others else None
        if found is not None:
            logger.warning(
                "%s begins anew: the checkpoint %s is refused, it was made with %s; "
                "it is kept for %d days, for a run with those settings",
                self._stage,
                others[0],
                "; ".join(differences(found[1]["made_with"], self._made_with)),
                ABANDONED_DAYS,
            )

    def _others(self, suffix: str) -> list[Path]:
        """The states of this stage under other settings."""
        key = "[0-9a-f]" * 16  # not any text: another stage may have a longer name that begins like this one
        found = self._folder.glob(f"{self._stage}-{key}{suffix}")
        return [path for path in found if path not in (self._latest, self._finished)]

    def _tidy(self) -> None:
        for suffix in (LATEST, FINISHED):  # finished ones stay when a later stage fails, night after night
            forget_oldest(self._others(suffix), ABANDONED_KEPT, ABANDONED_DAYS)


def _load(path: Path) -> tuple[RunState, dict[str, Any]] | None:
    """A state and the note beside it; None, with a warning, where the file cannot be used."""
    try:
        return load_noted_state(path)
    except (ValueError, OSError) as error:
        logger.warning("%s; it is not used", error)
        return None


def _time_of(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone().isoformat(" ", "seconds")
