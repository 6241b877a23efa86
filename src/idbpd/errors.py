"""Errors caused by the input. The command line shows them as one line, without a traceback."""


class InputError(Exception):
    """The input is wrong; the message names the input, its value and what is expected."""


class ConfigurationError(InputError):
    """A parameter, data set name or folder is not usable."""


class DataError(InputError):
    """The data cannot be used for training or scoring."""
