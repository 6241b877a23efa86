"""A start at which weight decay has drawn to zero what another task needs is a saddle point, and is left."""

from dataclasses import replace

import torch

from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.problem import Experiment, criteria_of
from idbpd.experiment.revival import revived
from idbpd.mtl import MultiTaskData, Task, guess_loss, measure_quality
from idbpd.pipelines.training.nodes import train_constrained
from tests.pipelines.small_tasks import CALIBRATION, EXPERIMENT, TRAINING


def test_rows_that_died_have_their_initial_values_again_and_the_others_stay() -> None:
    initial = {"layer.weight": torch.ones(3, 4), "layer.bias": torch.ones(3), "filter.weight": torch.ones(2, 1, 2, 2)}
    weights = {
        "layer.weight": torch.tensor([[0.0] * 4, [1e-3] * 4, [0.5] * 4]),
        "layer.bias": torch.zeros(3),
        "filter.weight": torch.stack([torch.zeros(1, 2, 2), torch.full((1, 2, 2), 2.0)]),
    }
    found = revived(weights, initial)
    assert found["layer.weight"].tolist() == [[1.0] * 4, [1.0] * 4, [0.5] * 4]
    assert found["layer.bias"].tolist() == [0.0] * 3
    assert found["filter.weight"].flatten().tolist() == [1.0] * 4 + [2.0] * 4


def _two_tasks_from_other_columns() -> MultiTaskData:
    """Each task needs a direction of the features that is of no use to the other."""
    columns = torch.randn(64, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    features = torch.cat([columns * torch.tensor(signs) for signs in ((1, 1, 1), (-1, 1, 1), (1, -1, 1), (-1, -1, 1))])
    rows = torch.arange(len(features))

    def task(name: str, at: int) -> Task:
        return Task(name, ("no", "yes"), rows, torch.eye(2)[(features[:, at] > 0).long()])

    return MultiTaskData(features, (task("first", 0), task("second", 1)))


def test_a_model_of_another_task_is_no_trap_as_a_start() -> None:
    data = _two_tasks_from_other_columns()
    problem = EXPERIMENT.problem.model_copy(update={"weight_decay": 0.1})
    experiment: Experiment = replace(EXPERIMENT, problem=problem)
    threshold, start, alone = calibrate(
        data, CALIBRATION.model_copy(update={"max_steps": 400, "tolerance": 1e-8}), experiment
    )
    assert alone["second/heads.task.0.weight"].norm() < 1e-3  # nothing is left for the first task
    trained = train_constrained(
        data, threshold, start, TRAINING.model_copy(update={"max_steps": 300, "tolerance": 1e-3}), experiment
    )
    assert trained.outcome["status"] == "CONVERGED"
    built = experiment.build(data, "first", {})
    criteria = criteria_of(problem)
    quality = measure_quality(built.network_with(built.placed(trained.weights)), built.data, criteria)
    assert quality["first"].worst_case_loss < 0.8 * guess_loss(data["first"], criteria)
    assert quality["second"].worst_case_loss <= threshold["threshold"] + 1e-3
