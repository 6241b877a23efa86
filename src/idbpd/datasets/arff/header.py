"""The header of an ARFF file: the relation, the attributes, and the line where the data begin."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from idbpd.datasets.arff.values import (
    COMMENT,
    ArffSyntaxError,
    Value,
    closing_brace,
    read_quoted,
    read_value,
    shorten,
    split_values,
)
from idbpd.errors import DataError

NUMERIC = ("numeric", "real", "integer")
TEXT = ("string", "date")
UTF8_MARK = b"\xef\xbb\xbf"
_MEKA_COUNT = re.compile(r"(?<!\S)-C\s+(-?[0-9]+)(?=\s|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Attribute:
    """A column: numeric, text, or nominal with its categories in file order."""

    name: str
    kind: str  # "numeric", "nominal" or "text"
    categories: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Header:
    """Everything before the data."""

    relation: str
    relation_line: int
    attributes: tuple[Attribute, ...]

    def meka_labels(self) -> range | None:
        """The attributes that MEKA's ``-C n`` marks as labels: the first n, or the last -n if n is negative."""
        found = _MEKA_COUNT.search(self.relation.rpartition(":")[2])
        if found is None:
            return None
        count, total = int(found.group(1)), len(self.attributes)
        if not 0 < abs(count) < total:
            raise ArffSyntaxError(
                f"'-C {count}' in the relation's name says that {abs(count)} of {total} attributes are labels; "
                f"expected 1 to {total - 1}"
            )
        return range(count) if count > 0 else range(total + count, total)


class Document(NamedTuple):
    """A file in two parts: the parsed header and the unparsed data."""

    header: Header
    data: bytes  # UTF-8
    first_line: int  # the first line of the data, counted from 1


def read_document(content: bytes, name: str, encoding: str) -> Document:
    """Parse the header; an error names the file and the line."""
    content = _as_utf8(content, name, encoding)
    relation, relation_line, attributes = "", 0, list[Attribute]()
    begin, number = 0, 0
    while begin < len(content):
        end = content.find(b"\n", begin)
        end = len(content) if end == -1 else end
        number += 1
        line = _decoded(content[begin:end], name, number).strip()
        begin = end + 1
        try:
            keyword, rest = _declaration(line)
            if keyword == "@data":
                _require_end(rest)
                return Document(_header(relation, relation_line, attributes), content[begin:], number + 1)
            if keyword == "@relation":
                relation, relation_line = _relation(rest), number
            elif keyword == "@attribute":
                attributes.append(_attribute(rest, number))
        except ArffSyntaxError as error:
            raise DataError(f"{name}, line {number}: {error}") from error
    raise DataError(f"{name}, line {number}: the file ends without a line @data; is it an ARFF file?")


def _as_utf8(content: bytes, name: str, encoding: str) -> bytes:
    if not content or content.isspace():
        raise DataError(f"{name}: the file is empty")
    if encoding.replace("-", "").replace("_", "").lower() != "utf8":
        try:
            content = content.decode(encoding).encode()
        except (UnicodeError, LookupError) as error:
            raise DataError(f"{name}: cannot be read with encoding {encoding!r}: {error}") from error
    content = content.removeprefix(UTF8_MARK)
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise DataError(f"{name}, line {line}: zero byte; the file is not text, or needs encoding: utf-16")
    if b"\r" in content:  # line ends of Windows and of old Macs
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


def decoding_error(error: UnicodeDecodeError, name: str, line: int) -> DataError:
    """The error for a line that is not UTF-8."""
    return DataError(
        f"{name}, line {line}: byte 0x{error.object[error.start]:02x} is not UTF-8; "
        "name the file's encoding (for example encoding: latin-1)"
    )


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise decoding_error(error, name, number) from error


def _declaration(line: str) -> tuple[str, str]:
    """The keyword of a header line in lower case and the rest of the line; both empty for a comment or empty line."""
    if not line or line.startswith(COMMENT):
        return "", ""
    words = line.split(maxsplit=1)
    keyword = words[0].lower()
    if keyword not in ("@relation", "@attribute", "@data"):
        raise ArffSyntaxError(f"expected @relation, @attribute, @data or a comment, found {shorten(line)!r}")
    return keyword, words[1] if len(words) == 2 else ""


def _relation(rest: str) -> str:
    # MEKA writes options into the name, and not every program puts it in quotes.
    return read_value(rest, 0)[0].text if rest.startswith(("'", '"')) else rest


def _attribute(rest: str, line: int) -> Attribute:
    name, at = _name(rest)
    kind = rest[at:].strip()
    if kind.startswith("{"):
        return Attribute(name, "nominal", _categories(kind), line)
    word = kind.split(maxsplit=1)[0].lower() if kind else ""
    if word in TEXT:  # a date may be followed by its format
        return Attribute(name, "text", (), line)
    if word not in NUMERIC:
        raise ArffSyntaxError(
            f"attribute {name!r} has the type {shorten(kind)!r}; expected {', '.join(NUMERIC + TEXT)} or "
            "{a set of values}"
        )
    _require_end(kind[len(word) :])
    return Attribute(name, "numeric", (), line)


def _name(rest: str) -> tuple[str, int]:
    if rest.startswith(("'", '"')):
        return read_quoted(rest, 0)
    found = re.match(r"[^\s{%][^\s{]*", rest)
    if found is None:
        raise ArffSyntaxError("an attribute needs a name and a type")
    return found.group(), found.end()


def _categories(text: str) -> tuple[str, ...]:
    close = closing_brace(text)
    _require_end(text[close + 1 :])
    values: list[Value] = split_values(text[1:close])
    categories = tuple(value.text for value in values)
    if len(set(categories)) != len(categories):
        raise ArffSyntaxError(f"the set of values {shorten(text)} contains a value twice")
    return categories


def _require_end(rest: str) -> None:
    rest = rest.strip()
    if rest and not rest.startswith(COMMENT):
        raise ArffSyntaxError(f"unexpected {shorten(rest)!r} at the end of the line")


def _header(relation: str, relation_line: int, attributes: list[Attribute]) -> Header:
    if not attributes:
        raise ArffSyntaxError("the file declares no attribute before its data")
    first: dict[str, int] = {}
    for attribute in attributes:
        if attribute.name in first:
            raise ArffSyntaxError(
                f"attribute {attribute.name!r} is declared twice, in lines {first[attribute.name]} and {attribute.line}"
            )
        first[attribute.name] = attribute.line
    return Header(relation, relation_line, tuple(attributes))
