"""What a new model must pass, and how the one in use is measured."""

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.errors import ConfigurationError
from idbpd.experiment.network import build_network, trained_network
from idbpd.experiment.parameters import ProblemParameters
from idbpd.experiment.problem import criteria_of
from idbpd.experiment.records.provenance import changed, program_fingerprints
from idbpd.mtl import Meaning, MultiTaskData, Task, sample_losses
from idbpd.pipelines.retraining import parameters
from idbpd.pipelines.retraining.comparison import Against, Comparison
from idbpd.pipelines.retraining.earlier_version import ask
from idbpd.pipelines.retraining.gates import GATES, Evidence, Gate, GateOptions, GateResult
from idbpd.pipelines.retraining.nodes import judge, measure_champion
from idbpd.pipelines.retraining.paired import Paired
from idbpd.pipelines.retraining.parameters import RetrainParameters
from idbpd.validation import validated
from tests.kedro_project import PROJECT
from tests.pipelines.small_tasks import MODEL

RETRAIN = RetrainParameters(
    force=False,
    train_tolerance=1e-3,
    residual_limit=1e-2,
    margin=0.05,
    accept_other_tasks=False,
)
PROBLEM = ProblemParameters.model_validate({"lambda": 0.5, "weight_decay": 0.0})
UNSEEN: dict[str, Any] = {
    "tasks": {
        "limited": {
            "worst_case_loss": 1.25,
            "reference": 1.4,
            "upper_bound": 1.38,
            "verdict": "HOLDS",
            "rows_needed": None,
            "measured": None,
        }
    },
    "guesses": {"first": 3.0, "limited": 1.6},
}
CERTIFICATE = {"stationarity": 5e-3, "infeasibility": 5e-4, "slackness": 1e-5, "held_out": UNSEEN}
HELD_OUT = {"first": 2.0, "limited": 1.25}
SAME_ROWS = "on the same 300 test rows"
CHAMPION = Comparison(Against(3, Paired(2.0, 1.95, 300, -0.02, -0.12), SAME_ROWS))
WORSE = Comparison(Against(3, Paired(2.0, 1.95, 300, 0.01, -0.09), SAME_ROWS))
DRIFTED = Comparison(
    Against(3, Paired(2.0, 1.95, 300, -0.02, -0.12), SAME_ROWS),
    Against(1, Paired(2.0, 1.9, 300, -0.03, -0.2), SAME_ROWS),
)
INCOMPARABLE = Comparison(Against(3, None, "version 3 has other labels of the first task"))


def _judged(verdict: str) -> dict[str, Any]:
    return {**UNSEEN, "tasks": {"limited": {**UNSEEN["tasks"]["limited"], "verdict": verdict}}}


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
        ({"certificate": {**CERTIFICATE, "held_out": _judged("BROKEN")}}, "holds_on_unseen_limited"),
        ({"certificate": {**CERTIFICATE, "held_out": _judged("NOT SHOWN")}}, "holds_on_unseen_limited"),
        ({"held_out": {**HELD_OUT, "limited": 1.6}}, "better_than_guess_limited"),
        (
            {"held_out": {**HELD_OUT, "limited": 1.599}},
            "better_than_guess_limited",
        ),  # by chance
        ({"comparison": WORSE}, "not_worse_than_champion"),
        ({"comparison": INCOMPARABLE}, "not_worse_than_champion"),
        ({"comparison": DRIFTED}, "no_drift"),
    ],
)
def test_each_gate_can_fail_alone(changes: dict[str, Any], gate: str) -> None:
    assert _failed(**changes) == [gate]


def test_a_limit_that_is_not_shown_can_be_accepted_but_a_broken_one_cannot() -> None:
    accepting = RETRAIN.model_copy(update={"accept_not_shown": True})
    for verdict, failed in (("NOT SHOWN", []), ("BROKEN", ["holds_on_unseen_limited"])):
        assert _failed(certificate={**CERTIFICATE, "held_out": _judged(verdict)}, retrain=accepting) == failed


def test_the_first_model_has_nobody_to_beat_and_other_tasks_can_be_accepted() -> None:
    assert _failed(comparison=Comparison()) == []
    accepting = RETRAIN.model_copy(update={"accept_other_tasks": True})
    assert _failed(comparison=INCOMPARABLE, retrain=accepting) == []


class _Served(NamedTuple):
    """A champion that answers the same whatever it is asked; it keeps the question."""

    columns: list[str]
    said: dict[str, Any]
    kinds: dict[str, str]
    asked: list[pd.DataFrame]
    version: int = 7
    seen_rows: dict[str, Tensor] | None = None

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        self.asked.append(rows)
        return pd.DataFrame(self.said)


ROWS = {"train": torch.arange(0, 4), "test": torch.tensor([5, 4, 6])}
GRADES = torch.tensor([[12.0], [8.0]])
MEANINGS = {
    "distribution": Meaning(),
    "classes": Meaning("classes"),
    "labels": Meaning("labels"),
    "binary": Meaning("binary", other="no"),
    "number": Meaning("number", center=10.0, scale=4.0),
}
PROBABILITIES = {"first:a": [0.9, 0.5, 0.2], "first:b": [0.1, 0.5, 0.8]}
SAID: dict[str, dict[str, Any]] = {
    "distribution": PROBABILITIES,
    "classes": {"first": ["a", "a", "b"], **PROBABILITIES},
    "labels": PROBABILITIES,
    "binary": {"first": ["a", "a", "no"], "first:a": PROBABILITIES["first:a"]},
    "number": {"first": [14.0, 0.0, 8.0]},
}
# The second sample of the test part has no target.
TARGETS = {
    "binary": torch.tensor([[1.0], [0.0]]),
    "number": (GRADES - 10) / 4,
}
LOSS = {
    "distribution": [-math.log(0.9), -math.log(0.8)],
    "classes": [-math.log(0.9), -math.log(0.8)],
    "labels": [-math.log(0.9), -math.log(0.8)],
    "binary": [-math.log(0.9), -math.log(0.8)],
    "number": [0.25, 0.0],
}


def _test_part(kind: str) -> MultiTaskData:
    targets = TARGETS.get(kind, torch.eye(2))
    outputs = ("a", "b")[: targets.shape[1]]
    members = torch.tensor([0, 2])
    limited = Task("limited", ("c",), members, torch.ones(2, 1))
    return MultiTaskData(torch.randn(3, 3), (Task("first", outputs, members, targets, MEANINGS[kind]), limited))


@pytest.fixture
def table() -> TaskTable:
    features = np.arange(21, dtype=np.float32).reshape(7, 3)
    return TaskTable(features, ("u", "v", "w"), np.ones((7, 2), np.int8), ("a", "b"))


@pytest.mark.parametrize("kind", list(MEANINGS))
def test_the_champion_is_measured_on_the_raw_rows_of_the_test_part(kind: str, table: TaskTable) -> None:
    said = {**SAID[kind], "limited:c": [1.0] * 3, "firsts:a": [0.0] * 3, "replaced": [""] * 3}
    champion = _Served(["w", "u"], said, {"first": kind}, [])
    test = _test_part(kind)
    answers = ask(champion, table, ROWS["test"])
    assert (answers.version, answers.reason_against(test.priority)) == (7, None)
    losses = answers.losses(test.priority, criteria_of(PROBLEM))
    assert losses.tolist() == pytest.approx(LOSS[kind], rel=1e-6)
    (asked,) = champion.asked
    assert asked["u"].tolist() == [15, 12, 18]


@pytest.mark.parametrize(
    ("columns", "kind", "said", "reason"),
    [
        (["u", "x"], "classes", SAID["classes"], "version 7 needs features that are gone: x"),
        (["u"], "labels", SAID["labels"], "version 7 answers to the first task as labels, not classes"),
        (["u"], None, PROBABILITIES, "version 7 answers to the first task as distribution, not classes"),
        (["u"], "classes", {"first": ["a"], "first:a": [1.0]}, "version 7 has other labels of the first task"),
        (["u"], "classes", {"other": ["a"]}, "version 7 has other labels of the first task"),
    ],
)
def test_a_champion_that_cannot_be_compared_says_why(
    columns: list[str], kind: str | None, said: dict[str, Any], reason: str, table: TaskTable
) -> None:
    champion = _Served(columns, said, {} if kind is None else {"first": kind}, [])
    assert ask(champion, table, ROWS["test"]).reason_against(_test_part("classes").priority) == reason


def test_the_verdict_names_every_gate_in_its_table() -> None:
    verdict, table = judge(
        {**CERTIFICATE, "held_out": _judged("NOT SHOWN")},
        {"test_first_worst_case_loss": 2.0},
        CHAMPION,
        _test_part("classes"),
        RETRAIN,
    )
    assert not verdict["passed"]
    assert verdict["champion"] == 3
    assert list(table["verdict"]) == ["passed", "FAILED", "passed", "passed", "passed", "passed", "passed"]
    assert [gate["gate"] for gate in verdict["gates"]] == [name.replace(" ", "_") for name in table["gate"]]
    assert GateResult(**verdict["gates"][1]).limit == pytest.approx(1.4)
    assert verdict["why"] == [
        "is not shown to keep the limit of limited on unseen data (NOT SHOWN: worst-case loss 1.2500, its bound is "
        "1.3800, limit 1.4000)"
    ]


@pytest.mark.parametrize(
    ("comparison", "yardstick"),
    [
        (CHAMPION, 3),
        (Comparison(), None),
        (CHAMPION._replace(yardstick=Against(1, Paired(2.0, 2.0, 300, -0.1, -0.1), SAME_ROWS)), 1),
        (CHAMPION._replace(yardstick=Against(1, Paired(2.0, 2.2, 300, -0.3, 0.1), SAME_ROWS)), None),
    ],
)
def test_the_verdict_names_the_yardstick_of_the_next_models(comparison: Comparison, yardstick: int | None) -> None:
    quality = {"test_first_worst_case_loss": 2.0}
    verdict, _ = judge(CERTIFICATE, quality, comparison, _test_part("classes"), RETRAIN)
    assert verdict["passed"]
    assert verdict["yardstick"] == yardstick
    assert verdict["why"] == [
        gate["note"] for gate in verdict["gates"] if gate["gate"] in ("not_worse_than_champion", "no_drift")
    ]


class _InUse(NamedTuple):
    """A champion of a real network, and its yardstick."""

    network: torch.nn.Module
    yardstick: Any = None
    version: int = 7
    seen_rows: dict[str, Tensor] | None = None

    @property
    def columns(self) -> list[str]:
        return ["u", "v", "w"]

    @property
    def kinds(self) -> dict[str, str]:
        return {"first": "classes", "limited": "classes"}

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        outputs = self.network(torch.tensor(rows.to_numpy(np.float32)))
        said: dict[str, Any] = {}
        for name, logits in zip(("first", "limited"), outputs, strict=True):
            shares = logits.softmax(dim=1).detach().numpy()
            said |= {name: "", f"{name}:a": shares[:, 0], f"{name}:b": shares[:, 1]}
        return pd.DataFrame(said, index=rows.index)


def test_champion_and_yardstick_are_measured_next_to_the_new_model() -> None:
    count, generator = 240, torch.Generator().manual_seed(0)
    features = torch.randn(count, 3, generator=generator)
    classes = torch.eye(2)[(features[:, 0] > 0).long()]
    table = TaskTable(features.numpy(), ("u", "v", "w"), np.ones((count, 2), np.int8), ("a", "b"))
    tasks = tuple(
        Task(name, ("a", "b"), torch.arange(120), classes[120:], MEANINGS["classes"]) for name in ("first", "limited")
    )
    test = MultiTaskData(features[120:], tasks)
    weights = [
        {name: each.detach() for name, each in build_network(MODEL, test, seed).named_parameters()} for seed in (0, 1)
    ]
    networks = [trained_network(MODEL, test, each) for each in weights]
    alone = {f"limited/{name}": tensor for name, tensor in weights[0].items()}
    limit = {"slack": None, "alone": None, "reference": 0.01, "verdict": "HOLDS", "measured": None}
    held_out = {"limited": limit}
    champion = _InUse(networks[1], _InUse(networks[0], version=5))
    compared = measure_champion(
        champion,
        table,
        test,
        test,
        {"test": torch.arange(120, count)},
        weights[0],
        alone,
        {"held_out": {"tasks": held_out}},
        MODEL,
        PROBLEM,
    )
    assert compared.champion is not None
    assert compared.champion.paired is not None
    assert compared.yardstick is not None
    assert compared.yardstick.paired is not None
    assert (compared.champion.version, compared.yardstick.version, compared.champion.paired.rows) == (7, 5, 120)
    losses = [sample_losses(network, test, criteria_of(PROBLEM))["first"] for network in networks]
    criterion = criteria_of(PROBLEM)(test.priority)
    assert compared.champion.paired.new == pytest.approx(criterion.worst(losses[0]).value.item(), rel=1e-5)
    assert compared.champion.paired.old == pytest.approx(criterion.worst(losses[1]).value.item(), rel=1e-5)
    assert compared.yardstick.paired.old == pytest.approx(compared.yardstick.paired.new, rel=1e-5)  # the same model
    assert [limit.task for limit in compared.broken] == ["limited"]
    assert compared.broken[0].is_shown


def test_without_a_champion_there_is_nothing_to_compare_with(table: TaskTable) -> None:
    test = _test_part("classes")
    assert measure_champion(None, table, test, test, ROWS, {}, {}, CERTIFICATE, MODEL, PROBLEM) == Comparison()


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
        parameters.composed_options()
