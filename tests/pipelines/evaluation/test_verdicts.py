"""The sentences about other models and about a constant guess."""

import math

from idbpd.pipelines.evaluation.tables import CONSTANT, OWN, Measured
from idbpd.pipelines.evaluation.verdicts import BETTER, BROKEN, GAIN, GUESS, verdict_table
from tests.pipelines.evaluation.measured import CERTIFICATE, WITHOUT_TEST, measured, quality


def _sentences(about: str, models: Measured | None = None) -> list[str]:
    table = verdict_table(models or measured(), CERTIFICATE)
    return table.loc[table["about"] == about, "verdict"].tolist()


def test_it_is_said_where_another_model_is_better_in_the_digits_that_are_shown() -> None:
    assert _sentences(BETTER) == [
        "equal weights is better in the priority task (income) on unseen data: accuracy 87.1% against 86.0%; "
        "in the topics task: worst-case loss 0.4800 against 0.4900",
        "each alone is better in the hours task on unseen data: MAE 2.1 against 2.315, R2 0.500 against 0.400, "
        "worst-case loss 0.7500 against 0.8000",
    ]


def test_it_is_said_where_the_model_is_better_itself() -> None:
    assert _sentences(GAIN) == [
        "constrained is better than equal weights in the priority task (income) on unseen data: worst-case loss 0.6000 "
        "against 0.7000; in the hours task: MAE 2.315 against 2.5, R2 0.400 against 0.300, worst-case loss 0.8000 "
        "against 0.9000; in the topics task: accuracy 80.0% against 70.0%",
    ]


def test_a_difference_that_chance_explains_is_not_said() -> None:
    models = measured()
    equal = models["equal weights"]
    unsure = {
        task: found._replace(spreads={name: [-9.0, 9.0] for name in found.spreads})
        for task, found in equal["test"].items()
    }
    table = verdict_table({**models, "equal weights": {**equal, "test": unsure}}, CERTIFICATE)
    said = table.loc[table["about"].isin([BETTER, GAIN]), "verdict"]
    assert not said.str.contains("equal weights").any()
    assert said.str.contains("each alone").any()


def test_it_is_said_where_another_model_breaks_a_limit() -> None:
    assert _sentences(BROKEN) == [
        "no limits breaks the limit of the hours task on unseen data: worst-case loss 0.8000, limit 0.7000",
        "equal weights breaks the limit of the hours task on unseen data: worst-case loss 0.9000, limit 0.7000",
        "each alone breaks the limit of the hours task on unseen data: worst-case loss 0.7500, limit 0.7000",
    ]


def test_a_limit_in_a_measure_is_judged_in_that_measure() -> None:
    limit = {"name": "mae", "limit": 2.4, "value": 2.3, "bound": 2.5, "alone": 2.1}
    hours = {**CERTIFICATE["held_out"]["tasks"]["hours"], "measured": limit}
    held_out = {**CERTIFICATE["held_out"], "tasks": {**CERTIFICATE["held_out"]["tasks"], "hours": hours}}
    table = verdict_table(measured(), {**CERTIFICATE, "held_out": held_out})
    assert table.loc[table["about"] == BROKEN, "verdict"].tolist() == [
        "equal weights breaks the limit of the hours task on unseen data: MAE 2.5, limit 2.4",
    ]


def test_a_task_that_is_no_better_than_a_guess_is_warned_about_first() -> None:
    table = verdict_table(measured(), CERTIFICATE)
    assert next(table.itertuples(index=False, name=None)) == (
        GUESS,
        "constrained is not clearly better than a constant guess in the hours task on unseen data: worst-case loss "
        "0.8000 against 0.8000",
    )


def test_a_loss_that_is_not_a_number_is_not_better_than_a_guess() -> None:
    own = measured()[OWN]
    broken = {**own, "test": {**own["test"], "income": quality("income", math.nan)}}
    (sentence,) = _sentences(GUESS, {**measured(), OWN: broken})
    assert (
        "in the priority task (income) on unseen data: worst-case loss not defined against 0.6900; in the h" in sentence
    )


def test_a_guess_is_no_competitor() -> None:
    assert not [sentence for sentence in _sentences(BETTER) + _sentences(BROKEN) if sentence.startswith(CONSTANT)]


def test_the_default_name_of_the_priority_task_is_not_said_twice() -> None:
    table = verdict_table(
        {
            model: {
                part: {"priority" if task == "income" else task: found for task, found in tasks.items()}
                for part, tasks in parts.items()
            }
            for model, parts in measured().items()
        },
        CERTIFICATE,
    )
    said = "equal weights is better in the priority task on unseen data: accuracy 87.1% against 86.0%"
    assert table["verdict"].str.startswith(said).sum() == 1


def test_without_a_test_part_the_training_data_are_named() -> None:
    table = verdict_table({model: {"train": parts["train"]} for model, parts in measured().items()}, WITHOUT_TEST)
    assert len(table) > 1
    assert table["verdict"].str.contains("on the training data: ").all()


def test_a_model_that_is_best_everywhere_gets_no_sentence() -> None:
    table = verdict_table({OWN: measured()[OWN], CONSTANT: {}}, CERTIFICATE)
    assert list(table.columns) == ["about", "verdict"]
    assert table.empty
