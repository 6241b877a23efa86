"""How a command can end other than with results, and what its exit code says to a scheduler."""

from typing import Final

# What a record of an ending has under "outcome", and the exit code of the command that ended so.
EXIT_CODES: Final = {
    "promoted": 0,  # a retraining: the new model is the champion
    "unchanged": 0,  # a retraining: nothing to do
    "failed": 1,  # any command: an error, told on standard error; so does Kedro for all it refuses
    "rejected": 3,  # a retraining: it worked, but the new model did not pass the gates (2 is click's: wrong usage)
    "IDENTICAL": 0,  # a reproduction
    "DIFFERENT": 4,  # a reproduction
}


class NothingToDo(Exception):  # noqa: N818 - not an error: the command ends well, early
    """There is no reason to run; the message says why."""
