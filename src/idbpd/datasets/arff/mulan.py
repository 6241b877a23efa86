"""Mulan's XML file that names the labels of an ARFF file."""

from typing import Any
from xml.parsers import expat

from idbpd.datasets.arff.reader import LabelNames
from idbpd.errors import DataError


def read_mulan_labels(content: bytes, name: str) -> LabelNames:
    """The names in this file's order, each with the line that names it; labels of a hierarchy count like others."""
    names: list[str] = []
    said_by: list[str] = []
    parser = expat.ParserCreate()

    def element(tag: str, attributes: dict[str, str]) -> None:
        # With a namespace prefix it is the same element.
        if tag.rpartition(":")[2] != "label":
            return
        place = f"{name}, line {parser.CurrentLineNumber}"
        label = attributes.get("name")
        if label is None:
            raise DataError(f'{place}: a label without a name; expected <label name="..."/>')
        if label in names:
            raise DataError(f"{place}: label {label!r} is named twice")
        names.append(label)
        said_by.append(place)

    def doctype(*_: Any) -> None:
        # Nothing that Mulan writes has one, and it is where entities that blow up a file are declared.
        raise DataError(f"{name}, line {parser.CurrentLineNumber}: a document type is not allowed here")

    parser.StartElementHandler = element
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DataError(f"{name}, line {error.lineno}: not XML: {expat.ErrorString(error.code)}") from error
    except (LookupError, ValueError) as error:  # an encoding that nobody knows
        raise DataError(f"{name}, line {parser.CurrentLineNumber}: not XML: {error}") from error
    if not names:
        raise DataError(f'{name}: names no label; expected <labels> with <label name="..."/> inside')
    return LabelNames(names, said_by)
