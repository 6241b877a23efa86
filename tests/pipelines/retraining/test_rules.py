"""When a new model replaces the champion: what is shown, what is measured, and which limit comes first."""

from typing import Any

import pytest

from idbpd.pipelines.retraining.comparison import Against, BrokenLimit, Comparison
from idbpd.pipelines.retraining.gates import Evidence, is_yardstick
from idbpd.pipelines.retraining.gates.not_worse_than_champion import Options, check
from idbpd.pipelines.retraining.paired import Paired

ROWS = "on the same 300 test rows"
OPTIONS = Options(margin=0.05)
SAME = Paired(0.47, 0.47, 300, -0.02, -0.02)
A_LITTLE_WORSE = Paired(0.48, 0.47, 300, -0.01, -0.03)
WORSE = Paired(0.52, 0.47, 300, 0.01, -0.09)
WORSE_WITHIN = Paired(0.48, 0.47, 300, 0.003, -0.02)
BETTER = Paired(0.42, 0.47, 300, -0.09, 0.02)
MEASURED = BrokenLimit("triage", 0.31, 0.3, -0.01, ROWS)
SHOWN = BrokenLimit("triage", 0.4, 0.3, 0.05, ROWS)


def _evidence(
    champion: Paired | None,
    yardstick: Paired | None = None,
    broken: tuple[BrokenLimit, ...] = (),
    verdict: str = "HOLDS",
) -> Evidence:
    compared = Comparison(
        Against(3, champion, ROWS), None if yardstick is None else Against(1, yardstick, ROWS), broken
    )
    certificate: dict[str, Any] = {"held_out": {"tasks": {"triage": {"verdict": verdict}}}}
    return Evidence(certificate, {}, {"churn": 0.5}, compared, "churn")


def _failed(evidence: Evidence) -> list[str]:
    return [result.gate for result in check(evidence, OPTIONS) if not result.passed]


def test_what_is_shown_to_be_worse_is_rejected_and_what_is_only_measured_is_not() -> None:
    assert _failed(_evidence(WORSE_WITHIN)) == ["not_worse_than_champion"]
    assert _failed(_evidence(A_LITTLE_WORSE)) == []
    assert _failed(_evidence(WORSE)) == ["not_worse_than_champion", "no_drift"]


def test_the_margin_is_against_the_yardstick_and_not_against_the_champion() -> None:
    far = Paired(0.48, 0.45, 300, -0.01, -0.05)  # 6.7 % worse, though not shown
    assert _failed(_evidence(A_LITTLE_WORSE, far)) == ["no_drift"]
    near = Paired(0.48, 0.46, 300, -0.01, -0.05)
    assert _failed(_evidence(A_LITTLE_WORSE, near)) == []
    assert check(_evidence(SAME, far), OPTIONS)[1].limit == pytest.approx(0.45 * 1.05)


def test_a_loss_that_is_not_a_number_is_drift() -> None:
    assert _failed(_evidence(Paired(float("nan"), 0.47, 300, None, None))) == ["no_drift"]


@pytest.mark.parametrize(
    ("champion", "yardstick", "moves"),
    [
        (BETTER, None, True),
        (A_LITTLE_WORSE, None, False),
        (BETTER, A_LITTLE_WORSE, False),  # better than the champion, but not than the yardstick
        (SAME, BETTER, True),
    ],
)
def test_only_what_is_shown_to_be_better_than_the_yardstick_becomes_it(
    champion: Paired, yardstick: Paired | None, moves: bool
) -> None:
    assert is_yardstick(_evidence(champion, yardstick), OPTIONS) is moves


def test_the_first_model_and_one_of_other_tasks_are_yardsticks() -> None:
    assert is_yardstick(_evidence(SAME)._replace(comparison=Comparison()), OPTIONS)
    assert is_yardstick(_evidence(None), OPTIONS)


def test_a_limit_that_the_champion_breaks_comes_first() -> None:
    # Measured to break it: a model that is shown to be worse may follow, but only within the margin.
    assert _failed(_evidence(WORSE_WITHIN, broken=(MEASURED,))) == []
    assert _failed(_evidence(WORSE, broken=(MEASURED,))) == ["no_drift"]
    # Shown to break it: any model that is shown to keep it.
    assert _failed(_evidence(WORSE, broken=(SHOWN,))) == []
    assert is_yardstick(_evidence(WORSE, broken=(SHOWN,)), OPTIONS)
    assert not is_yardstick(_evidence(WORSE_WITHIN, broken=(SHOWN,)), OPTIONS)
    for verdict in ("NOT SHOWN", "BROKEN"):
        failed = _failed(_evidence(WORSE, broken=(SHOWN,), verdict=verdict))
        assert failed == ["not_worse_than_champion", "no_drift"]


def _notes(evidence: Evidence) -> list[str]:
    return [result.note for result in check(evidence, OPTIONS)]


def test_every_outcome_is_said_in_words() -> None:
    worse, drift = _notes(_evidence(WORSE))
    assert worse == (
        "is worse than version 3 in churn (worst-case loss 0.5200 against 0.4700 on the same 300 test rows; at least "
        "0.01 worse with 95 % confidence)"
    )
    assert drift == "is 10.6% worse in churn than version 3, by which models are measured; 5.0% worse is allowed"
    better, _ = _notes(_evidence(BETTER))
    assert better == (
        "is better than version 3 in churn (worst-case loss 0.4200 against 0.4700 on the same 300 test rows; at least "
        "0.02 better with 95 % confidence)"
    )
    same, drift = _notes(_evidence(A_LITTLE_WORSE, BETTER))
    assert same == (
        "is not shown to be worse than version 3 in churn (worst-case loss 0.4800 against 0.4700 on the same 300 test "
        "rows)"
    )
    assert drift == (
        "is 10.6% better in churn than version 1, by which models are measured (worst-case loss 0.4200 against 0.4700 "
        "on the same 300 test rows); 5.0% worse is allowed"
    )
    excused, _ = _notes(_evidence(WORSE, broken=(SHOWN,)))
    assert excused.endswith(
        "; it may be, because the champion breaks the limit of triage on the same 300 test rows (worst-case loss "
        "0.4000, limit 0.3000) and the new model keeps it"
    )
