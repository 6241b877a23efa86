"""A data frame in, a certified model out."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from idbpd.estimators import RobustMultiTaskClassifier, RobustMultiTaskEstimator, RobustMultiTaskRegressor

ROWS = 240
QUICK: dict[str, Any] = {"hidden": 8, "tolerance": 1e-2, "weight_decay": 1e-3, "reserve": 0.0, "max_steps": 200}


def _arrays(rows: int = ROWS) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features, and two tasks: the second is what the first is, half of the time."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(rows, 4))
    first = X[:, 0] + 0.3 * draw.normal(size=rows) > 0
    second = X[:, 0] + X[:, 1] + 0.3 * draw.normal(size=rows) > 0
    return X, np.column_stack([first, second]).astype(np.int64)


@pytest.fixture(scope="module")
def fitted() -> RobustMultiTaskClassifier:
    return RobustMultiTaskClassifier(**QUICK).fit(*_arrays())


@pytest.fixture
def frame() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Customers as people have them: texts, dates, gaps, an identifier; and tasks of three kinds."""
    draw = np.random.default_rng(1)
    age = draw.integers(18, 80, ROWS).astype(float)
    plan = draw.choice(["basic", "plus", "gold"], ROWS)
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(draw.integers(0, 1000, ROWS), unit="D")
    X = pd.DataFrame({"customer_id": np.arange(ROWS) + 1000, "age": age, "plan": plan, "since": since})
    X.loc[::7, "age"] = np.nan
    churn = np.where(age + 10 * draw.normal(size=ROWS) > 50, "yes", "no")
    spend = 3 * age + 5 * (plan == "gold") + draw.normal(size=ROWS)
    return X, pd.DataFrame({"churn": churn, "spend": spend, "next": np.roll(plan, 0)})


def test_the_certificate_is_that_of_a_solved_problem(fitted: RobustMultiTaskClassifier) -> None:
    certificate = fitted.certificate_
    assert certificate["status"] == "CONVERGED"
    assert max(certificate[name] for name in ("stationarity", "infeasibility", "slackness")) <= 1e-2
    assert fitted.thresholds_ == {"y1": certificate["tasks"]["y1"]["threshold"]}
    assert certificate["tasks"]["y1"]["constraint"] <= 1e-2
    assert certificate["tasks"]["y1"]["multiplier"] >= 0
    assert fitted.weight_decay_ == 1e-3
    assert len(fitted.history_) > 1


def test_verdicts_are_drawn_from_the_rows_that_were_held_out(fitted: RobustMultiTaskClassifier) -> None:
    held_out = fitted.certificate_["held_out"]["tasks"]["y1"]
    assert fitted.verdicts_ == {"y1": held_out["verdict"]}
    assert held_out["verdict"] in ("HOLDS", "NOT SHOWN", "BROKEN")
    assert held_out["rows"] == ROWS / 5


def test_without_held_out_rows_there_is_no_verdict() -> None:
    model = RobustMultiTaskClassifier(**QUICK, test_fraction=0).fit(*_arrays(60))
    assert model.verdicts_ == {}
    assert model.certificate_["held_out"] is None


def test_predictions_of_several_tasks(fitted: RobustMultiTaskClassifier) -> None:
    X, Y = _arrays()
    predicted = fitted.predict(X)
    assert predicted.shape == Y.shape
    assert (predicted == Y).mean(axis=0).tolist() == pytest.approx(list(fitted.task_scores(X, Y).values()))
    assert fitted.score(X, Y) == fitted.task_scores(X, Y)["y0"] > 0.85
    probabilities = fitted.predict_proba(X)
    assert [one.shape for one in probabilities] == [(ROWS, 2)] * 2
    for at, one in enumerate(probabilities):
        np.testing.assert_allclose(one.sum(axis=1), 1)
        np.testing.assert_array_equal(one.argmax(axis=1), predicted[:, at])
    assert [classes.tolist() for classes in fitted.classes_] == [[0, 1], [0, 1]]


def test_the_priority_task_gains_what_the_other_may_lose() -> None:
    """With priority, a task is at least as good in its own worst case as with a limit."""
    X, Y = _arrays()
    first, second = (
        RobustMultiTaskClassifier(**QUICK, priority=at, slack=0.5, beyond_limits=0.0).fit(X, Y) for at in (0, 1)
    )
    assert (first.priority_, second.priority_) == ("y0", "y1")
    assert set(second.thresholds_) == {"y0"}
    assert second.task_scores(X, Y)["y1"] >= first.task_scores(X, Y)["y1"]


def test_limits_are_kept_in_a_measure_that_people_know() -> None:
    X, Y = _arrays(400)
    model = RobustMultiTaskClassifier(**QUICK, tasks={"y1": {"limit": {"accuracy": 0.7}}}).fit(X, Y)
    measured = model.certificate_["held_out"]["tasks"]["y1"]["measured"]
    assert measured["name"] == "accuracy"
    assert measured["value"] >= 0.7
    assert model.verdicts_ == {"y1": "HOLDS"}


def test_one_task_has_no_limit_and_all_rows_are_for_training() -> None:
    X, Y = _arrays(120)
    words = np.where(Y[:, 0] == 1, "up", "down")
    model = RobustMultiTaskClassifier(**QUICK).fit(X, words)
    assert model.classes_.tolist() == ["down", "up"]
    assert set(model.predict(X)) == {"down", "up"}
    assert model.predict_proba(X).shape == (120, 2)
    assert (model.thresholds_, model.verdicts_, model.tasks_) == ({}, {}, ["y"])
    assert model.certificate_["infeasibility"] == 0
    assert model.certificate_["support"]["y"]["samples"] == 120


def test_numbers_come_in_their_own_units() -> None:
    X, _ = _arrays()
    Y = np.column_stack([1000 + 50 * X[:, 0], X[:, 0] - X[:, 1]])
    model = RobustMultiTaskRegressor(**QUICK).fit(X, Y)
    assert min(model.task_scores(X, Y).values()) > 0.9
    assert model.predict(X)[:, 0].mean() == pytest.approx(1000, abs=20)


def test_a_data_frame_of_any_columns_and_tasks_of_all_kinds(frame: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, Y = frame
    Y.loc[::5, "spend"] = np.nan
    model = RobustMultiTaskEstimator(**QUICK, priority="spend").fit(X, Y)
    assert model.feature_names_in_.tolist() == ["customer_id", "age", "plan", "since"]
    assert model.n_features_in_ == 4
    assert {name: classes.tolist() for name, classes in model.classes_.items()} == {
        "churn": ["no", "yes"],
        "next": ["basic", "gold", "plus"],
    }
    predicted = model.predict(X.sample(frac=1, random_state=0))
    assert list(predicted.columns) == ["churn", "spend", "next"]
    assert predicted.index.equals(X.sample(frac=1, random_state=0).index)
    scores = model.task_scores(X, Y)
    assert scores["next"] == 1  # it is a feature
    assert scores["spend"] > 0.5
    assert scores["churn"] > 0.7
    assert model.score(X, Y) == scores["spend"]
    assert set(model.predict_proba(X)) == {"churn", "next"}
    assert set(model.verdicts_) == {"churn", "next"}


def test_a_stated_kind_overrules_the_values(frame: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, Y = frame
    Y = Y[["churn"]].assign(stars=np.arange(ROWS) % 3)
    few = {**QUICK, "max_steps": 5}
    assert set(RobustMultiTaskEstimator(**few).fit(X, Y).classes_) == {"churn", "stars"}
    stated = RobustMultiTaskEstimator(**few, tasks={"stars": {"kind": "number", "slack": 0.3}}).fit(X, Y)
    assert set(stated.classes_) == {"churn"}


def test_a_worst_case_over_groups_of_a_column(frame: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, Y = frame
    model = RobustMultiTaskClassifier(**QUICK, worst_case={"groups": "plan"}).fit(X, Y[["churn", "next"]])
    assert "plan" in model.certificate_["protects"]["churn"]


def test_the_same_random_state_gives_the_same_digits() -> None:
    X, Y = _arrays(80)
    few = {**QUICK, "max_steps": 10}
    one, other, third = (
        RobustMultiTaskClassifier(**few, random_state=state).fit(X, Y).predict_proba(X) for state in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, third)


def test_a_pickle_answers_alike(fitted: RobustMultiTaskClassifier) -> None:
    X, _ = _arrays()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), fitted.predict_proba(X))


def test_gaps_in_arrays_are_filled() -> None:
    X, Y = _arrays(120)
    X[::6, 1] = np.nan
    model = RobustMultiTaskClassifier(**QUICK).fit(X, Y)
    assert model.score(X, Y) > 0.7


def _bad(X: Any, Y: Any, **arguments: Any) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the callers look at the message
        RobustMultiTaskClassifier(**{**QUICK, **arguments}).fit(X, Y)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slack": -1}, "parameter 'slack' = -1 is not valid: it must be at least 0"),
        ({"worst_case": "worst"}, "parameter 'worst_case' = 'worst' is not valid: there is no worst case 'worst'"),
        ({"priority": "z"}, "parameter 'priority' names the task 'z', which does not exist"),
        ({"priority": 2}, "priority = 2 is not valid; y has 2 columns, counted from 0"),
        ({"tasks": {"y2": {"slack": 0.2}}}, "'tasks.y2' names the task 'y2', which does not exist"),
        ({"tasks": {"y1": {"slak": 0.2}}}, "tasks.y1.slak"),
        ({"weight_decay": "much"}, "parameter 'weight_decay' = 'much' is not valid: choose a number"),
        ({"hidden": 0}, "parameter 'hidden' = 0 is not valid: input should be greater than or equal to 1"),
        ({"device": "gpu"}, "parameter 'device' = 'gpu' is not valid: choose auto, cpu"),
        ({"random_state": -1}, "random_state = -1 is not valid; choose 0 or more"),
    ],
    ids=lambda value: None if isinstance(value, str) else next(iter(value)),
)
def test_arguments_without_a_meaning_are_told_in_one_line(arguments: dict[str, Any], message: str) -> None:
    assert message in _bad(*_arrays(40), **arguments)


def test_bad_data_are_told_in_one_line(frame: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    X, Y = _arrays(40)
    assert "task 'y1' has one class, 1, in all 40 rows" in _bad(X, np.column_stack([Y[:, 0], np.ones(40, dtype=int)]))
    assert "y has shape (40, 2, 1)" in _bad(X, Y[..., None])
    assert "inconsistent numbers of samples" in _bad(X, Y[:30])
    assert "requires y to be passed" in _bad(X, None)
    assert "Unknown label type: continuous" in _bad(X, np.column_stack([Y[:, 0], X[:, 0]]))
    assert "no column is left to predict from" in _bad(pd.DataFrame({"a": np.ones(40)}), Y)
    assert "Input y contains NaN" in _bad(X, np.where(Y[:, 0] == 1, np.nan, 0.0))
    names = pd.DataFrame(Y, columns=["a/b", "c"])
    assert "task name 'a/b' is not valid" in _bad(X, names)
    with pytest.raises(ValueError, match=r"task 'churn' has values that are no numbers, such as '(yes|no)'"):
        RobustMultiTaskRegressor().fit(frame[0], frame[1][["spend", "churn"]])


def test_an_estimator_that_is_not_fitted_says_so() -> None:
    for ask in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(RobustMultiTaskClassifier(), ask)(_arrays()[0])
