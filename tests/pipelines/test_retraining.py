"""What a new model must pass, and how the one in use is measured."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from idbpd.datasets.table import TaskTable
from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import ProblemParameters
from idbpd.experiment.problem import criteria_of
from idbpd.experiment.provenance import changed, program_fingerprints
from idbpd.mtl import MultiTaskData, SharedNetwork, Task, measure_quality
from idbpd.pipelines.retraining import parameters
from idbpd.pipelines.retraining.gates import GATES, Evidence, Gate, GateOptions, GateResult
from idbpd.pipelines.retraining.nodes import judge, measure_champion
from idbpd.pipelines.retraining.parameters import RetrainParameters
from idbpd.validation import validated
from tests.kedro_project import PROJECT

RETRAIN = RetrainParameters(
    force=False,
    train_tolerance=1e-3,
    held_out_tolerance=0.3,
    residual_limit=1e-2,
    margin=0.05,
    accept_other_tasks=False,
)
PROBLEM = ProblemParameters(**{"lambda": 0.5, "weight_decay": 0.0})
CERTIFICATE = {"stationarity": 5e-3, "infeasibility": 5e-4, "slackness": 1e-5, "tasks": {"limited": {"threshold": 1.0}}}
HELD_OUT = {"first": 2.0, "limited": 1.25}
CHAMPION: dict[str, Any] = {"version": 3, "priority_loss": 1.95, "reason": None}


def _failed(**changes: Any) -> list[str]:
    retrain = changes.pop("retrain", RETRAIN)
    evidence = Evidence(CERTIFICATE, {}, HELD_OUT, CHAMPION, "first")._replace(**changes)
    return [result.gate for gate in GATES for result in gate.check(evidence, retrain) if not result.passed]


def test_a_good_model_passes_every_gate() -> None:
    assert _failed() == []


@pytest.mark.parametrize(
    ("changes", "gate"),
    [
        ({"certificate": {**CERTIFICATE, "infeasibility": 2e-3}}, "feasible_train"),
        ({"certificate": {**CERTIFICATE, "stationarity": 2e-2}}, "residual"),
        ({"certificate": {**CERTIFICATE, "slackness": float("nan")}}, "residual"),
        ({"held_out": {**HELD_OUT, "limited": 1.31}}, "feasible_held_out_limited"),
        ({"held_out": {**HELD_OUT, "first": 2.06}}, "not_worse_than_champion"),
        ({"champion": {"version": 3, "priority_loss": None, "reason": "other labels"}}, "not_worse_than_champion"),
    ],
)
def test_each_gate_can_fail_alone(changes: dict[str, Any], gate: str) -> None:
    assert _failed(**changes) == [gate]


def test_the_first_model_has_nobody_to_beat_and_other_tasks_can_be_accepted() -> None:
    nobody = {"version": None, "priority_loss": None, "reason": None}
    assert _failed(champion=nobody) == []
    incomparable = {"version": 3, "priority_loss": None, "reason": "other labels"}
    accepting = RETRAIN.model_copy(update={"accept_other_tasks": True})
    assert _failed(champion=incomparable, retrain=accepting) == []


class _Served(NamedTuple):
    """A network behind the interface of a served model."""

    version: int
    features: list[str]
    columns: list[str]
    network: SharedNetwork

    def probabilities(self, features: pd.DataFrame) -> pd.DataFrame:
        assert list(features.columns) == self.features
        with torch.no_grad():
            logits = self.network(torch.tensor(features.to_numpy(np.float32)))
        return pd.DataFrame(torch.cat([part.softmax(-1) for part in logits], dim=-1).numpy(), columns=self.columns)


@pytest.fixture
def test_part() -> MultiTaskData:
    features = torch.randn(20, 3)
    rows = torch.arange(0, 20, 2)
    targets = torch.nn.functional.one_hot(torch.arange(10) % 2, 2).float()
    return MultiTaskData(
        features, (Task("first", ("a", "b"), rows, targets), Task("limited", ("c", "d"), rows, targets))
    )


@pytest.fixture
def table() -> TaskTable:
    return TaskTable(np.zeros((4, 3), np.float32), ("u", "v", "w"), np.ones((4, 2), np.int8), ("a", "b"))


SCALING = {"center": torch.tensor([1.0, 2.0, 3.0]), "scale": torch.tensor([2.0, 1.0, 0.5])}
COLUMNS = ["first:a", "first:b", "limited:c", "limited:d"]


def test_the_champion_is_measured_as_the_new_model_is(test_part: MultiTaskData, table: TaskTable) -> None:
    network = SharedNetwork(3, 4, (2, 2))
    raw = MultiTaskData(test_part.features * SCALING["scale"] + SCALING["center"], test_part.tasks)
    expected = measure_quality(network, raw, criteria_of(PROBLEM))["first"].worst_case_loss
    measured = measure_champion(_Served(7, ["u", "v", "w"], COLUMNS, network), table, test_part, SCALING, PROBLEM)
    assert measured["version"] == 7
    assert measured["priority_loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("features", "columns", "reason"),
    [
        (["u", "v", "w"], ["first:a", "first:z", *COLUMNS[2:]], "version 7 has other labels of the first task"),
        (["u", "v", "x"], COLUMNS, "version 7 needs features that are gone: x"),
    ],
)
def test_a_champion_that_cannot_be_compared_says_why(
    features: list[str], columns: list[str], reason: str, test_part: MultiTaskData, table: TaskTable
) -> None:
    champion = _Served(7, features, columns, SharedNetwork(3, 4, (2, 2)))
    measured = measure_champion(champion, table, test_part, SCALING, PROBLEM)
    assert measured == {"version": 7, "priority_loss": None, "reason": reason}


def test_the_verdict_names_every_gate_in_its_table(test_part: MultiTaskData) -> None:
    certificate = {**CERTIFICATE, "held_out": {"tasks": {"limited": {"worst_case_loss": 1.4}}}}
    verdict, table = judge(certificate, {"test_first_worst_case_loss": 2.0}, CHAMPION, test_part, RETRAIN)
    assert not verdict["passed"]
    assert verdict["champion"] == 3
    assert list(table["verdict"]) == ["passed", "FAILED", "passed", "passed"]
    assert [gate["gate"] for gate in verdict["gates"]] == [name.replace(" ", "_") for name in table["gate"]]
    assert GateResult(**verdict["gates"][1]).limit == pytest.approx(1.3)


def test_any_parameter_except_resume_counts_as_a_change() -> None:
    def of(**retrain: Any) -> dict[str, str]:
        return program_fingerprints({"seed": 0, "retrain": {"force": False, "margin": 0.1, **retrain}}, PROJECT)

    assert changed(of(), of(force=True)) == []
    assert changed(of(), of(margin=0.2)) == ["parameters"]


def test_the_parameters_file_has_the_defaults_of_the_gates() -> None:
    stored = yaml.safe_load((PROJECT / "conf/base/parameters_retraining.yml").read_text())["retrain"]
    assert RetrainParameters(**stored) == RetrainParameters()
    assert set(stored) == set(RetrainParameters.model_fields)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"margin": -1}, "parameter 'retrain.margin' = -1 is not valid: input should be greater than or equal to 0"),
        ({"residual_limit": 0}, "parameter 'retrain.residual_limit' = 0 is not valid: input should be greater than 0"),
        ({"margins": 1}, "unknown parameter 'retrain.margins'; did you mean 'retrain.margin'?"),
    ],
)
def test_a_wrong_option_of_a_gate_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        validated("retrain", RetrainParameters, given)
    assert words in str(error.value)


def test_two_gates_cannot_share_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    class Options(GateOptions):
        margin: float = 0.0

    twice = Gate(Options, lambda *_: [])
    monkeypatch.setattr(parameters, "GATES", (*GATES, twice))
    with pytest.raises(TypeError, match=r"two gates have an option 'margin': retrain.margin would set both"):
        parameters._composed()
