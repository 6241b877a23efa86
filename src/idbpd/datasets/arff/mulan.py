"""Reader for Mulan's XML file, which names the labels of an ARFF file."""

from typing import Any
from xml.parsers import expat

from idbpd.datasets.arff.reader import LabelNames
from idbpd.errors import DataError


def read_mulan_labels(content: bytes, name: str) -> LabelNames:
    """The label names in file order, each with its line. Labels inside a hierarchy count like others."""
    names: list[str] = []
    declared_in: list[str] = []
    parser = expat.ParserCreate()

    def element(tag: str, attributes: dict[str, str]) -> None:
        # Ignore a namespace prefix.
        if tag.rpartition(":")[2] != "label":
            return
        place = f"{name}, line {parser.CurrentLineNumber}"
        label = attributes.get("name")
        if label is None:
            raise DataError(f'{place}: a label without a name; expected <label name="..."/>')
        if label in names:
            raise DataError(f"{place}: label {label!r} is named twice")
        names.append(label)
        declared_in.append(place)

    def doctype(*_: Any) -> None:
        # Mulan writes none, and entity declarations in one could exhaust the memory.
        raise DataError(f"{name}, line {parser.CurrentLineNumber}: a document type is not allowed here")

    parser.StartElementHandler = element
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DataError(f"{name}, line {error.lineno}: not XML: {expat.ErrorString(error.code)}") from error
    except (LookupError, ValueError) as error:  # unknown encoding
        raise DataError(f"{name}, line {parser.CurrentLineNumber}: not XML: {error}") from error
    if not names:
        raise DataError(f'{name}: no label found; expected <labels> with <label name="..."/> inside')
    return LabelNames(names, declared_in)
