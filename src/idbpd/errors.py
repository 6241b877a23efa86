"""Errors that are the input's fault: shown to a person as one line, without a traceback."""


class InputError(Exception):
    """Something that was given is wrong; the message names it, its value and what would be right."""


class ConfigurationError(InputError):
    """A parameter, data set name or folder that cannot be used."""


class DataError(InputError):
    """A data set that cannot be trained on."""
