"""Tasks of every kind in one model, from training to the report."""

import html
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import mean_absolute_error, roc_auc_score

from idbpd.datasets.table import TaskTable
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.limits.certify import certify
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import SplitParameters
from idbpd.experiment.records.node_warnings import NodeWarnings
from idbpd.mtl import HEADLINE, KINDS, Meaning, MultiTaskData, Task
from idbpd.pipelines.evaluation.compared import Assessment, Rivals
from idbpd.pipelines.evaluation.groups import COLUMNS
from idbpd.pipelines.evaluation.nodes import compare, draw_loss_distribution
from idbpd.pipelines.evaluation.page import write_report
from idbpd.pipelines.evaluation.parameters import EvaluationParameters
from idbpd.pipelines.evaluation.worst_case_study import study_worst_case
from idbpd.pipelines.training.comparison_nodes import train_equal_weights, train_unconstrained
from idbpd.pipelines.training.nodes import train_constrained
from tests.pipelines.small_tasks import CALIBRATION, EXPERIMENT, MODEL, PROBLEM, TRAINING

SPLIT = SplitParameters(test_fraction=0.5, seed=0)
SHOWN = EvaluationParameters(hardest_samples=3)
NUMBERS: dict[str, Any] = {
    "numbers": [{"name": name, "median": 0.0, "gap": False} for name in "abcd"],
    **{"categories": [], "dates": []},
}
NAMES = {kind: f"a {kind}" for kind in KINDS}


def _data(seed: int) -> MultiTaskData:
    """A task of every kind on the same samples; a label is not always known."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(60, 4, generator=generator)
    noisy = features + 0.5 * torch.randn(60, 4, generator=generator)
    rows = torch.arange(60)
    labels = (noisy[:, :2] > 0).float()
    labels[::5, 1] = math.nan
    shares = (noisy[:, :3] > 0).float()
    shares[shares.sum(dim=1) == 0, 0] = 1
    return MultiTaskData(
        features,
        (
            Task(NAMES["binary"], ("yes",), rows, (noisy[:, :1] > 0).float(), Meaning("binary", other="no")),
            Task(NAMES["number"], ("grade",), rows, noisy[:, 1:2] / 1.1, Meaning("number", center=10.0, scale=4.0)),
            Task(NAMES["classes"], ("a", "b", "c"), rows, torch.eye(3)[noisy[:, :3].argmax(1)], Meaning("classes")),
            Task(NAMES["labels"], ("l", "m"), rows, labels, Meaning("labels")),
            Task(NAMES["distribution"], ("x", "y", "z"), rows, shares / shares.sum(dim=1, keepdim=True)),
        ),
    )


def _table(train: MultiTaskData, test: MultiTaskData) -> tuple[TaskTable, dict[str, torch.Tensor]]:
    """The table that both parts could come from."""
    features = torch.cat([train.table, test.table]).numpy()
    table = TaskTable(features, tuple("abcd"), np.zeros((120, 1), dtype=np.int8), ("x",))
    return table, {"train": torch.arange(60), "test": torch.arange(60, 120)}


def test_every_kind_gets_its_measures_next_to_other_models_and_a_guess(tmp_path: Path) -> None:
    train, test = _data(0), _data(1)
    threshold, start, alone = calibrate(train, CALIBRATION, EXPERIMENT)
    shared = (start, TRAINING, EXPERIMENT)
    weights, history, clock, outcome = train_constrained(train, threshold, *shared)
    equal = train_equal_weights(train, *shared)
    others = Rivals(train_unconstrained(train, *shared), equal, alone, equal)  # the best fixed weights could be these
    certificate = certify(train, test, weights, outcome, threshold, alone, SPLIT, EXPERIMENT)
    tables = compare(weights, others, certificate, Assessment(train, test, MODEL, PROBLEM, SPLIT))
    quality, summary, comparison, labels, verdicts = tables

    json.dumps(quality, allow_nan=False)
    for kind, names in HEADLINE.items():
        for name in names:
            assert math.isfinite(quality[f"test_{NAMES[kind]}_{name}"])
    with torch.no_grad():
        binary, number, *_ = trained_network(MODEL, train, weights)(test.features)
    truths, grades = test["a binary"].targets, test["a number"].targets
    assert quality["test_a binary_roc_auc"] == pytest.approx(roc_auc_score(truths, binary), rel=1e-9)
    expected = mean_absolute_error(10 + 4 * grades, 10 + 4 * number)
    assert quality["test_a number_mae"] == pytest.approx(expected, rel=1e-6)
    shown = summary.set_index("task: what")
    assert shown.loc["a number: MAE, test", "constrained"] == f"{expected:.4g}"
    assert shown.loc["a binary: ROC AUC, test", "constant guess"] == "0.500"

    units = comparison.drop_duplicates("task").set_index("task")["loss_unit"]
    assert units["a number"] == "variance of the target"
    assert set(units.drop("a number")) == {"nats"}
    assert set(labels["task"]) == {NAMES[kind] for kind in KINDS if kind != "number"}
    assert not labels[["mean_loss", "hit_rate", "average_precision"]].isna().any(axis=None)

    figure = draw_loss_distribution(weights, certificate, Assessment(train, test, MODEL, PROBLEM, SPLIT))
    assert [axes.get_xlabel().split("[")[1] for axes in figure.axes[:2]] == ["nats]", "variance of the target]"]
    figure.canvas.draw()
    page = write_report(
        "mixed",
        certificate,
        threshold,
        outcome,
        comparison,
        labels,
        pd.DataFrame(columns=COLUMNS),
        verdicts,
        history,
        clock,
        {"weight_decay": 0.001, "curve": []},
        {"tasks": {}},
        study_worst_case(
            *_table(train, test), NUMBERS, weights, certificate, SHOWN, Assessment(train, test, MODEL, PROBLEM, SPLIT)
        )[0],
        NodeWarnings(tmp_path),
        {},
        tmp_path,
    )
    assert page.index("Make <strong><bdi>a binary</bdi></strong> as good as it can be") < page.index(
        "<bdi>a number</bdi>"
    )
    assert all(
        html.escape(sentence).replace("constrained", "this model", 1) in page for sentence in verdicts["verdict"]
    )


def test_a_column_of_the_comparison_that_has_no_meaning_for_a_task_is_empty() -> None:
    train = _data(0)
    threshold, start, alone = calibrate(train, CALIBRATION, EXPERIMENT)
    certificate = {"held_out": None, "status": "", "tasks": threshold["tasks"]}
    certificate |= {"stationarity": 0.0, "infeasibility": 0.0, "slackness": 0.0}
    for record in certificate["tasks"].values():
        record |= {"constraint": 0.0, "multiplier": 0.0}
    split = SPLIT.model_copy(update={"test_fraction": 0.0})
    comparison = compare(
        start, Rivals(start, start, alone, {}), certificate, Assessment(train, train, MODEL, PROBLEM, split)
    )[2]
    number = comparison[comparison["task"] == "a number"]
    assert number["accuracy"].isna().all()
    assert number["mae"].notna().all()
    guess = number.set_index("model").loc["constant guess"]
    assert guess["r2"] == pytest.approx(0, abs=1e-9)
    assert guess["mean_loss"] == pytest.approx(train["a number"].targets.var(correction=0).item(), rel=1e-5)
