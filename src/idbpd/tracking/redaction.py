"""Remove credentials from every text that leaves the process."""

import logging
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

HIDDEN = "***"
# Shorter values are often ordinary words, which would be removed from all texts.
SHORTEST_SECRET = 6
_USER_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s'\"]+@")
_SECRET_NAME = re.compile(
    r"PASSW(OR)?D|PASS(PHRASE)?(_|$)|SECRET|TOKEN|CREDENTIAL|KEYS?(_|$)",
    re.IGNORECASE,
)

_remembered: set[str] = set()


def remember_credentials(credentials: Mapping[str, Any]) -> None:
    """From now on, hide every text and number of the project's credentials."""
    _remembered.update(text for text in _texts(credentials) if len(text) >= SHORTEST_SECRET)


def redact(text: str) -> str:
    """Remove credentials: those in addresses, the project's, and values of variables whose names suggest a secret.

    >>> redact("no answer from https://ann:pass@example.org/x")
    'no answer from https://example.org/x'
    """
    text = without_user(text)
    for secret in sorted(_secrets(), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def without_user(address: str) -> str:
    """An address without the user and the password in it."""
    return _USER_IN_ADDRESS.sub("", address)


def redacted(value: Any) -> Any:
    """The same value with every text in it redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redacted(key): redacted(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(part) for part in value]
    return value


class RedactingFilter(logging.Filter):
    """A filter for log handlers: removes credentials and drops no record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the message and the traceback; a formatter uses ``exc_text`` if it is set."""
        record.msg, record.args = redact(record.getMessage()), None
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        return True


def redact_logs() -> None:
    """Add the filter to every log handler; Kedro's logging configuration cannot do this."""
    loggers = [logging.root, *map(logging.getLogger, list(logging.root.manager.loggerDict))]
    for handler in {handler for logger in loggers for handler in logger.handlers}:
        if not any(isinstance(existing, RedactingFilter) for existing in handler.filters):
            handler.addFilter(RedactingFilter())


def print_redacted(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an unexpected error without credentials; used as `sys.excepthook`."""
    sys.stderr.write(redact("".join(traceback.format_exception(kind, error, trace))))


def _secrets() -> set[str]:
    named = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    return {secret for secret in named | _remembered if len(secret) >= SHORTEST_SECRET}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, str | int | float):  # YAML reads a password of digits as a number
        yield str(value)
    elif isinstance(value, Iterable):
        for part in value:
            yield from _texts(part)
