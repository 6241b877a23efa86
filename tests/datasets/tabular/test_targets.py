"""Kinds of targets, found or stated, and the targets that cannot be learnt."""

import logging
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from idbpd.datasets.table import Origin, Target
from idbpd.datasets.tabular.targets import make_target
from idbpd.datasets.tabular.task_block import read_tasks
from idbpd.datasets.tabular.values import Reading, values_of
from idbpd.errors import InputError


def _target(task: Any, **columns: list[Any]) -> Target:
    (block,) = read_tasks({"t": task}, "a.csv")
    rows = len(next(iter(columns.values())))
    values = {name: values_of(pa.chunked_array([column]), name, Reading()) for name, column in columns.items()}
    return make_target(block, values, Origin("a.csv", np.arange(2, rows + 2)))


@pytest.mark.parametrize(
    ("column", "kind", "outputs", "other"),
    [
        (["0", "1", "1", "1"], "binary", ("1",), "0"),
        ([True, False, True], "binary", ("True",), "False"),
        (["Yes", "no", "Yes", "Yes"], "binary", ("Yes",), "no"),
        (["Pass", "Fail", "Pass"], "binary", ("Pass",), "Fail"),
        (["-1", "1", "1"], "binary", ("1",), "-1"),
        (["1", "2", "1"], "binary", ("2",), "1"),
        (["<=50K", ">50K", "<=50K"], "binary", (">50K",), "<=50K"),
        (["a", "b", "a", "b"], "binary", ("b",), "a"),
        (["red", "blue", "red", "green", "blue", "green"], "classes", ("blue", "green", "red"), None),
        (["10", "9", "2"] * 5, "classes", ("2", "9", "10"), None),
        ([str(30 + at // 2) for at in range(16)], "number", ("x",), None),  # two rows for each are no classes
        (["J", "N", "J"], "binary", ("J",), "N"),
        (["vrai", "faux", "vrai"], "binary", ("vrai",), "faux"),
        ([str(number) for number in range(11)], "number", ("x",), None),
        (["1.5", "2", "3"], "number", ("x",), None),
        (["1,5", "2", "3"], "number", ("x",), None),
    ],
)
def test_the_kind_follows_from_the_values(
    column: list[Any], kind: str, outputs: tuple[str, ...], other: str | None
) -> None:
    target = _target("x", x=column)
    assert (target.kind, target.outputs, target.other) == (kind, outputs, other)


def test_targets_of_each_kind() -> None:
    binary = _target({"column": "x", "slack": 0.2}, x=["no", "yes", "?"])
    np.testing.assert_array_equal(binary.values, [[0], [1], [np.nan]])
    assert binary.options == {"slack": 0.2}
    assert binary.known.tolist() == [True, True, False]
    classes = _target("x", x=["b", "?", "a", "c", "c", "a", "b"])
    np.testing.assert_array_equal(classes.values[:4], [[0, 1, 0], [np.nan] * 3, [1, 0, 0], [0, 0, 1]])
    number = _target("x", x=["1.5", "", "-3", "4"])
    np.testing.assert_array_equal(number.values, [[1.5], [np.nan], [-3], [4]])
    labels = _target(["x", "label:y"], x=["1", "0", "?"], **{"label:y": [True, None, False]})
    assert (labels.kind, labels.outputs) == ("labels", ("x", "y"))
    np.testing.assert_array_equal(labels.values, [[1, 1], [0, np.nan], [np.nan, 0]])
    assert labels.known.all()
    distribution = _target({"columns": ["x", "y"], "kind": "distribution"}, x=["yes", "no"], y=["f", "t"])
    assert distribution.kind == "distribution"
    np.testing.assert_array_equal(distribution.values, [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("positive", "column", "output", "other", "values"),
    [
        ("single", ["single", "widowed", "married"], "single", "not single", [1, 0, 0]),
        ("no", ["no", "yes"], "no", "yes", [1, 0]),
        (True, ["no", "yes"], "yes", "no", [0, 1]),  # YAML makes true of an unquoted yes
        (False, ["no", "yes"], "no", "yes", [1, 0]),
        (2, ["1", "2.0", "3"], "2", "not 2", [0, 1, 0]),
    ],
)
def test_the_positive_value_can_be_chosen(
    positive: Any, column: list[str], output: str, other: str, values: list[float]
) -> None:
    target = _target({"column": "x", "positive": positive}, x=column)
    assert (target.kind, target.outputs, target.other) == ("binary", (output,), other)
    assert target.values[:, 0].tolist() == values


def test_the_kind_can_be_stated() -> None:
    assert _target({"column": "x", "kind": "number"}, x=["0", "1"]).kind == "number"
    assert _target({"column": "x", "kind": "classes"}, x=["0", "1", "0", "1"]).outputs == ("0", "1")
    assert _target({"column": "x", "kind": "labels"}, x=["0", "1"]).kind == "labels"


@pytest.mark.parametrize(
    ("task", "column", "message"),
    [
        (
            "x",
            ["no", "no", "?"],
            "a.csv: task 't': column 'x' is 'no' in all 2 rows that have a value; a task needs two",
        ),
        ("x", ["?", "", "NA"], "a.csv: task 't': column 'x' has no value in any row"),
        ("x", [[1], [2]], "a.csv: task 't': column 'x' holds list<item: int64>; a task predicts numbers, texts"),
        ("x", ["2024-01-01", "2024-01-02", "2024-01-03"], "column 'x' holds dates; a task predicts numbers, classes"),
        ("x", ["a", "b", "c"], "column 'x' has another value in every row; each class needs several rows"),
        (
            "x",
            [f"v{at // 2}" for at in range(4000)],
            "column 'x' has 2000 different values in 4000 rows, too many for classes (at most 1000), such as "
            "'v0'; a name, an identifier or free text",
        ),
        (
            {"column": "x", "kind": "classes"},
            [str(at // 2) for at in range(4000)],
            "too many for classes (at most 1000), such as '0'; set kind: number",
        ),
        ("x", ["1", "2.5", "inf"], "a.csv, line 4: task 't': column 'x' is infinite; numbers must be finite"),
        ("x", ["1", "2.5", "-1e39"], "a.csv, line 4: task 't': column 'x' is -1e+39, which is too large"),
        (
            {"column": "x", "kind": "number"},
            ["1", "low", "2"],
            "a.csv, line 3: task 't': column 'x' is 'low', which is not a number; words for a missing value are listed",
        ),
        (
            "x",
            [*map(str, range(30)), "n.k."],
            "a.csv: task 't': column 'x': all but 1 of its values are numbers; if the others ('n.k.') mean that a "
            "value is missing, list them under 'missing'; if they are classes, set kind: classes",
        ),
        (
            {"column": "x", "kind": "binary"},
            ["a", "b", "c"],
            "column 'x' has 3 values (a, b, c); say which is yes: positive: a",
        ),
        (
            {"column": "x", "positive": "singel"},
            ["single", "married"],
            "column 'x' has no value 'singel' to be positive; did you mean 'single'? its values are married, single",
        ),
        (
            ["x"],
            ["1", "2", "0"],
            "a.csv, line 3: task 't': label 'x' is '2'; a label is 0 or 1, yes or no, true or fal",
        ),
        (["x"], ["1", "1", "?"], "a.csv: task 't': label 'x' is 1 in all 2 rows; it must be 0 in some rows and 1 in"),
        (["x"], ["?", "?", "?"], "a.csv: task 't': label 'x' has no value in any row"),
    ],
)
def test_what_cannot_be_learnt_is_named(task: Any, column: list[Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        _target(task, x=column)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("task", "column", "level", "message"),
    [
        (
            "x",
            [*["yes"] * 10, *["no"] * 30, "?"],
            logging.INFO,
            "task 't': column x, kind binary: yes is 'yes' (25.0% of the rows), no is 'no'; 1 of 41 rows has no value "
            "and takes no part (missing values are written as '?'; if one is a value, see 'not_missing')",
        ),
        (
            "x",
            ["1.5", "2.5", "4", None, None],
            logging.WARNING,
            "task 't': column x, kind number: a number from 1.5 to 4; 2 of 5 rows have no value and take no part",
        ),
        ("x", ["a", "b", "c"] * 2, logging.INFO, "task 't': column x, kind classes: 3 classes (a, b, c)"),
        (
            "x",
            list("abcdefgh") * 2,
            logging.INFO,
            "task 't': column x, kind classes: 8 classes (a, b, c, d, e, f, g, h)",
        ),
        ("x", list("abcdefghi") * 2, logging.INFO, "task 't': column x, kind classes: 9 classes (a, b, c, d, e, ...)"),
        (
            "x",
            ["10001.5", "1298680"] * 9 + ["7"],
            logging.INFO,
            "task 't': column x, kind number: a number from 7 to 1298680",
        ),
        (["x"], ["1", "0"], logging.INFO, "task 't': column x, kind labels: 1 label"),
        (
            "x",
            [*["a", "b"] * 5, "c"],
            logging.WARNING,
            "task 't': the class 'c' is in one row only, which cannot be in the training part and in the test part",
        ),
        (
            "x",
            [*["a", "b"] * 5, "c", "d"],
            logging.WARNING,
            "task 't': 2 classes (c, d) are in one row only, which cannot be in the training part and in the test part",
        ),
        ("x", [*["0"] * 9, "1"], logging.WARNING, "task 't': '1' is in one row only, which cannot be in the training"),
    ],
)
def test_what_a_task_is_is_told(
    task: Any, column: list[Any], level: int, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    _target(task, x=column)
    assert any(record.levelno == level and record.message.startswith(message) for record in caplog.records), caplog.text


def test_numbers_far_from_all_others_are_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    column = [str(at % 50) for at in range(200)]
    _target("x", x=column)
    assert caplog.messages == []
    _target({"column": "x", "loss": "huber"}, x=["-1e6", *column])
    assert caplog.messages == []
    _target("x", x=["-1e6", *column])
    assert caplog.messages == [
        "task 't': 1 of 201 values are far from all others, such as -1000000 (nine of ten are from 2 to 47), and "
        "outweigh them in a squared error: correct them if they are wrong, or soften them with tasks.t.loss=huber"
    ]


@pytest.mark.parametrize(
    ("yes", "no"), [("да", "нет"), ("kyllä", "ei"), ("是", "否"), ("예", "아니요"), ("TAK", "NIE"), ("Ja", "Nee")]
)
def test_yes_is_known_in_other_languages_where_it_is_not_the_rarer_value(yes: str, no: str) -> None:
    target = _target("x", x=[yes, yes, no])
    assert (target.outputs, target.other) == ((yes,), no)


def test_labels_may_be_written_in_other_languages() -> None:
    labels = _target(["x", "y"], x=["Ja", "nein"], y=["Falsch", "wahr"])
    np.testing.assert_array_equal(labels.values, [[1, 0], [0, 1]])


def test_whole_numbers_that_may_be_codes_are_told(caplog: pytest.LogCaptureFixture) -> None:
    codes = [str(100 + at % 20) for at in range(60)]
    assert _target("class_code", class_code=codes).kind == "number"
    assert (
        "'class_code' has whole numbers and is read as a number, but its name says that they are codes" in caplog.text
    )
    caplog.clear()
    _target({"column": "class_code", "kind": "classes"}, class_code=codes)
    _target("barcodes", barcodes=codes)
    assert "its name says" not in caplog.text
