"""The outcomes of a command and their exit codes, for schedulers."""

from typing import Final

# Exit code by the "outcome" of a retraining or reproduction record.
EXIT_CODES: Final = {
    "promoted": 0,  # retraining: the new model is the champion
    "unchanged": 0,  # retraining: nothing to do
    "failed": 1,  # any command: an error, printed on standard error; Kedro uses 1 too
    "rejected": 3,  # retraining: the new model did not pass the gates (click uses 2 for wrong usage)
    "IDENTICAL": 0,  # reproduction
    "DIFFERENT": 4,  # reproduction
}


class NothingToDo(Exception):  # noqa: N818 - not an error: the command ends early with exit code 0
    """There is nothing to run; the message says why."""
