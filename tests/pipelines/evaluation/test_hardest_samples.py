"""The hardest samples as a table."""

from idbpd.pipelines.evaluation.hardest_samples import COLUMNS, hardest_samples

EASY = {"loss": 0.51234, "weight": 1.25, "truth": "no", "answer": "yes 60%", "group": None}


def test_tasks_may_show_other_columns_and_no_column_hides_what_the_model_says() -> None:
    first = {**EASY, "row": 7, "columns": {"age": "31", "true": "a column of that name"}}
    second = {**EASY, "row": 9, "group": "west", "columns": {"bill": "missing"}}
    found = hardest_samples({"tasks": {"churn": {"hardest": [first]}, "spend": {"hardest": [second]}}})
    assert found.to_dict("records") == [
        {**dict(zip(COLUMNS, ("churn 1", 7, 0.5123, 1.25, "no", "yes 60%", ""), strict=True)), "age": "31", "bill": ""},
        {
            **dict(zip(COLUMNS, ("spend 1", 9, 0.5123, 1.25, "no", "yes 60%", "west"), strict=True)),
            **{"age": "", "bill": "missing"},
        },
    ]


def test_without_samples_it_has_its_columns() -> None:
    assert list(hardest_samples({"tasks": {"churn": {"hardest": []}}}).columns) == list(COLUMNS)
