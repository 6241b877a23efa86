"""A method runs the same whether it is watched or not, and what is measured of it is what is there."""

import pytest
import torch

from idbpd.optim import IDBPD, Constraint, Problem, Status, solve
from idbpd.optim.kkt import residuals
from idbpd.pipelines.benchmark.observer import FEASIBLE, Observer, thinned

# The nearest point of a half-plane to a corner: f = 1/2 at (1/2, 1/2), where lambda = 1.
PROBLEM = Problem(lambda x: x @ x, constraints=[Constraint(lambda x: 1 - x.sum())])
START = torch.tensor([3.0, -1.0], dtype=torch.float64)


def test_a_watched_method_takes_the_same_steps() -> None:
    observer = Observer(IDBPD.paper(gamma=0.01), seconds=60)
    watched = solve(PROBLEM, START, observer, max_steps=200, callback=observer.record)
    alone = solve(PROBLEM, START, IDBPD.paper(gamma=0.01), max_steps=200)
    torch.testing.assert_close(watched.x, alone.x, rtol=0, atol=0)
    assert watched.evaluations == alone.evaluations


def test_it_ends_when_its_time_is_over() -> None:
    observer = Observer(IDBPD.paper(gamma=1e-6), seconds=0.05)
    solution = solve(PROBLEM, START, observer, max_steps=10**9, tolerance=1e-12, callback=observer.record)
    assert solution.status is Status.MAX_STEPS
    assert solution.reason == "the callback ended the run"
    history = observer.history(solution)
    assert len(history) == solution.steps + 1
    # Only the last step is beyond the time.
    assert (history["seconds"].iloc[:-1] < 0.05).all()
    assert observer.seconds == history["seconds"].iloc[-1] >= 0.05
    assert history["seconds"].is_monotonic_increasing


def test_iterates_are_measured_with_the_best_multiplier() -> None:
    observer = Observer(IDBPD.paper(gamma=0.05), seconds=60)
    solution = solve(PROBLEM, START, observer, max_steps=5, tolerance=1e-12, callback=observer.record)
    first = observer.history(solution).iloc[0]
    # At (3, -1): grad f = (6, -2), g = -1, grad g = (-1, -1). The multiplier minimises
    # (6 - m)^2 + (-2 - m)^2 + m^2, so m = 4/3.
    assert first["best_multiplier"] == pytest.approx(4 / 3)
    assert first["best_stationarity"] == pytest.approx(((6 - 4 / 3) ** 2 + (-2 - 4 / 3) ** 2) ** 0.5)
    assert first["best_slackness"] == pytest.approx(4 / 3)
    assert first["multiplier"] == 0  # Algorithm 1 has none where the constraint is kept


def test_the_best_feasible_objective_never_rises_and_is_a_feasible_one() -> None:
    observer = Observer(IDBPD.paper(gamma=0.05), seconds=60)
    solution = solve(PROBLEM, START, observer, max_steps=300, tolerance=1e-12, callback=observer.record)
    history = observer.history(solution)
    best = history["feasible_objective"]
    assert best.dropna().is_monotonic_decreasing
    feasible = history["objective"][history["constraint"] <= FEASIBLE]
    assert best.iloc[-1] == feasible.min()


def test_thinning_keeps_the_steps_that_matter() -> None:
    observer = Observer(IDBPD.paper(gamma=1e-3), seconds=60)
    solution = solve(PROBLEM, START, observer, max_steps=5000, tolerance=1e-12, callback=observer.record)
    whole = observer.history(solution)
    kept = thinned(whole)
    assert len(kept) < 300 < len(whole)
    assert kept["step"].iloc[[0, -1]].tolist() == [0, 5000]
    assert kept["infeasibility"].min() == whole["infeasibility"].min()
    worst = [frame[["stationarity", "infeasibility", "slackness"]].max(axis=1).min() for frame in (kept, whole)]
    assert worst[0] == worst[1]
    assert kept["feasible_objective"].iloc[-1] == whole["feasible_objective"].iloc[-1]


def test_own_residuals_are_those_of_the_loop() -> None:
    observer = Observer(IDBPD(), seconds=60)
    solution = solve(PROBLEM, START, observer, tolerance=1e-8, callback=observer.record)
    assert solution.status is Status.CONVERGED
    last = observer.history(solution).iloc[-1]
    state = solution.state.method.point
    own = residuals(state.evaluation.g, state.gradients, state.multipliers)
    assert last["stationarity"] == own.stationarity.item()
    assert last["best_stationarity"] == own.stationarity.item()  # idbpd's multiplier is the best one
