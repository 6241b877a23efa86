"""A time limit holds inside of long searches, and a run can be watched."""

import io
import math
import time

import pytest
import torch
from torch import Tensor

from idbpd.optim import Constraint, Known, Problem, Progress, Status, solve
from idbpd.optim.sets import Box, Simplex


def at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def slow(x: Tensor) -> Tensor:
    time.sleep(0.003)
    return x


def test_a_time_limit_interrupts_a_long_inner_search() -> None:
    """One evaluation climbs from many points: with a slow function it alone takes far longer than the limit."""
    problem = Problem(
        lambda x, y: slow(x @ y) + torch.sin(7 * y).sum() + torch.cos(x @ y) - float(y.detach()[0]) * 0,
        over=Box(-torch.ones(4, dtype=torch.float64), 1.0),
    )
    whole = time.monotonic()
    start = solve(problem, at(0, 0, 0, 0), max_steps=0, time_limit=0.01)
    first = time.monotonic() - whole

    began = time.monotonic()
    solution = solve(problem, at(0, 0, 0, 0), time_limit=first + 0.2)

    assert time.monotonic() - began <= 3 * first + 1.0
    assert solution.status is Status.MAX_STEPS
    assert "time limit" in solution.reason
    assert solution.known == start.known == (Known.LOCAL,)


def test_a_time_limit_interrupts_a_verification() -> None:
    def psi(x: Tensor, w: Tensor) -> Tensor:
        return torch.sin(40 * w).prod() + torch.cos(31 * w + x[0]).sum() * 1e-3 - 10

    problem = Problem(lambda x: x @ x, constraints=[Constraint(psi, Box(-torch.ones(5).double(), 1.0))])

    began = time.monotonic()
    solution = solve(problem, at(0.0, 0.0), effort=1e3, time_limit=1.5)

    assert time.monotonic() - began <= 4
    assert solution.status is Status.LOCAL
    assert solution.reason == "the time limit of 1.5 seconds has passed before worst cases were verified"
    assert solution.known == (Known.EXACT, Known.LOCAL)
    assert math.isinf(solution.inner_error)


def test_without_worst_cases_an_answer_in_time_needs_no_verification() -> None:
    solution = solve(Problem(lambda x: x @ x), at(0.0), time_limit=1e-9)
    assert solution.status is Status.CONVERGED


def test_progress_writes_lines() -> None:
    stream = io.StringIO()
    problem = Problem(lambda x, y: y @ (x - at(1, 2)).square() - y @ y, over=Simplex(2))

    solution = solve(problem, at(0, 0), callback=Progress(every=0, stream=stream))

    lines = stream.getvalue().splitlines()
    assert lines[0].split()[:3] == ["step", "evaluations", "f"]
    assert len(lines) == 1 + len(solution.history.f)
    last = lines[-1].split()
    assert int(last[0]) == solution.steps
    assert float(last[2]) == pytest.approx(solution.f, rel=1e-5)
    assert len({len(line) for line in lines}) == 1


def test_progress_is_not_written_too_often(capsys: pytest.CaptureFixture[str]) -> None:
    solve(Problem(lambda x: x.square().square().sum()), at(3, 2), callback=Progress(every=100))

    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 2
    with pytest.raises(ValueError, match="every must be a number of seconds"):
        Progress(every=-1)
