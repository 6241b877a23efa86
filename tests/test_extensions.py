"""A loss, a worst case, a method and a gate are each one file and one line, and a run then uses them.

The files are those of `tests/extensions`; the lines are below.
"""

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from idbpd.datasets import MultiTaskDataset
from idbpd.exit_codes import EXIT_CODES
from idbpd.mtl import SharedNetwork
from tests.kedro_project import PROJECT, KedroProject


class _Extension(NamedTuple):
    """A file, the folder it goes to, the file with the registry, and where the line and its import go there."""

    file: str
    folder: str
    registry: str
    line: tuple[str, str]  # what stands before it, and the line
    imported: tuple[str, str]


EXTENSIONS = (
    _Extension(
        "brier.py",
        "mtl/losses",
        "mtl/losses/__init__.py",
        ('    "cross_entropy": CrossEntropy,\n', '    "brier": Brier,\n'),
        ("from idbpd.mtl.kinds import Kind\n", "from idbpd.mtl.losses.brier import Brier\n"),
    ),
    _Extension(
        "entropic.py",
        "mtl/worst_cases",
        "mtl/worst_cases/__init__.py",
        ('    "penalty": Penalty,\n', '    "entropic": Entropic,\n'),
        ("from collections.abc import Callable\n\n", "from idbpd.mtl.worst_cases.entropic import Entropic\n"),
    ),
    _Extension(
        "plain_descent.py",
        "baselines",
        "baselines/registry.py",
        ("    *gdma.ENTRIES,\n", "    *plain_descent.ENTRIES,\n"),
        ("gdma, idbpd_methods", ", plain_descent"),
    ),
    _Extension(
        "miss_rate.py",
        "pipelines/retraining/gates",
        "pipelines/retraining/gates/__init__.py",
        ("    residual.GATE,\n", "    miss_rate.GATE,\n"),
        ("    holds_on_unseen,\n", "    miss_rate,\n"),
    ),
)
pytestmark = [pytest.mark.xdist_group("extensions"), pytest.mark.slow]
TEMPERATURE, WEIGHT_DECAY = 0.5, 1e-3
PARAMETERS = (
    "dataset=small,training.method=plain_descent,methods.plain_descent.rate=0.05",
    f"problem.loss=brier,problem.worst_case.entropic.temperature={TEMPERATURE},problem.weight_decay={WEIGHT_DECAY},problem.beyond_limits=0",
    "training.max_steps=4,calibration.max_steps=4,retrain.most_misses=0.01",
)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory, database: Path) -> KedroProject:
    """A copy of the project with all four, in which a retraining has been run."""
    project = KedroProject.copied_to(tmp_path_factory.mktemp("extended") / "project", database)
    package = project.path / "src" / "idbpd"
    for extension in EXTENSIONS:
        shutil.copy(PROJECT / "tests" / "extensions" / extension.file, package / extension.folder)
        text = (package / extension.registry).read_text()
        for before, added in (extension.line, extension.imported):
            assert text.count(before) == 1
            text = text.replace(before, before + added)
        (package / extension.registry).write_text(text)
    project.configure("sources.yml", "small: {type: idbpd.datasets.ComposedDigitsDataset, pairs: 300, seed: 0}")
    retrain = ("run", "--pipeline", "retrain")
    output = project.kedro_process(*retrain, params=",".join(PARAMETERS), exit_code=EXIT_CODES["rejected"])
    assert "rejected: version 1 of idbpd-small" in output
    return project


def _worst_case(logits: Tensor, targets: Tensor) -> float:
    """The entropic worst case of Brier scores, by its closed form."""
    losses = (logits.softmax(dim=1) - targets).square().sum(dim=1)
    return TEMPERATURE * float((losses / TEMPERATURE).exp().mean().log())


def test_the_certificate_is_that_of_the_new_loss_and_the_new_worst_case(extended: KedroProject) -> None:
    data = extended.data
    train = MultiTaskDataset(filepath=str(data / "05_model_input/small/train.safetensors")).load()
    train = train.to(torch.device("cpu"), torch.float64)
    network = SharedNetwork(train.features.shape[1], 100, train.classes).double()
    network.load_state_dict(load_file(data / "06_models/small/weights.safetensors"))
    with torch.no_grad():
        values = [
            _worst_case(logits[task.rows], task.targets)
            for task, logits in zip(train.tasks, network(train.features), strict=True)
        ]
        decaying = [tensor for name, tensor in network.named_parameters() if not re.match(r"heads\..*bias", name)]
        squares = sum(float(parameter.square().sum()) for parameter in decaying)
    certificate = json.loads((data / "08_reporting/small/certificate.json").read_text())
    assert certificate["objective"] == pytest.approx(values[0] + WEIGHT_DECAY / 2 * squares, rel=1e-9)
    assert certificate["constraint"] == pytest.approx(values[1] - certificate["threshold"], abs=1e-9)
    # Softmax weights are nowhere zero.
    assert certificate["support"]["priority"]["weighted"] == certificate["support"]["priority"]["samples"]
    assert json.loads((data / "06_models/small/problem.json").read_text())["loss"] == "brier"


def test_the_run_was_trained_by_the_new_method_with_its_option(extended: KedroProject) -> None:
    _, runs = extended.tracked_runs()
    assert [run.data.tags["dataset"] for run in runs if run.data.tags.get("method") == "plain_descent"] == ["small"]
    history = pd.read_parquet(extended.data / "07_model_output/small/history.parquet")
    assert history["multiplier"].tolist() == [1.0] * 5  # its own, at the start and after each of four steps


def test_the_new_gate_was_asked_and_its_option_counted(extended: KedroProject) -> None:
    table = pd.read_csv(extended.data / "08_reporting/small/gates.csv").set_index("gate")
    guesses = ["better than guess priority", "better than guess constraint"]
    assert list(table.index)[:6] == ["feasible train", "holds on unseen constraint", *guesses, "residual", "miss rate"]
    assert table.loc["miss rate", "at most"] == 0.01
    assert table.loc["miss rate", "verdict"] == "FAILED"


def test_the_report_draws_the_new_method_in_its_colour(extended: KedroProject) -> None:
    program = """
import numpy, pandas
from idbpd.baselines import METHODS, grid
from idbpd.experiment.tracked.benchmark_results import BenchmarkCell
from idbpd.pipelines.report.figures import draw_figures
names = ("step", "seconds", "objective", "infeasibility", "best_stationarity", "best_slackness", "feasible_objective")
history = pandas.DataFrame({name: numpy.arange(1.0, 4.0) for name in names})
tags = {"dataset": "small", "setting": "paper", "method": "plain_descent", "seed": "0", "status": "MAX_STEPS"}
figures = draw_figures([BenchmarkCell(tags, {}, {"lowest_feasible_objective": 1.0}, history)])
for name in ("small_paper_kkt.svg", "profiles.svg"):
    (line,) = figures[name].axes[0].get_lines()
    print(line.get_label(), line.get_color())
print(len(grid("plain_descent")), list(METHODS)[-1])
"""
    (extended.path / "drawn.py").write_text(program)
    assert extended.kedro_process(module="drawn").splitlines() == ["plain descent #ff00ff"] * 2 + ["2 plain_descent"]
