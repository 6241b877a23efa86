"""ARFF as published files and their dialects have it."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from idbpd.datasets.arff import reader
from idbpd.datasets.arff.mulan import read_mulan_labels
from idbpd.datasets.arff.reader import LabelNames, read_arff
from idbpd.datasets.arff.writer import render_arff
from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError

DENSE = """% a comment
@RELATION 'small: -C -2'

@Attribute att1 numeric
@attribute 'att 2' REAL   % another comment
@attribute first {0,1}
@attribute second {0, 1}

@DATA
1,2.5,0,1
-3e-2,.5,1,0
% a comment among the data

4,5,1,1
"""
SPARSE = """@relation "small: -C 2"
@attribute first {0,1}
@attribute second {0,1}
@attribute word1 numeric
@attribute word2 numeric
@attribute word3 numeric
@data
{0 1,3 2}
{}
{1 1, 2 0.5, 4 -1}
"""


def _read(text: str, labels: list[str] | None = None, **options: object) -> TaskTable:
    names = None if labels is None else LabelNames(labels, ["labels"] * len(labels))
    return read_arff(text.encode(), "file.arff", labels=names, **options)  # type: ignore[arg-type]


def test_a_dense_file_with_labels_at_the_end() -> None:
    table = _read(DENSE)
    np.testing.assert_array_equal(table.features, np.array([[1, 2.5], [-0.03, 0.5], [4, 5]], dtype=np.float32))
    np.testing.assert_array_equal(table.labels, [[0, 1], [1, 0], [1, 1]])
    assert table.feature_names == ("att1", "att 2")
    assert table.label_names == ("first", "second")
    assert table.origin.of(0) == "file.arff, line 10"
    assert table.origin.of(2) == "file.arff, line 14"


def test_a_sparse_file_with_labels_at_the_beginning_stays_sparse() -> None:
    table = _read(SPARSE)
    assert isinstance(table.features, csr_array)
    assert table.features.nnz == 3
    np.testing.assert_array_equal(table.dense_features(slice(None)), [[0, 2, 0], [0, 0, 0], [0.5, 0, -1]])
    np.testing.assert_array_equal(table.labels, [[1, 0], [0, 0], [0, 1]])
    assert table.feature_names == ("word1", "word2", "word3")
    assert [table.origin.of(row) for row in range(3)] == [f"file.arff, line {line}" for line in (8, 9, 10)]


def test_named_labels_stand_in_the_order_of_the_file() -> None:
    table = _read(DENSE, labels=["second", "first"])
    assert table.label_names == ("first", "second")


def test_labels_named_by_mulan() -> None:
    xml = '<?xml version="1.0"?>\n<labels xmlns="http://x">\n<label name="second"/><label name="first"/></labels>'
    labels = read_mulan_labels(xml.encode(), "file.xml")
    assert labels.names == ["second", "first"]
    assert read_arff(DENSE.encode(), "file.arff", labels=labels).label_names == ("first", "second")


@pytest.mark.parametrize("text", [DENSE, SPARSE])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_byte_order_mark_do_not_matter(text: str, end: str) -> None:
    table = read_arff(b"\xef\xbb\xbf" + text.replace("\n", end).encode(), "file.arff")
    expected = _read(text)
    np.testing.assert_array_equal(table.dense_features(slice(None)), expected.dense_features(slice(None)))
    np.testing.assert_array_equal(table.labels, expected.labels)
    np.testing.assert_array_equal(table.origin.lines, expected.origin.lines)


def test_quotes_escapes_and_percent_signs() -> None:
    table = _read(
        r"""@relation 'it\'s: -C 2'
@attribute 'label {one}' {0,1}
@attribute "label, two" {'0',"1"}
@attribute 100% numeric
@attribute colour {'light, blue', red , "dark\"red", 50%}
@data
0,1, 7 ,'light, blue' % the rest, of the line
'1',0,8, "dark\"red"
1,"1",9,50%
0,0,9,red
"""
    )
    assert table.label_names == ("label {one}", "label, two")
    assert table.feature_names == ("100%", "colour=light, blue", "colour=red", 'colour=dark"red', "colour=50%")
    np.testing.assert_array_equal(table.features, [[7, 1, 0, 0, 0], [8, 0, 0, 1, 0], [9, 0, 0, 0, 1], [9, 0, 1, 0, 0]])


def test_values_missing_from_a_sparse_row_are_the_first_category() -> None:
    text = """@relation x
@attribute flag {1,0}
@attribute colour {red,green,blue}
@attribute yes {1,0}
@attribute no {0,1}
@data
{}
{0 0,1 blue,2 0,3 1}
{1 green}
"""
    table = _read(text, labels=["yes", "no"])
    assert table.feature_names == ("flag", "colour=red", "colour=green", "colour=blue")
    np.testing.assert_array_equal(table.dense_features(slice(None)), [[1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0]])
    np.testing.assert_array_equal(table.labels, [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize("row", ["?,1,0,1", "1,1,0,1"])
def test_a_question_mark_is_missing_unless_it_is_quoted(row: str) -> None:
    table = _read(DENSE.replace("4,5,1,1", row))
    assert np.isnan(table.dense_features(slice(None))[2, 0]) == row.startswith("?")
    with pytest.raises(DataError, match=r"line 14: attribute 'att1': '\?' is not a number"):
        _read(DENSE.replace("4,5,1,1", "'?',1,0,1"))


def test_numeric_labels_and_ignored_texts() -> None:
    text = """@relation x
@attribute name string
@attribute born date "yyyy-MM-dd"
@attribute size integer
@attribute a numeric
@attribute b numeric
@data
'Ann, or so',2001-02-03,5,1,0
Bob,?,6,0,1.0
"""
    table = _read(text, labels=["a", "b"], ignore=["name", "born"])
    assert table.feature_names == ("size",)
    np.testing.assert_array_equal(table.labels, [[1, 0], [0, 1]])
    with pytest.raises(DataError, match=r"line 2: attribute 'name' is a text .* leave it out with ignore: \[name\]"):
        _read(text, labels=["a", "b"])


def test_another_encoding_can_be_named() -> None:
    text = DENSE.replace("att1", "größe")
    assert read_arff(text.encode("latin-1"), "f", encoding="latin-1").feature_names[0] == "größe"
    assert read_arff(text.encode("utf-16"), "f", encoding="utf-16").feature_names[0] == "größe"
    with pytest.raises(DataError, match="f: cannot be read with encoding 'klingon': unknown encoding: klingon"):
        read_arff(text.encode(), "f", encoding="klingon")


@pytest.mark.parametrize("text", [DENSE, SPARSE])
def test_both_readers_agree(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = "\n".join(line for line in text.split("\n") if not line.startswith("%")).replace(", ", ",")
    fast = _read(plain)
    monkeypatch.setattr(reader, "read_plain_rows", lambda _: None)
    exact = _read(plain)
    np.testing.assert_array_equal(fast.dense_features(slice(None)), exact.dense_features(slice(None)))
    np.testing.assert_array_equal(fast.labels, exact.labels)
    np.testing.assert_array_equal(fast.origin.lines, exact.origin.lines)


@pytest.mark.parametrize("text", [DENSE, SPARSE])
def test_a_written_table_is_read_back_to_the_last_bit(text: str) -> None:
    table = _read(text.replace("4,5", "0.1,16777217").replace("0.5", "1e-39"))
    again = read_arff(render_arff(table, "it's"), "again")
    assert again.feature_names == table.feature_names
    assert again.label_names == table.label_names
    assert isinstance(again.features, csr_array) == isinstance(table.features, csr_array)
    np.testing.assert_array_equal(again.dense_features(slice(None)), table.dense_features(slice(None)))
    np.testing.assert_array_equal(again.labels, table.labels)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4,5,1,1", "4,5,1,1,1", "file.arff, line 14: the row has 5 values, expected 4"),
        ("4,5,1,1", "4,5,1", "file.arff, line 14: the row has 3 values, expected 4"),
        ("4,5,1,1", "4,,1,1", "file.arff, line 14: a value is empty; a missing value is written ?"),
        ("4,5,1,1", "4,5,2,1", "file.arff, line 14: attribute 'first': '2' is not one of {0, 1}"),
        ("4,5,1,1", "4,5,1.0,1", "file.arff, line 14: attribute 'first': '1.0' is not one of {0, 1}"),
        ("4,5,1,1", "4,x,1,1", "file.arff, line 14: attribute 'att 2': 'x' is not a number; a missing value is"),
        ("4,5,1,1", "4,nan,1,1", "file.arff, line 14: attribute 'att 2': 'nan' is not a number"),
        ("4,5,1,1", "4,1_0,1,1", "file.arff, line 14: attribute 'att 2': '1_0' is not a number"),
        ("4,5,1,1", "4,٣,1,1", "file.arff, line 14: attribute 'att 2': '٣' is not a number"),
        ("4,5,1,1", "4,'5,1,1", "file.arff, line 14: the quote ' is not closed"),
        ("4,5,1,1", "4,'5'6,1,1", "file.arff, line 14: there is text after the quoted value '5': '6,1,1'"),
        ("4,5,1,1", "4,5,?,1", "file.arff, line 14: label 'first' is missing; a label is 0 or 1"),
        ("4,5,1,1", "{0 1}", "file.arff, line 14: dense and sparse rows in one file"),
        ("-C -2", "-C -4", "file.arff, line 2: '-C -4' in the relation's name says that 4 of 4 attributes are labels"),
        ("-C -2", "-C 0", "file.arff, line 2: '-C 0' in the relation's name says that 0 of 4"),
        (": -C -2", "", "file.arff: which attributes are labels? Set labels: [...] or labels_file: ...;"),
        ("{0,1}", "{a,b}", "file.arff, line 6: label 'first' has the values {a, b}; a label has {0,1}"),
        ("{0,1}", "{0,1,0}", "file.arff, line 6: the set of values {0,1,0} contains a value twice"),
        ("{0,1}", "{0,1", "file.arff, line 6: the brace { is not closed by }"),
        ("{0,1}", "string", "file.arff, line 6: label 'first' is a text; a label has {0,1}"),
        ("numeric", "number", "file.arff, line 4: attribute 'att1' has the type 'number'; expected numeric, real,"),
        ("numeric", "numeric 5", "file.arff, line 4: unexpected '5' at the end of the line"),
        ("att1 numeric", "{0,1}", "file.arff, line 4: an attribute needs a name and a type"),
        ("numeric", "relational", "file.arff, line 4: attribute 'att1' has the type 'relational'"),
        ("'att 2'", "att1", "file.arff, line 9: attribute 'att1' is declared twice, in lines 4 and 5"),
        ("@DATA", "@DATE", "file.arff, line 9: expected @relation, @attribute, @data or a comment, found '@DATE'"),
        ("@DATA", "", "file.arff, line 10: expected @relation, @attribute, @data or a comment, found '1,2.5,0,1'"),
    ],
)
def test_a_bad_line_is_named(old: str, new: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        _read(DENSE.replace(old, new, 1))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{0 1,5 2}", "line 8: index 5 is out of range: there are 5 attributes, counted from 0"),
        ("{0 1,99999999999999999999999999 2}", "line 8: index 99999999999999999999999999 is out of range"),
        ("{0 1,-3 2}", "line 8: expected an index and a value, found '-3 2'"),
        ("{-0 1,3 2}", "line 8: expected an index and a value, found '-0 1,3 2'"),
        ("{3 1,3 2}", "line 8: index 3 is named twice"),
        ("{0 1,3}", "line 8: expected an index and a value, found '3'"),
        ("{0 1,,3 2}", "line 8: expected an index and a value, found ',3 2'"),
        ("{0 1,3 2", "line 8: the brace { is not closed by }"),
        ("{0 1,3 2} 7", "line 8: unexpected '7' after the closing brace"),
        ("{0 7,3 2}", "line 8: attribute 'first': '7' is not one of {0, 1}"),
        ("{0 1,3 ?}x", "line 8: unexpected 'x' after the closing brace"),
        ("1,0,0,0,0", "line 9: dense and sparse rows in one file"),
    ],
)
def test_a_bad_sparse_row_is_named(row: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        _read(SPARSE.replace("{0 1,3 2}", row))
    assert f"file.arff, {message}" in str(error.value)


def test_indices_of_a_sparse_row_in_any_order() -> None:
    table = _read(SPARSE.replace("{0 1,3 2}", "{3 2 , 0 1}  % reordered"))
    np.testing.assert_array_equal(table.dense_features(slice(None)), _read(SPARSE).dense_features(slice(None)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "file.arff: the file is empty"),
        (b" \n\n", "file.arff: the file is empty"),
        (DENSE.encode("utf-16"), "file.arff, line 1: "),
        (DENSE.encode("utf-16-le"), "file.arff, line 1: zero byte; the file is not text, or needs encoding: utf-16"),
        (
            DENSE.replace("att1", "größe").encode("latin-1"),
            "file.arff, line 4: byte 0xf6 is not UTF-8; name the file's",
        ),
        (DENSE.replace("4,5", "ä,5").encode("latin-1"), "file.arff, line 14: byte 0xe4 is not UTF-8"),
        (DENSE.partition("1,2.5")[0].encode(), "file.arff, line 10: no row after @data"),
        (b"@relation x\n@data\n1\n", "file.arff, line 2: the file declares no attribute before its data"),
        (b"@relation x\n@attribute a numeric\n", "file.arff, line 2: the file ends without a line @data"),
        (b"\x89PNG\r\n\x1a\n", "file.arff, line 1: byte 0x89 is not UTF-8"),
    ],
)
def test_a_file_that_is_not_arff_is_named(content: bytes, message: str) -> None:
    with pytest.raises(DataError) as error:
        read_arff(content, "file.arff")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ('<labels>\n<label name="third"/></labels>', "file.xml, line 2 names 'third', but file.arff has no such attr"),
        ('<labels>\n<label name="first"/>\n<label name="first"/></labels>', "file.xml, line 3: label 'first' is named"),
        ('<labels><label title="first"/></labels>', "file.xml, line 1: a label without a name; expected <label name"),
        ("<labels>\n<label name='first'>", "file.xml, line 2: not XML: no element found"),
        ("", "file.xml, line 1: not XML: no element found"),
        ("first, second", "file.xml, line 1: not XML: syntax error"),
        ("<labels/>", "file.xml: no label found"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><labels/>', "file.xml, line 1: a document type is not allowed here"),
        ('<?xml version="1.0" encoding="klingon"?><labels/>', "file.xml, line 1: not XML: unknown encoding"),
    ],
)
def test_a_bad_label_file_is_named(xml: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        read_arff(DENSE.encode(), "file.arff", labels=read_mulan_labels(xml.encode(), "file.xml"))
    assert message in str(error.value)


def test_unknown_names_in_the_configuration_are_named() -> None:
    with pytest.raises(DataError, match=r"labels names 'thrid', but file.arff has no such attribute"):
        _read(DENSE, labels=["first", "thrid"])
    with pytest.raises(DataError, match=r"ignore names 'id', but file.arff has no such attribute"):
        _read(DENSE, ignore=["id"])
