"""Convert the bytes of an ARFF file into a multi-label table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from idbpd.datasets.arff.fast import read_plain_rows
from idbpd.datasets.arff.header import Attribute, Header, read_document
from idbpd.datasets.arff.rows import Values, read_rows
from idbpd.datasets.arff.values import ArffSyntaxError
from idbpd.datasets.table import Matrix, Origin, TaskTable
from idbpd.errors import DataError

BINARY = frozenset({"0", "1"})


class LabelNames(NamedTuple):
    """The names of the labels, and where each name is declared (shown in errors)."""

    names: Sequence[str]
    declared_in: Sequence[str]  # one per name


def read_arff(
    content: bytes,
    name: str,
    *,
    labels: LabelNames | None = None,
    ignore: Sequence[str] = (),
    encoding: str = "utf-8",
) -> TaskTable:
    """Read the table from an ARFF file; errors call the file ``name``.

    Without ``labels``, the relation's name must mark them as MEKA does. Labels are always in file order. A nominal
    feature with two values becomes one column of 0 and 1; with more values it becomes one column per value.
    """
    document = read_document(content, name, encoding)
    header = document.header
    label_columns = _label_columns(header, name, labels)
    ignored = {_column(header, name, attribute, "ignore") for attribute in ignore}
    feature_columns = [at for at in range(len(header.attributes)) if at not in {*label_columns, *ignored}]
    _require_numbers([header.attributes[at] for at in feature_columns], name)
    _require_binary([header.attributes[at] for at in label_columns], name)
    values, lines = read_plain_rows(document) or read_rows(document, name)
    origin = Origin(name, lines)
    columns = csc_array(values) if isinstance(values, csr_array) else values
    features, feature_names = _features(columns, header, feature_columns)
    return TaskTable(
        features=features,
        feature_names=feature_names,
        labels=_labels(columns, header, label_columns, origin),
        label_names=tuple(header.attributes[at].name for at in label_columns),
        origin=origin,
    )


def _label_columns(header: Header, name: str, labels: LabelNames | None) -> list[int]:
    if labels is not None:
        named = {_column(header, name, *pair) for pair in zip(labels.names, labels.declared_in, strict=True)}
        return sorted(named)
    try:
        marked = header.meka_labels()
    except ArffSyntaxError as error:
        raise DataError(f"{name}, line {header.relation_line}: {error}") from error
    if marked is None:
        raise DataError(
            f"{name}: which attributes are labels? Set labels: [...] or labels_file: ...; "
            f"the relation {header.relation!r} has no MEKA option '-C n'"
        )
    return list(marked)


def _column(header: Header, name: str, attribute: str, declared_in: str) -> int:
    for at, candidate in enumerate(header.attributes):
        if candidate.name == attribute:
            return at
    raise DataError(f"{declared_in} names {attribute!r}, but {name} has no such attribute")


def _require_numbers(attributes: list[Attribute], name: str) -> None:
    for attribute in attributes:
        if attribute.kind == "text":
            raise DataError(
                f"{name}, line {attribute.line}: attribute {attribute.name!r} is a text and cannot be a feature; "
                f"leave it out with ignore: [{attribute.name}]"
            )


def _require_binary(attributes: list[Attribute], name: str) -> None:
    for attribute in attributes:
        if attribute.kind == "text" or not BINARY.issuperset(attribute.categories):
            found = "is a text" if attribute.kind == "text" else f"has the values {{{', '.join(attribute.categories)}}}"
            raise DataError(f"{name}, line {attribute.line}: label {attribute.name!r} {found}; a label has {{0,1}}")


def _features(columns: Values | csc_array, header: Header, chosen: list[int]) -> tuple[Matrix, tuple[str, ...]]:
    plain = all(len(header.attributes[at].categories) <= 2 for at in chosen)
    if plain and all(header.attributes[at].categories in ((), ("0", "1")) for at in chosen):
        return _as_features(columns[:, chosen]), tuple(header.attributes[at].name for at in chosen)
    blocks, names = [], list[str]()
    for at in chosen:
        attribute, column = header.attributes[at], _dense_column(columns, at)
        if len(attribute.categories) <= 2:
            if attribute.categories == ("1", "0"):  # the file lists them in reverse; 1 must stay 1
                column = 1 - column
            blocks.append(column)
            names.append(attribute.name)
        else:
            # A missing category is missing in each of its columns.
            missing = np.where(np.isnan(column), np.nan, 0.0)
            blocks += [missing + (column == code) for code in range(len(attribute.categories))]
            names += [f"{attribute.name}={category}" for category in attribute.categories]
    dense = np.stack(blocks, axis=1) if blocks else np.zeros((columns.shape[0], 0))
    return _as_features(csr_array(dense) if isinstance(columns, csc_array) else dense), tuple(names)


def _as_features(matrix: Values | csc_array) -> Matrix:
    # Values too large for float32 become infinite here; the check for finite features reports them.
    with np.errstate(over="ignore"):
        if isinstance(matrix, np.ndarray):
            return np.ascontiguousarray(matrix, dtype=np.float32)
        sparse = csr_array(matrix).astype(np.float32)
        sparse.eliminate_zeros()
        return sparse


def _dense_column(columns: Values | csc_array, at: int) -> NDArray[np.float64]:
    column: NDArray[np.float64] = columns[:, [at]].toarray()[:, 0] if isinstance(columns, csc_array) else columns[:, at]
    return column


def _labels(columns: Values | csc_array, header: Header, chosen: list[int], origin: Origin) -> NDArray[np.int8]:
    labels = np.empty((columns.shape[0], len(chosen)), dtype=np.int8)
    block = columns[:, chosen].toarray() if isinstance(columns, csc_array) else columns[:, chosen]
    for position, at in enumerate(chosen):
        attribute, column = header.attributes[at], block[:, position]
        if attribute.kind == "nominal":
            meaning = np.array([float(category) for category in attribute.categories])
            known = ~np.isnan(column)
            column = np.where(known, meaning[np.where(known, column, 0).astype(np.intp)], np.nan)
        wrong = np.flatnonzero(~np.isin(column, (0, 1)))
        if len(wrong):
            found = "missing" if np.isnan(column[wrong[0]]) else f"{column[wrong[0]]:g}"
            raise DataError(f"{origin.of(wrong[0])}: label {attribute.name!r} is {found}; a label is 0 or 1")
        labels[:, position] = column
    return labels
