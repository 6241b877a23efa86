"""``kedro run --pipeline energy`` on a small table: what it prints, leaves behind and tracks."""

import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.entities import Run
from safetensors.torch import load_file

from tests.kedro_project import KedroProject

pytestmark = [pytest.mark.xdist_group("energy"), pytest.mark.slow]

ENERGY = ("run", "--pipeline", "energy")
FAST = (
    "dataset=shop,split.test_fraction=0.5,calibration.max_steps=200,training.max_steps=200,problem.weight_decay=0.01,model.hidden=8,"
    "calibration.reserve=0,calibration.slack=0.5,energy.stages=4,energy.budget=0.3"
)
SOURCE = {
    "shop": {
        "type": "idbpd.datasets.TabularDataset",
        "filepath": "data/01_raw/shop.csv",
        "tasks": {"churn": "churned", "spend": "next_month"},
    }
}
SIX = ("objective", "constraint", "stationarity", "infeasibility", "slackness", "multiplier")
LAYERS = ("trunk", "heads.task.0", "heads.task.1")


def _shop(project: KedroProject) -> KedroProject:
    draws = np.random.default_rng(0)
    columns = draws.normal(size=(600, 6))
    table = pd.DataFrame(columns.round(3), columns=["visits", "basket", "age", "calls", "mails", "returns"])
    table["churned"] = np.where(columns[:, :2] @ [1, -1] + 0.5 * draws.normal(size=600) > 0, "yes", "no")
    table["next_month"] = (20 + columns[:, :3] @ [3, 2, -1] + 4 * draws.normal(size=600)).round(2)
    (project.data / "01_raw").mkdir(parents=True, exist_ok=True)
    table.to_csv(project.data / "01_raw/shop.csv", index=False)
    project.configure("sources.yml", SOURCE)
    return project


class Finished(NamedTuple):
    project: KedroProject
    output: str

    @property
    def folder(self) -> Path:
        return self.project.data / "06_models/shop/energy/budget_0.3"

    @property
    def certificate(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "certificate.json").read_text())
        return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Finished:
    project = _shop(KedroProject.copied_to(tmp_path_factory.mktemp("energy") / "project", database))
    return Finished(project, project.kedro(*ENERGY, params=FAST))


def test_the_verdict_on_the_budget_comes_first(finished: Finished) -> None:
    lines = finished.output.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("WITHIN BUDGET: one answer needs 0.2"))
    assert "0.3 is allowed" in lines[first]
    assert lines[first + 1].startswith("PRIORITY: churn on unseen data")
    for text in (
        "shop: within the energy budget, next to the dense model",
        "(certified)",
        "pruned model and certificate: data/06_models/shop/energy",
    ):
        assert any(text in line for line in lines[first:])


def test_the_pruned_network_is_within_its_budget_by_a_sum_over_its_arrays(finished: Finished) -> None:
    """From the saved arrays alone: 6 features, 12 units, one output per task."""
    weights = load_file(finished.folder / "weights.safetensors")
    numbers = {
        layer: sum(int((weights[f"{layer}.{part}"] != 0).sum()) for part in ("weight", "bias")) for layer in LAYERS
    }
    energy = finished.certificate["energy"]
    assert {name: layer["nonzero"] for name, layer in energy["layers"].items()} == numbers
    units = energy["layers"]["trunk"]["shape"][0]
    moved = 6 + units + 2 * (units + 1)
    total = sum(numbers.values())
    energies = (total * 3.7, total * 0.9, (2 * total + moved) * 5.0, total * 640.0)
    worst = sum(energies) + 0.3 * math.hypot(*energies)
    assert worst == pytest.approx(energy["worst_pj"])
    assert worst <= 0.3 * energy["dense_pj"]
    assert energy["within_budget"] is True
    assert all(layer["nonzero"] <= layer["level"] for layer in energy["layers"].values())


def test_the_certificate_has_l_plus_one_multipliers_and_small_residuals(finished: Finished) -> None:
    budgeted = finished.certificate["budgeted"]
    assert tuple(budgeted["layers"]) == LAYERS
    assert budgeted["energy"]["multiplier"] > 0
    price = budgeted["energy"]["multiplier"]
    free = [layer for layer in budgeted["layers"].values() if 1.5 / 7 < layer["share"] < 0.99]
    assert all(layer["multiplier"] == pytest.approx(1.3 * price, rel=0.1) for layer in free)
    for part in (budgeted, finished.certificate):
        assert max(part[name] for name in ("stationarity", "infeasibility", "slackness")) <= 1e-2
    assert set(budgeted["tasks"]) == {"spend"}
    assert finished.certificate["tasks"]["spend"]["constraint"] <= 1e-2


def test_it_is_a_tracked_run_with_a_tag_for_the_budget(finished: Finished) -> None:
    _, runs = finished.project.tracked_runs()
    (run,) = (run for run in runs if "budget" in run.data.tags)
    assert (run.data.tags["budget"], run.data.tags["pipeline"]) == ("0.3", "energy")
    assert {f"final_{name}" for name in SIX} | set(SIX) < set(run.data.metrics)
    assert run.data.metrics["energy_share"] <= 0.3
    assert run.data.metrics["multiplier_energy"] > 0
    assert {"test_churn_worst_case_loss", "test_churn_accuracy", "test_spend_mae"} <= set(run.data.metrics)
    assert "WITHIN BUDGET" in _parent_note(runs)


def _parent_note(runs: list[Run]) -> str:
    return " ".join(run.data.tags.get("mlflow.note.content", "") for run in runs)


def test_the_model_is_the_pruned_network_without_its_dead_units(finished: Finished) -> None:
    model = mlflow.pyfunc.load_model(str(finished.folder / "model"))
    rows = pd.read_csv(finished.project.data / "01_raw/shop.csv").head(5)
    answers = model.predict(rows.drop(columns=["churned", "next_month"]))
    assert set(answers["churn"]) <= {"yes", "no"}
    assert answers["spend"].notna().all()
    (arrays,) = (finished.folder / "model/artifacts").glob("*.safetensors")
    shapes = sorted(tuple(tensor.shape) for tensor in load_file(arrays).values() if tensor.dim() == 2)
    units = finished.certificate["energy"]["layers"]["trunk"]["shape"][0]
    assert (units, 6) in shapes


def test_a_run_within_a_budget_cannot_be_repeated_by_itself(finished: Finished) -> None:
    _, runs = finished.project.tracked_runs()
    (run,) = (run for run in runs if "budget" in run.data.tags)
    output = finished.project.kedro("run", "--pipeline", "reproduce", params=f"run_id={run.info.run_id}", exit_code=1)
    assert "kedro run --pipeline energy" in output


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("energy.budget=0", "'energy.budget' = 0 is not valid: it is a share"),
        ("energy.budget=1.2", "'energy.budget' = 1.2 is not valid: it is a share"),
        ("energy.budget=0.001", "'energy.budget' = 0.001 is below what one weight per layer costs: the smallest"),
        ("energy.radius=1.5", "'energy.radius' = 1.5 is not valid: .*negative energies"),
        ("energy.costs.add=-1", "'energy.costs.add' = -1 is not valid"),
        ("model.type=tests.energy.networks.Normalised,model.hidden=12", "does not know layer 'norm' .LayerNorm."),
    ],
)
def test_bad_input_is_one_line(finished: Finished, given: str, message: str) -> None:
    output = finished.project.kedro(*ENERGY, params=f"{FAST},{given}", exit_code=1)
    (line,) = (line for line in output.splitlines() if line.startswith("Error"))
    assert re.search(message, line)
