"""Parser for the values of an ARFF line: quotes, escapes, comments and numbers."""

import re
from typing import NamedTuple

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
COMMENT = "%"
MISSING = "?"


class Value(NamedTuple):
    """An unescaped value, and whether it was quoted: an unquoted ``?`` is missing, a quoted one is a text."""

    text: str
    quoted: bool

    @property
    def is_missing(self) -> bool:
        """Whether the file marks the value as missing."""
        return self.text == MISSING and not self.quoted


class ArffSyntaxError(ValueError):
    """A syntax error in a line; the caller adds the file and the line number."""


def split_values(text: str) -> list[Value]:
    """The values of a line, separated by commas.

    >>> [value.text for value in split_values("1, 'a, b', ? % as measured")]
    ['1', 'a, b', '?']
    """
    if not any(mark in text for mark in "'\"%"):  # most lines by far
        return [_unquoted(part.lstrip(" \t")) for part in text.split(",")]
    values: list[Value] = []
    at = 0
    while True:
        value, at = read_value(text, at)
        values.append(value)
        if at == len(text):
            return values
        at += 1  # the comma


def read_value(text: str, at: int) -> tuple[Value, int]:
    """The value that begins at ``at``, and the position of the comma after it or the end of the text."""
    at = skip_space(text, at)
    if at < len(text) and text[at] in "'\"":
        quoted, at = read_quoted(text, at)
        at = skip_space(text, at)
        if at < len(text) and text[at] == COMMENT:
            at = len(text)
        if at < len(text) and text[at] != ",":
            raise ArffSyntaxError(f"there is text after the quoted value {quoted!r}: {shorten(text[at:])!r}")
        return Value(quoted, True), at
    comma = text.find(",", at)
    end = len(text) if comma == -1 else comma
    comment = _comment_start(text, at, end)
    if comment is not None:
        return _unquoted(text[at:comment]), len(text)
    return _unquoted(text[at:end]), end


def parse_number(text: str) -> float:
    """Parse a number: only digits, sign, point and exponent are allowed.

    >>> parse_number("-1.5e3")
    -1500.0
    """
    if NUMBER.fullmatch(text) is None:
        raise ArffSyntaxError(f"{shorten(text)!r} is not a number; a missing value is written {MISSING}")
    return float(text)


def read_quoted(text: str, at: int) -> tuple[str, int]:
    """The text between the quote at ``at`` and its partner, and the position after that."""
    mark, parts = text[at], []
    at += 1
    while at < len(text) and text[at] != mark:
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
            parts.append(ESCAPES.get(text[at], text[at]))
        else:
            parts.append(text[at])
        at += 1
    if at == len(text):
        raise ArffSyntaxError(f"the quote {mark} is not closed")
    return "".join(parts), at + 1


def closing_brace(text: str) -> int:
    """The position of the brace that closes the one at the start of ``text``; braces inside quotes do not count."""
    at = 1
    while at < len(text) and text[at] != "}":
        at = read_quoted(text, at)[1] if text[at] in "'\"" else at + 1
    if at >= len(text):
        raise ArffSyntaxError("the brace { is not closed by }")
    return at


def skip_space(text: str, at: int) -> int:
    """The first position from ``at`` on that is not a space or tab."""
    while at < len(text) and text[at] in " \t":
        at += 1
    return at


def shorten(text: str) -> str:
    """Shorten a text for an error message."""
    return text if len(text) <= 40 else text[:37] + "..."


def quote(text: str) -> str:
    r"""Quote a name or value for an ARFF file where needed.

    >>> print(quote("it's"))
    'it\'s'
    """
    if text and re.fullmatch(r"[\w.+-]+", text) is not None:
        return text
    for plain, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
        text = text.replace(plain, escaped)
    return f"'{text}'"


def _unquoted(text: str) -> Value:
    stripped = text.rstrip(" \t")
    if not stripped:
        raise ArffSyntaxError(f"a value is empty; a missing value is written {MISSING}")
    return Value(stripped, False)


def _comment_start(text: str, begin: int, end: int) -> int | None:
    """The start of a comment between two positions; a percent sign inside a word belongs to the word."""
    at = text.find(COMMENT, begin, end)
    while at != -1:
        if at == begin or text[at - 1] in " \t":
            return at
        at = text.find(COMMENT, at + 1, end)
    return None
