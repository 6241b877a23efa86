"""Errors caused by the input. The command line shows them as one line, without a traceback."""

from collections.abc import Iterator


class InputError(Exception):
    """The input is wrong; the message names the input, its value and what is expected."""


class ConfigurationError(InputError):
    """A parameter, data set name or folder is not usable."""


class DataError(InputError):
    """The data cannot be used for training or scoring."""


class RanksError(InputError):
    """The processes that compute for a run cannot be had, or refuse the problem."""


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and its causes; an error that was raised again from its own wrapper makes a cycle."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
