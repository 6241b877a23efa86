"""The block of tasks: what people may write, and what is said of the rest."""

from typing import Any

import pytest

from idbpd.datasets.tabular.task_block import TaskBlock, read_tasks
from idbpd.errors import ConfigurationError


def test_the_forms_of_a_task() -> None:
    tasks = read_tasks(
        {
            "churn": "churned",
            "year": 2026,
            "topics": ["sports", "news"],
            "spend": {"column": "next_month", "kind": "number", "slack": 0.2},
            "plan": {"column": "plan", "limit": 0.6, "worst_case": {"groups": "region"}},
            "single": {"column": "family", "positive": "single"},
            "genes": {"columns": ["g1", "g2"], "kind": "distribution"},
            "more": {"columns": ["m1", "m2"]},
        },
        "a.csv",
    )
    assert tasks == (
        TaskBlock("churn", ("churned",)),
        TaskBlock("year", ("2026",)),
        TaskBlock("topics", ("sports", "news"), "labels"),
        TaskBlock("spend", ("next_month",), "number", options={"slack": 0.2}),
        TaskBlock("plan", ("plan",), options={"limit": 0.6, "worst_case": {"groups": "region"}}),
        TaskBlock("single", ("family",), positive="single"),
        TaskBlock("genes", ("g1", "g2"), "distribution"),
        TaskBlock("more", ("m1", "m2"), "labels"),
    )


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({}, "a.csv: 'tasks' is {}; write one line per task, such as churn: churned"),
        (["churned"], "a.csv: 'tasks' is ['churned']; write one line per task"),
        ({"a": "x", "b": "x"}, "a.csv: column 'x' is in two tasks, 'a' and 'b'; a column is for one task"),
        ({"a": ["x", "x"]}, "a.csv: column 'x' is twice; a column is for one task"),
        ({"a": None}, "a.csv: tasks.a names no column"),
        ({"a": []}, "a.csv: tasks.a names no column"),
        ({"a": {"kind": "number"}}, "a.csv: tasks.a needs 'column' (one) or 'columns' (a list), and not both"),
        ({"a": {"colum": "x"}}, "and not both; did you mean 'column' by 'colum'?"),
        (
            {"a": {"column": ["x", "y"]}},
            "tasks.a.column = ['x', 'y'] is not valid; write column: a, or columns: [a, b]",
        ),
        ({"a": {"columns": "x"}}, "tasks.a.columns = 'x' is not valid"),
        (
            {"a": {"column": "x", "kind": "numbers"}},
            "tasks.a.kind = 'numbers' is not valid; did you mean number? kinds",
        ),
        ({"a": {"columns": ["x", "y"], "kind": "number"}}, "tasks.a.kind = 'number' is for one column; several are"),
        (
            {"a": {"column": "x", "kind": "classes", "positive": 1}},
            "tasks.a.positive = 1 is for a task of kind binary, not classes",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tasks: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        read_tasks(tasks, "a.csv")
    assert message in str(error.value)
