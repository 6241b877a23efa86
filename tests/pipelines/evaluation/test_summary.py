"""The summary of a run, with any number of models that need not know every task."""

from idbpd.experiment.quality_metrics import quality_metrics
from idbpd.pipelines.evaluation.summary import summary_table
from idbpd.pipelines.evaluation.tables import OWN
from tests.pipelines.evaluation.measured import CERTIFICATE, WITHOUT_TEST, measured


def test_the_priority_task_comes_first_with_the_measures_of_its_kind() -> None:
    table = summary_table(measured(), CERTIFICATE)
    assert table["task: what"].tolist() == [
        "income: worst-case loss",
        "income: the same, test",
        "income: accuracy, test",
        "income: ROC AUC, test",
        "hours: worst-case loss",
        "hours: the same, test",
        "hours: its bound, test",
        "hours: MAE, test",
        "hours: R2, test",
        "topics: worst-case loss",
        "topics: the same, test",
        "topics: its bound, test",
        "topics: ROC AUC, test",
        "topics: accuracy, test",
        "stationarity",
        "infeasibility",
        "slackness",
        "solver",
    ]
    own = table.set_index("task: what")["constrained"]
    assert own["income: the same, test"] == "0.6000"
    assert own["income: accuracy, test"] == "86.0%"
    assert own["hours: MAE, test"] == "2.315"
    assert own["hours: its bound, test"] == "0.8200"
    assert own["topics: ROC AUC, test"] == "not defined"
    assert own["solver"] == "CONVERGED"


def test_limits_are_judged_on_both_parts() -> None:
    limits = summary_table(measured(), CERTIFICATE).set_index("task: what")["limit"]
    assert {what: limit for what, limit in limits.items() if limit} == {
        "hours: worst-case loss": "0.7000 kept",
        "hours: the same, test": "0.7000 BROKEN",
        "topics: worst-case loss": "0.5000 kept",
        "topics: the same, test": "0.5000 HOLDS",
    }


def test_a_limit_in_a_measure_is_shown_with_that_measure() -> None:
    limit = {"name": "rmse", "limit": 2.5, "value": 3.0, "bound": 3.25, "alone": 2.1}
    hours = {**CERTIFICATE["held_out"]["tasks"]["hours"], "measured": limit}
    held_out = {**CERTIFICATE["held_out"], "tasks": {**CERTIFICATE["held_out"]["tasks"], "hours": hours}}
    table = summary_table(measured(), {**CERTIFICATE, "held_out": held_out}).set_index("task: what")
    assert table.loc["hours: RMSE, test", "constrained"] == "3"
    assert table.loc["hours: RMSE, test", "limit"] == "2.5 BROKEN"
    assert table.loc["hours: its bound, test", "constrained"] == "3.25"
    assert table.loc["hours: the same, test", "limit"] == ""


def test_a_model_without_a_task_has_empty_cells() -> None:
    table = summary_table(measured(), CERTIFICATE).set_index("task: what")
    assert list(table.columns) == [OWN, "limit", "no limits", "equal weights", "each alone", "constant guess"]
    alone = table["each alone"]
    assert {str(what).split(":")[0] for what, cell in alone.items() if cell} == {"hours"}
    assert alone["hours: worst-case loss"] == "0.5500"


def test_the_priority_task_is_the_one_without_a_limit_wherever_it_stands() -> None:
    turned = {
        model: {part: dict(reversed(tasks.items())) for part, tasks in parts.items()}
        for model, parts in measured().items()
    }
    assert summary_table(turned, CERTIFICATE).equals(summary_table(measured(), CERTIFICATE))


def test_without_a_test_part_all_is_about_the_training_data() -> None:
    only_train = {model: {"train": parts["train"]} for model, parts in measured().items()}
    table = summary_table(only_train, WITHOUT_TEST).set_index("task: what")
    assert not table.index.str.contains("test").any()
    assert table.loc["income: accuracy", OWN] == "86.0%"


def test_measures_that_are_not_defined_are_not_tracked() -> None:
    tracked = quality_metrics(measured()[OWN], CERTIFICATE)
    assert tracked["test_income_roc_auc"] == 0.9
    assert tracked["train_hours_mae"] == 2.3149
    assert tracked["test_topics_worst_case_loss"] == 0.49
    assert "test_topics_roc_auc" not in tracked
