"""Remove credentials from every text that leaves the process."""

import hashlib
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
# name=value, in the query of an address or on a command line.
_ASSIGNED = re.compile(r"(?P<name>[\w.-]+)=(?P<value>'[^']*'|\"[^\"]*\"|[^\s&,;'\"]+)")
_SECRET_NAME = re.compile(
    r"PASSW(OR)?D|PASS(PHRASE)?(_|$)|SECRET|TOKEN|CREDENTIAL|KEYS?(_|$)",
    re.IGNORECASE,
)
# The words of a parameter's name that make its value a secret: api_key, accessToken, sig, but not max_tokens.
_SECRET_WORDS = {
    *("password", "passwd", "passphrase", "pwd", "secret", "secrets", "token", "credential", "credentials"),
    *("key", "apikey", "sig", "signature", "auth", "authorization"),
}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

remembered: set[str] = set()


def remember_credentials(credentials: Mapping[str, Any]) -> None:
    """From now on, hide every text and number of the project's credentials."""
    remembered.update(text for text in _texts(credentials) if len(text) >= SHORTEST_SECRET)


def remember_parameters(parameters: Mapping[str, Any]) -> None:
    """From now on, hide the values of parameters whose names suggest a secret."""
    remember_credentials({"secrets": list(_secret_values(parameters))})


def names_secret(name: str) -> bool:
    """Whether the name of a parameter, or its last part, suggests that its value is a secret.

    >>> [name for name in ("model.options.token", "api_key", "accessToken", "sig") if not names_secret(name)]
    []
    >>> [name for name in ("max_tokens", "tokenizer", "keys", "token.slack", "hidden") if names_secret(name)]
    []
    """
    return not _SECRET_WORDS.isdisjoint(word.lower() for word in _WORD.findall(name.rpartition(".")[2]))


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, with secrets hidden by their names: for what is written of parameters.

    Four digits of a digest stay. They are too few to find the secret, and enough to tell that another one was given.
    """
    return {name: _without_secret(str(name), value) for name, value in values.items()}


def left_out(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values without those that `without_secrets` hides."""
    return {
        name: left_out(value) if isinstance(value, Mapping) else value
        for name, value in without_secrets(values).items()
        if not is_hidden(value)
    }


def is_hidden(value: Any) -> bool:
    """Whether a value stands in for a secret."""
    return isinstance(value, str) and value.startswith(HIDDEN)


def redact(text: str) -> str:
    """Remove credentials: those in addresses, the project's, and values of variables whose names suggest a secret.

    >>> redact("no answer from https://ann:pass@example.org/x?page=1&sig=abc")
    'no answer from https://example.org/x?page=1&sig=***'
    """
    text = _ASSIGNED.sub(_without_assigned, without_user(text))
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


def _without_assigned(match: re.Match[str]) -> str:
    return f"{match['name']}={HIDDEN}" if names_secret(match["name"]) else match[0]


def _without_secret(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_secret(f"{name}.{key}", part) for key, part in value.items()}
    if isinstance(value, list | tuple) and names_secret(name):
        return [_without_secret(name, part) for part in value]
    if names_secret(name) and _can_be_secret(value):
        return f"{HIDDEN} {hashlib.sha256(str(value).encode()).hexdigest()[:4]}"
    return value


def _secret_values(values: Mapping[str, Any]) -> Iterator[Any]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _secret_values(value)
        elif names_secret(str(name)):
            parts = value if isinstance(value, list | tuple) else [value]
            yield from (part for part in parts if _can_be_secret(part) and not is_hidden(part))


def _can_be_secret(value: Any) -> bool:
    """A text, or a number of many digits; a small number is a size or a count."""
    if isinstance(value, bool | float):
        return False
    return (isinstance(value, str) and value != "") or (isinstance(value, int) and len(str(value)) >= SHORTEST_SECRET)


def _secrets() -> set[str]:
    named = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    return {secret for secret in named | remembered if len(secret) >= SHORTEST_SECRET}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, str | int | float):  # YAML reads a password of digits as a number
        yield str(value)
    elif isinstance(value, Iterable):
        for part in value:
            yield from _texts(part)
