"""What follows from what: calibration, trials, cells; and which change makes which result another one."""

from dataclasses import replace
from typing import Any

import pytest

from idbpd.baselines import grid
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    SplitParameters,
    TrainingParameters,
)
from idbpd.experiment.tracked.benchmark_results import JobResult
from idbpd.pipelines.benchmark.agenda import Agenda
from idbpd.pipelines.benchmark.jobs import Arena, Budget, Calibration, Job, MethodRun, Setting, Start

SETTING = Setting(
    name="paper",
    split=SplitParameters(test_fraction=0, seed=0),
    features=FeatureParameters(),
    model=ModelParameters(hidden=4),
    problem=ProblemParameters.model_validate({"lambda": 0.1, "weight_decay": 0}),
    calibration=CalibrationParameters(slack=0, max_steps=5, tolerance=1e-3),
    training=TrainingParameters(start="random", max_steps=1, tolerance=1e-3),
    compute=ComputeParameters(device="cpu", dtype="float32"),
)
ARENA = Arena("mine", SETTING, {"split_sha256": "1", "data_sha256": "2"}, "nowhere", Budget(1.0, 0.1, 1e-5), (0, 1))
THRESHOLD = {"threshold": 1.0, "tasks": {}}


def _calibrated(seed: int) -> tuple[Calibration, JobResult]:
    job = Calibration(ARENA, seed)
    return job, JobResult(job.made_with, {"threshold": THRESHOLD})


def _tried(job: MethodRun, **metrics: float) -> JobResult:
    found = {"total_seconds": 0.1, "least_infeasibility": 1.0, "least_best_residual": 1.0, **metrics}
    return JobResult(job.made_with, {"metrics": found})


def _jobs(following: Any) -> list[MethodRun]:
    found = list(following)
    assert all(isinstance(one, MethodRun) for one in found)
    return found


def test_a_method_without_options_runs_as_soon_as_its_start_is_there() -> None:
    agenda = Agenda([ARENA], ["idbpd"])
    assert agenda.cell_count == 2
    assert [job.seed for job in agenda.first() if isinstance(job, Calibration)] == [0, 1]
    for seed in (0, 1):
        (cell,) = _jobs(agenda.after(*_calibrated(seed)))
        assert (cell.is_trial, cell.seconds, cell.options, cell.calibration.seed) == (False, 1.0, {}, seed)
        assert list(agenda.after(cell, _tried(cell))) == []


def test_options_are_chosen_with_the_first_seed_and_used_for_all() -> None:
    agenda = Agenda([ARENA], ["gdma_rho2"])
    trials = _jobs(agenda.after(*_calibrated(0)))
    assert [trial.options for trial in trials] == grid("gdma_rho2")
    assert {(trial.is_trial, trial.seconds) for trial in trials} == {(True, 0.1)}
    assert list(agenda.after(*_calibrated(1))) == []  # waits for the trials
    # The third is feasible, and the only one: a small residual elsewhere does not help.
    results = [_tried(trial, least_best_residual=0.1) for trial in trials]
    results[2] = _tried(trials[2], lowest_feasible_objective=5.0)
    following: list[Job | JobResult] = []
    for trial, result in zip(trials, results, strict=True):
        following += agenda.after(trial, result)
    cells = _jobs(following)
    assert [cell.options for cell in cells] == [trials[2].options] * 2
    assert [cell.calibration.seed for cell in cells] == [0, 1]
    assert cells[0].tuning["trials"] == len(trials)
    assert cells[0].tuning["seconds"] == pytest.approx(0.1 * len(trials))


def test_among_infeasible_trials_the_smallest_residual_wins() -> None:
    agenda = Agenda([replace(ARENA, seeds=(0,))], ["gdma_rho2"])
    job, found = _calibrated(0)
    trials = _jobs(agenda.after(replace(job, arena=replace(ARENA, seeds=(0,))), found))
    cells = [
        cell
        for at, trial in enumerate(trials)
        for cell in agenda.after(trial, _tried(trial, least_best_residual=abs(at - 1) + 0.5))
    ]
    assert [cell.options for cell in _jobs(cells)] == [trials[1].options]


def test_without_a_start_every_cell_of_the_seed_has_failed_and_the_others_go_on() -> None:
    agenda = Agenda([ARENA], ["idbpd"])
    job, _ = _calibrated(0)
    (lost,) = agenda.after(job, JobResult(job.made_with, {}, failed="no luck"))
    assert isinstance(lost, JobResult)
    assert lost.failed == "calibration failed: no luck"
    assert lost.record["tags"] == {
        **{"dataset": "mine", "method": "idbpd", "seed": "0", "setting": "paper"},
        **{"status": "FAILED", "error": "calibration failed: no luck"},
    }
    assert len(_jobs(agenda.after(*_calibrated(1)))) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_no_cell_is_lost_or_lost_twice_when_the_first_seed_fails(order: tuple[int, int]) -> None:
    agenda = Agenda([ARENA], ["gdma_rho2"])
    following: list[Job | JobResult] = []
    for seed in order:
        job, found = _calibrated(seed)
        following += agenda.after(job, JobResult(job.made_with, {}, failed="no luck") if seed == 0 else found)
    assert sorted(one.record["tags"]["seed"] for one in following if isinstance(one, JobResult)) == ["0", "1"]
    assert len(following) == 2


def test_when_every_trial_fails_so_do_the_cells() -> None:
    agenda = Agenda([ARENA], ["gdma_rho2"])
    trials = _jobs(agenda.after(*_calibrated(0)))
    following = [
        one for trial in trials for one in agenda.after(trial, JobResult(trial.made_with, {}, failed="no luck"))
    ]
    assert [one.failed for one in following if isinstance(one, JobResult)] == [
        "every trial failed; the last one: no luck"
    ]
    (later,) = agenda.after(*_calibrated(1))
    assert isinstance(later, JobResult)
    assert later.failed == "every trial failed; the last one: no luck"


@pytest.mark.parametrize(
    "changes",
    [
        {"fingerprint": {"split_sha256": "other", "data_sha256": "2"}},
        {"setting": replace(SETTING, model=ModelParameters(hidden=5))},
        {"setting": replace(SETTING, training=TrainingParameters(start="calibrated", max_steps=1, tolerance=1e-3))},
        {"setting": replace(SETTING, calibration=CalibrationParameters(slack=0.1, max_steps=5, tolerance=1e-3))},
        {"budget": Budget(1.0, 0.1, 1e-4)},
    ],
    ids=["data", "model", "start", "slack", "tolerance"],
)
def test_a_cell_of_other_data_or_parameters_is_another_cell(changes: dict[str, Any]) -> None:
    assert _cell(ARENA).key == _cell(replace(ARENA)).key
    assert _cell(replace(ARENA, **changes)).key != _cell(ARENA).key


def test_a_cell_of_another_method_option_time_or_seed_is_another_cell() -> None:
    cell = _cell(ARENA)
    others = [
        replace(cell, method="cooper_adam"),
        replace(cell, options={"memory": 3}),
        replace(cell, seconds=2.0),
        replace(cell, is_trial=True),
        replace(cell, calibration=Calibration(ARENA, 1)),
    ]
    assert len({cell.key, *(other.key for other in others)}) == 1 + len(others)


def _cell(arena: Arena) -> MethodRun:
    return MethodRun(Calibration(arena, 0), Start(THRESHOLD, {}), "idbpd", {}, 1.0, is_trial=False, tuning={})
