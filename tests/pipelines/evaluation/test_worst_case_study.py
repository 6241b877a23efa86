"""Who the worst case is made of: what is planted in the data is found, and nothing else."""

import base64
import io
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.image import imread
from torch import Tensor

from idbpd.datasets.table import Column, TaskTable
from idbpd.experiment.features import encoded, fit_encoding
from idbpd.experiment.parameters import ModelParameters, ProblemParameters, SplitParameters
from idbpd.mtl import Meaning, MultiTaskData, Task, seeded_network
from idbpd.pipelines.evaluation.compared import Assessment
from idbpd.pipelines.evaluation.parameters import EvaluationParameters
from idbpd.pipelines.evaluation.sample_words import answer_in_words, pictured, truth_in_words
from idbpd.pipelines.evaluation.standing_out import standing_out
from idbpd.pipelines.evaluation.worst_case_study import study_worst_case

MODEL = ModelParameters(hidden=3)
CERTIFICATE: dict[str, Any] = {"tasks": {"spend": {"threshold": 1.0}}}
ROWS = 200


def _table() -> TaskTable:
    """Two columns: noise, and a region; every tenth row is in the west."""
    random = np.random.default_rng(0)
    region = np.where(np.arange(ROWS) % 10 == 0, 1, 0).astype(np.int32)
    columns = (
        Column("noise", "number", random.normal(size=ROWS)),
        Column("region", "category", region, ("east", "west")),
    )
    return TaskTable(columns, ("noise", "region"), np.zeros((ROWS, 0), dtype=np.int8), ())


def _study(worst_case: object, *, hardest: int = 4, test_fraction: float = 0.5) -> dict[str, Any]:
    """A number that is far from every answer in the west, and near elsewhere."""
    table = _table()
    rows = {"train": torch.arange(100), "test": torch.arange(100, ROWS)}
    encoding = fit_encoding(table, np.arange(100))
    train, test = (_part(table, rows[part], encoding) for part in ("train", "test"))
    network = seeded_network(train.features.shape[1], 3, (1, 1), 0)
    weights = {name: tensor.detach() for name, tensor in network.named_parameters()}
    problem = ProblemParameters.model_validate({"weight_decay": 0.0, "worst_case": worst_case})
    split = SplitParameters(test_fraction=test_fraction, seed=0)
    shown = EvaluationParameters(hardest_samples=hardest)
    assessment = Assessment(train, test, MODEL, problem, split)
    study, _ = study_worst_case(table, rows, encoding, weights, CERTIFICATE, shown, assessment)
    return study


def _part(table: TaskTable, rows: Tensor, encoding: dict[str, Any]) -> MultiTaskData:
    features = torch.from_numpy(encoded(table, rows.numpy(), encoding))
    assert isinstance(table.features, tuple)
    column = table.features[1]
    assert isinstance(column, Column)
    west = torch.from_numpy(column.values[rows.numpy()].astype(np.int64))
    targets = 3.0 * west.float()[:, None]
    meaning = Meaning("number", center=10.0, scale=2.0)
    every = torch.arange(len(rows))
    tasks = [Task(name, (name,), every, targets, meaning, {}, west, ("east", "west")) for name in ("churn", "spend")]
    return MultiTaskData(features, tuple(tasks))


def test_the_column_that_the_heavy_samples_share_is_named_and_noise_is_not() -> None:
    study = _study({"share": 0.1})["tasks"]["churn"]
    assert study["looked_at"] == {"by": "weight", "members": 10, "of": 100}
    assert {found["feature"] for found in study["standing_out"]} == {"region=west", "region=east"}
    west = next(found for found in study["standing_out"] if found["feature"] == "region=west")
    assert (west["column"], west["is_share"], west["members"], west["rest"]) == ("region", True, 1.0, 0.0)
    assert west["difference"] == pytest.approx(1 / 0.3, rel=1e-6)


def test_where_most_samples_have_weight_the_hardest_are_looked_at() -> None:
    study = _study({"share": 0.8})["tasks"]["churn"]
    assert study["looked_at"] == {"by": "loss", "members": 10, "of": 100}
    assert study["standing_out"][0]["column"] == "region"


def test_what_groups_are_made_of_is_no_finding_about_them() -> None:
    study = _study({"groups": "region"})["tasks"]["churn"]
    assert study["standing_out"] == []
    by_name = {group["group"]: group for group in study["groups"]}
    assert by_name["west"]["samples"] == 10
    assert by_name["west"]["weight"] == pytest.approx(1.0)
    assert by_name["east"]["weight"] == pytest.approx(0.0)


def test_the_hardest_samples_come_with_truth_answer_and_raw_columns() -> None:
    hardest = _study({"share": 0.1})["tasks"]["churn"]["hardest"]
    assert len(hardest) == 4
    assert [one["loss"] for one in hardest] == sorted((one["loss"] for one in hardest), reverse=True)
    first = hardest[0]
    assert first["truth"] == "16"  # three deviations of 2 above 10
    assert first["columns"]["region"] == "west"
    assert (first["row"] - 1) % 10 == 0
    assert first["row"] > 100  # of the test part
    features = _table().features
    assert isinstance(features, tuple)
    noise = features[0]
    assert isinstance(noise, Column)
    assert float(first["columns"]["noise"]) == pytest.approx(noise.values[first["row"] - 1], rel=1e-3)


def test_nobody_is_shown_where_nobody_may_be() -> None:
    assert _study("mean", hardest=0)["tasks"]["churn"]["hardest"] == []


def test_histograms_hold_every_sample_and_the_priority_task_has_a_bound() -> None:
    study = _study({"share": 0.5})
    for name, task in study["tasks"].items():
        assert {part: sum(counts) for part, counts in task["histogram"]["counts"].items()} == task["samples"]
        assert (task["upper_bound"] is not None) == (name == "churn")
        assert task["upper_bound"] is None or task["upper_bound"] >= task["histogram"]["worst_case"]["test"]
        assert task["curve"][-1] == pytest.approx([100.0, 100.0])
    assert study["tasks"]["spend"]["histogram"]["limit"] == 1.0


def test_without_unseen_data_it_is_about_the_training_data() -> None:
    study = _study("mean", test_fraction=0.0)
    assert study["part"] == "train"
    assert study["rows"] == {"train": 100}
    assert study["tasks"]["churn"]["upper_bound"] is None


def test_among_many_columns_of_noise_none_stands_out() -> None:
    random = np.random.default_rng(0)
    table = TaskTable(
        random.normal(size=(300, 400)).astype(np.float32),
        tuple(f"c{at}" for at in range(400)),
        np.zeros((300, 0), dtype=np.int8),
        (),
    )
    encoding = fit_encoding(table, np.arange(300))
    members = np.arange(300) < 30
    assert list(standing_out(table, np.arange(300), members, encoding)) == []
    assert list(standing_out(table, np.arange(300), np.arange(300) < 2, encoding)) == []  # too few to tell


def test_answers_of_every_kind_in_words() -> None:
    def task(kind: Any, labels: tuple[str, ...], **options: Any) -> Task:
        return Task("t", labels, torch.arange(1), torch.zeros(1, len(labels)), Meaning(kind, **options))

    binary, labels = task("binary", ("yes",), other="no"), task("labels", ("a", "b", "c"))
    assert (truth_in_words(binary, torch.tensor([0.0])), answer_in_words(binary, torch.tensor([0.3]))) == (
        "no",
        "no (70%)",
    )
    assert truth_in_words(labels, torch.tensor([1.0, 0.0, 1.0])) == "a, c"
    assert answer_in_words(labels, torch.tensor([0.2, 0.6, 0.9])) == "c (90%), b (60%)"
    assert answer_in_words(labels, torch.tensor([0.2, 0.1, 0.0])) == "none (nearest: a, 20%)"
    assert answer_in_words(task("classes", ("a", "b")), torch.tensor([0.2, 0.8])) == "b (80%)"
    assert answer_in_words(task("distribution", ("a", "b", "c")), torch.tensor([0.6, 0.38, 0.02])) == "a (60%), b (38%)"


def test_an_image_is_a_picture_of_its_pixels() -> None:
    pixels = np.linspace(0, 1, 2 * 9).reshape(2, 9).astype(np.float32)
    table = TaskTable(pixels, tuple(map(str, range(9))), np.zeros((2, 0), dtype=np.int8), (), content="images")
    content = pictured(table, 1)
    assert content is not None
    drawn = imread(io.BytesIO(base64.b64decode(content)), format="png")
    np.testing.assert_allclose(drawn, pixels[1].reshape(3, 3), atol=1 / 255)
    assert pictured(_table(), 0) is None
