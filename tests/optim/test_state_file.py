"""A run that is saved and restored gives exactly the result of an uninterrupted run."""

import io
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from idbpd.optim import (
    IDBPD,
    Constraint,
    Method,
    Problem,
    Record,
    RunState,
    Solution,
    load_noted_state,
    load_state,
    save_state,
    solve,
)
from idbpd.optim.paper.schedules import LogarithmicSteps
from idbpd.optim.sets import Box, Simplex
from idbpd.optim.state_file import register

METHODS: dict[str, Method[Any]] = {
    "default": IDBPD(),
    "identity": IDBPD(metric="identity"),
    "paper": IDBPD.paper(gamma=1e-3, objective_steps=LogarithmicSteps(1), constraint_steps=LogarithmicSteps(1)),
    "paper, accelerated": IDBPD.paper(
        gamma=1e-3, objective_steps=LogarithmicSteps(1), constraint_steps=LogarithmicSteps(1), accelerated=True
    ),
}


def problem() -> Problem:
    """Nonconvex, and long enough not to be solved in a hundred steps."""
    A = torch.randn(12, 40, generator=torch.Generator().manual_seed(3), dtype=torch.float64)

    def losses(x: Tensor) -> Tensor:
        return torch.tanh(A.to(x.dtype) @ x).square()

    def rosenbrock(x: Tensor) -> Tensor:
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    return Problem(
        lambda x, y: y @ losses(x) + rosenbrock(x) - (y - 1 / 12).square().sum(),
        Simplex(12),
        [
            Constraint(lambda x, w: x.square().sum() - 60 + w * x[0] - w**2, Box(-1.0, 1.0)),
            Constraint(lambda x: x[30] - 0.9),
        ],
    )


def assert_same(one: Solution, other: Solution) -> None:
    for left, right in zip(_leaves(one), _leaves(other), strict=True):
        if isinstance(left, Tensor):
            assert isinstance(right, Tensor)
            assert left.dtype == right.dtype
            assert torch.equal(left, right)
        else:
            assert left == right


def _leaves(value: object) -> list[object]:
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_thirty_and_thirty_steps_are_sixty(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    method, x0 = METHODS[name], torch.full((40,), -1.0, dtype=dtype)
    whole = solve(problem(), x0, method, max_steps=60, tolerance=1e-9)

    half = solve(problem(), x0, method, max_steps=30, tolerance=1e-9)
    save_state(half.state, tmp_path / "state.pt")
    rest = solve(problem(), x0, method, max_steps=60, tolerance=1e-9, state=load_state(tmp_path / "state.pt"))

    assert half.steps == 30
    assert whole.steps == rest.steps > 40
    # The certificate of the first half was one more evaluation and gradient, which its state does not count.
    assert_same(whole, rest)


class _EveryStep:
    """Keeps all states of a run, as files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def due(self, step: int) -> bool:
        return True

    def keep(self, state: RunState) -> None:
        save_state(state, self._folder / f"{state.step}.pt", {"step": state.step})


@pytest.mark.parametrize("name", METHODS)
def test_a_run_goes_on_from_any_of_its_steps(name: str, tmp_path: Path) -> None:
    method, x0 = METHODS[name], torch.full((40,), -1.0, dtype=torch.float64)
    undisturbed = solve(problem(), x0, method, max_steps=30, tolerance=1e-9)
    assert_same(solve(problem(), x0, method, max_steps=30, tolerance=1e-9, keeper=_EveryStep(tmp_path)), undisturbed)
    for step in (0, 1, 13, 29):
        state, note = load_noted_state(tmp_path / f"{step}.pt")
        assert state.step == note["step"] == step
        assert state.history.step.tolist() == list(range(step + 1))
        assert_same(solve(problem(), x0, method, max_steps=30, tolerance=1e-9, state=state), undisturbed)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_run_hands_over_its_last_whole_step(interruption: type[BaseException], tmp_path: Path) -> None:
    def interrupt(record: Record) -> None:
        if record.step == 7:
            raise interruption

    class OnlyThen(_EveryStep):
        def due(self, step: int) -> bool:
            return step == 4

    x0 = torch.full((40,), -1.0, dtype=torch.float64)
    with pytest.raises(interruption):
        solve(problem(), x0, max_steps=30, tolerance=1e-9, callback=interrupt, keeper=OnlyThen(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["4.pt", "7.pt"]
    rest = solve(problem(), x0, max_steps=30, tolerance=1e-9, state=load_state(tmp_path / "7.pt"))
    assert_same(rest, solve(problem(), x0, max_steps=30, tolerance=1e-9))


def test_a_file_holds_no_code(tmp_path: Path) -> None:
    solution = solve(problem(), torch.zeros(40), max_steps=3)
    save_state(solution.state, tmp_path / "state.pt")

    body = (tmp_path / "state.pt").read_bytes().partition(b"\n")[2]
    content = torch.load(io.BytesIO(body), weights_only=True)

    assert isinstance(content, dict)
    assert [path.name for path in tmp_path.iterdir()] == ["state.pt"]  # nothing half-written is left behind


def test_states_that_cannot_be_resumed_are_refused(tmp_path: Path) -> None:
    solution = solve(problem(), torch.zeros(40), max_steps=2)
    with pytest.raises(ValueError, match="state has 40 variables, but x0 has 3"):
        solve(Problem(lambda x: x.sum()), torch.zeros(3), state=solution.state)
    with pytest.raises(ValueError, match=r"state has dtype torch.float32, but x0 has torch.float64"):
        solve(problem(), torch.zeros(40, dtype=torch.float64), state=solution.state)
    with pytest.raises(ValueError, match="state has 2 constraints, but the problem has 0"):
        solve(Problem(lambda x: x.square().sum()), torch.zeros(40), state=solution.state)
    with pytest.raises(ValueError, match="another method: it has a IDBPDState, Algorithm1 needs a Algorithm1State"):
        solve(problem(), torch.zeros(40), IDBPD.paper(), state=solution.state)
    (tmp_path / "text.pt").write_text("not a state")
    with pytest.raises(ValueError, match="is not a saved state"):
        load_state(tmp_path / "text.pt")
    save_state(solution.state, tmp_path / "flipped.pt")
    content = bytearray((tmp_path / "flipped.pt").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "flipped.pt").write_bytes(content)
    with pytest.raises(ValueError, match=r"flipped.pt is damaged: its content does not match its checksum"):
        load_state(tmp_path / "flipped.pt")
    (tmp_path / "other.pt").write_text("idbpd state 1 0123\n")
    with pytest.raises(ValueError, match="is a saved state of format 1; this version reads format 8"):
        load_state(tmp_path / "other.pt")


class Unknown(NamedTuple):
    number: int


class Known(NamedTuple):
    number: int


def test_states_of_further_methods_are_registered(tmp_path: Path) -> None:
    run = solve(Problem(lambda x: x @ x), torch.ones(2), max_steps=0).state
    with pytest.raises(TypeError, match=r"Unknown is not known to saved states"):
        save_state(run._replace(method=Unknown(3)), tmp_path / "state.pt")
    assert list(tmp_path.iterdir()) == []

    register(Known)
    save_state(run._replace(method=Known(3)), tmp_path / "state.pt")

    restored = load_state(tmp_path / "state.pt")
    assert isinstance(restored, RunState)
    assert restored.method == Known(3)
    with pytest.raises(TypeError, match="int must be a NamedTuple"):
        register(int)
