"""Which run is best, and what is said of the difference."""

import numpy as np
import pytest

from idbpd.pipelines.run_comparison.marks import marked
from idbpd.pipelines.run_comparison.ranking import CHANCE, EQUAL, LIMITS, SURE, UNKNOWN, limits_differ, rank
from idbpd.pipelines.run_comparison.words import best_of, headline
from tests.pipelines.run_comparison.made_up import LIMITED, made_up


def test_a_difference_that_every_part_of_the_samples_shows_is_more_than_chance() -> None:
    (ranking,) = rank(marked([made_up(loss=0.55, noise=0.3), made_up(loss=0.5, noise=0.3)]))
    assert ranking.best.mark == "B"
    assert [against.verdict for against in ranking.others] == [SURE]  # what moves both alike cancels
    assert headline([ranking]).startswith("BEST: B: ")


def test_a_difference_that_one_part_of_the_samples_makes_is_within_chance() -> None:
    (ranking,) = rank(marked([made_up(loss=0.55), made_up(loss=0.5, noise=0.3)]))
    assert [against.verdict for against in ranking.others] == [CHANCE]
    assert headline([ranking]).startswith("NO CLEAR BEST: B is measured best: ")


def test_each_of_many_comparisons_has_to_be_surer() -> None:
    other = made_up(loss=0.55)
    noise = 0.05 * np.sqrt(20) / 1.9  # 1.9 standard errors: enough for one comparison, not for nine
    best = made_up(loss=0.5, noise=noise / np.random.default_rng(0).normal(size=20).std(ddof=1))
    assert rank(marked([other, best]))[0].others[0].verdict == SURE
    assert rank(marked([other] * 9 + [best]))[0].others[0].verdict == CHANCE


def test_a_run_that_keeps_its_limits_comes_first() -> None:
    (ranking,) = rank(marked([made_up(loss=0.4, verdict="BROKEN"), made_up(loss=0.5)]))
    assert ranking.best.mark == "B"
    assert [against.verdict for against in ranking.others] == [LIMITS]
    assert "its limits come first (HOLDS against BROKEN)" in headline([ranking])


@pytest.mark.parametrize("change", [{"samples": "others"}, {"standing": False, "origin": {}}])
def test_runs_on_other_samples_are_not_compared(change: dict[str, object]) -> None:
    runs = marked([made_up(loss=0.4), made_up(loss=0.5), made_up(run_id="b" * 32, loss=0.3, **change)])  # type: ignore[arg-type]
    first, second = rank(runs)
    assert [run.mark for run in first.runs] == ["A", "B"]
    assert [run.mark for run in second.runs] == ["C"]
    assert headline([first, second]).startswith(
        "NOT ALL COMPARABLE: the runs were judged on different samples (A and B"
    )


def test_a_run_without_a_standing_is_comparable_by_its_split_and_its_chance_is_not_known() -> None:
    (ranking,) = rank(marked([made_up(loss=0.55), made_up(loss=0.5, standing=False)]))
    assert ranking.measure == "worst_case_loss"
    assert [against.verdict for against in ranking.others] == [UNKNOWN]
    assert best_of(ranking) == "MEASURED BEST: B"


def test_other_losses_or_worst_cases_are_compared_by_what_people_ask_for() -> None:
    (ranking,) = rank(marked([made_up(loss=0.4), made_up(loss=0.5, accuracy=0.9, criterion="another")]))
    assert ranking.measure == "accuracy"
    assert ranking.best.mark == "B"


def test_the_same_digits_are_no_difference() -> None:
    (ranking,) = rank(marked([made_up(loss=0.50001), made_up(loss=0.5)]))
    assert [against.verdict for against in ranking.others] == [EQUAL]
    assert best_of(ranking) == "NO DIFFERENCE"


def test_limits_differ_by_what_was_promised() -> None:
    assert limits_differ(marked([made_up(), made_up()])) == []
    assert limits_differ(marked([made_up(), made_up(slack=0.2)])) == [LIMITED]
