"""The first lines of a summary say whether the limits hold."""

from typing import Any

import pytest

from idbpd.experiment.headline import overview, state_verdict

RESIDUALS = {"stationarity": 1e-4, "infeasibility": 0.0, "slackness": 3e-4}
LOSS = {"worst_case_loss": 0.64, "upper_bound": 0.67, "reference": 0.71, "rows": 300, "rows_needed": None}
MEASURE = {"name": "accuracy", "value": 0.91, "bound": 0.88, "limit": 0.9}
QUALITY = {
    "test_churn_worst_case_loss": 0.45,
    "test_churn_accuracy": 0.8,
    "train_churn_worst_case_loss": 0.1,
    "train_churn_accuracy": 0.99,
}
SOLVED = "The solver converged: the worst of the three KKT residuals is 3.0e-04."


def _certificate(held_out: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    tasks: dict[str, Any] = {"upsell": {}}
    protects = {"churn": "", "upsell": ""}
    found = {"status": "CONVERGED", "reason": "", "tasks": tasks, "protects": protects, **RESIDUALS}
    return {**found, "held_out": held_out, **more}


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (
            {**LOSS, "verdict": "HOLDS", "measured": None},
            "HOLDS: upsell keeps its limit on unseen data (worst-case loss 0.6400, 0.6700 with 95% confidence, limit "
            "0.7100)",
        ),
        (
            {**LOSS, "verdict": "BROKEN", "upper_bound": None, "measured": None},
            "BROKEN: upsell exceeds its limit on unseen data (worst-case loss 0.6400, no bound, limit 0.7100)",
        ),
        (
            {**LOSS, "verdict": "NOT SHOWN", "rows_needed": 800, "measured": MEASURE},
            "NOT SHOWN: 300 test rows do not show that upsell keeps its limit; about 800 would (accuracy 91.0%, 88.0% "
            "with 95% confidence, limit 90.0%)",
        ),
    ],
)
def test_every_limit_gets_its_verdict(record: dict[str, Any], line: str) -> None:
    held_out = {"confidence": 0.95, "tasks": {"upsell": record}, "guesses": {"churn": 0.6}}
    first = "PRIORITY: churn on unseen data: accuracy 80.0%, worst-case loss 0.4500, 25% below that of a constant guess"
    assert state_verdict(_certificate(held_out), QUALITY) == f"{first}\n{line}\n{SOLVED}"


def test_a_priority_task_that_learnt_nothing_is_said_first() -> None:
    held_out = {"confidence": 0.95, "tasks": {}, "guesses": {"churn": 0.452}}
    text = state_verdict(_certificate(held_out), QUALITY)
    first = "PRIORITY: churn on unseen data: accuracy 80.0%, worst-case loss 0.4500, NO BETTER than a constant guess"
    assert text.startswith(f"{first} (0.4520)")


@pytest.mark.parametrize(
    ("measured", "end"),
    [
        (None, "with 95% confidence, limit 0.7100), NO BETTER than a constant guess (0.6410)"),
        (MEASURE, "limit 90.0%), worst-case loss 0.6400, NO BETTER than a constant guess (0.6410)"),
    ],
)
def test_a_limit_that_a_guess_would_keep_as_well_is_said(measured: dict[str, Any] | None, end: str) -> None:
    record = {**LOSS, "verdict": "HOLDS", "measured": measured}
    held_out = {"confidence": 0.95, "tasks": {"upsell": record}, "guesses": {"churn": 0.6, "upsell": 0.641}}
    line = state_verdict(_certificate(held_out), QUALITY).splitlines()[1]
    assert line.startswith("HOLDS: upsell keeps its limit on unseen data (")
    assert line.endswith(end)


def test_without_held_out_rows_nothing_is_claimed() -> None:
    text = state_verdict(_certificate(None, status="MAX_STEPS", reason="the steps ran out"), QUALITY)
    assert text.startswith(
        "PRIORITY: churn on the training data: accuracy 99.0%, worst-case loss 0.1000\nNOT SHOWN: no rows"
    )
    assert text.endswith("MAX_STEPS (the steps ran out); the worst of the three KKT residuals is 3.0e-04.")
    alone = _certificate(None, tasks={}, protects={"churn": ""})
    assert "\nNo task has a limit.\n" in state_verdict(alone, QUALITY)


def test_the_overview_has_the_verdict_and_few_values() -> None:
    held_out = {"confidence": 0.95, "verdict": "HOLDS", "tasks": {"upsell": {**LOSS, "reference": 1.34}}}
    certificate = _certificate(held_out, objective=0.5, protects={"churn": "", "upsell": ""})
    quality = {
        "test_churn_roc_auc": 0.7,
        "test_churn_accuracy": 0.8,
        "test_upsell_mae": 3.0,
        "train_churn_accuracy": 1.0,
    }
    assert overview(certificate, quality) == {
        "verdict": "HOLDS",
        "solver/objective": 0.5,
        "solver/residual": 3e-4,
        "limits/upsell": pytest.approx(0.5),
        "test/churn accuracy": 0.8,
        "test/upsell mae": 3.0,
    }
