"""A loss and a worst case by name: what is accepted, and what a mistake is told."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch

from idbpd.errors import ConfigurationError
from idbpd.experiment.choices import Choice, chosen
from idbpd.experiment.parameters import ProblemParameters, ProblemSettings, TasksParameters
from idbpd.experiment.problem import criteria_of
from idbpd.mtl import CrossEntropy, Penalty, Task
from idbpd.mtl.worst_cases import ChiSquare, Mean, Share
from idbpd.validation import validated


@dataclass(frozen=True)
class _Share:
    share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share}")


@dataclass(frozen=True)
class _Ball:
    radius: float
    steps: int = 3


@dataclass(frozen=True)
class _Box:
    low: float
    high: float


REGISTRY: dict[str, Any] = {"share": _Share, "ball": _Ball, "penalty": Penalty, "mean": Mean, "box": _Box}


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("share", {}),
        ({"share": {}}, {}),
        ({"share": {"share": 0.2}}, {"share": 0.2}),
        ({"share": "2e-1"}, {"share": 0.2}),
        ({"ball": {"radius": 1, "steps": 4}}, {"radius": 1.0, "steps": 4}),
        ({"ball": 2}, {"radius": 2.0}),  # the one option that it must have
        ("penalty", {"regularisation": 0.7}),
        ({"penalty": 3}, {"regularisation": 3.0}),  # stated here, so not what is set elsewhere
        ({"penalty": {"regularisation": 3}}, {"regularisation": 3.0}),
    ],
)
def test_a_name_with_or_without_options(given: Any, options: dict[str, Any]) -> None:
    name = given if isinstance(given, str) else next(iter(given))
    assert chosen(given, REGISTRY, "worst case", regularisation=0.7) == Choice(name, options)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("shares", "there is no worst case 'shares'; known are share, ball, penalty, mean, box"),
        (3, "there is no worst case 3; known are"),
        ({"share": 0.2, "ball": 1.0}, "choose one worst case, got share, ball"),
        ({"mean": 3}, "the worst case 'mean' takes no options, got 3"),
        ({"mean": {"share": 3}}, "the worst case 'mean' has no option 'share'; it takes no options"),
        ({"box": 3}, "the worst case 'box' takes the options low, high, each by its name"),
        ({"share": {"part": 0.2}}, "'share' has no option 'part'; it takes the options share"),
        ({"share": "many"}, "option 'share' = 'many': input should be a valid number"),
        ({"share": 2}, "share must be above 0 and at most 1, got 2.0"),
        ("ball", "the worst case 'ball' needs the option 'radius': write {ball: {radius: ...}}"),
        ({"ball": {"steps": 2}}, "the worst case 'ball' needs the option 'radius'"),
    ],
)
def test_a_mistake_is_named(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        chosen(given, REGISTRY, "worst case", regularisation=0.7)


@pytest.mark.parametrize("kind", [ProblemParameters, ProblemSettings])
def test_the_parameters_know_the_registries(kind: Any) -> None:
    given = {"lambda": 0.3, "weight_decay": 0.0}
    with pytest.raises(ConfigurationError, match=r"'problem.loss' = 'hinge' is not valid: there is no loss 'hinge'; "):
        validated("problem", kind, {**given, "loss": "hinge"})
    with pytest.raises(
        ConfigurationError, match=r"'problem.worst_case' = 'best' is not valid: .* known are share, groups, "
    ):
        validated("problem", kind, {**given, "worst_case": "best"})
    with pytest.raises(ConfigurationError, match=r"'problem.lambda' = -1 is not valid: it must be greater than 0"):
        validated("problem", kind, {**given, "lambda": -1})


def test_lambda_is_the_option_of_the_penalty_and_the_default_is_the_papers() -> None:
    problem = ProblemSettings.model_validate({"lambda": 0.3, "weight_decay": "auto"}).with_weight_decay(0.5)
    task = Task("only", ("a", "b"), torch.arange(2), torch.eye(2))
    assert criteria_of(problem)(task) == (CrossEntropy(), Penalty(0.3))
    assert problem.model_dump(by_alias=True) == {
        "lambda": 0.3,
        "loss": "auto",
        "worst_case": "auto",
        "beyond_limits": 0.0,
        "weight_decay": 0.5,
        "alone": {},
    }


def test_without_lambda_the_worst_case_is_the_share() -> None:
    task = Task("only", ("a", "b"), torch.arange(2), torch.eye(2))
    without, named = (
        ProblemParameters.model_validate({"weight_decay": 0.0, **more}) for more in ({}, {"worst_case": "penalty"})
    )
    assert criteria_of(without)(task).worst_case == Share(0.8)
    assert criteria_of(named)(task).worst_case == Penalty(0.1)


def test_a_task_has_its_own_worst_case_or_the_one_for_all() -> None:
    problem = ProblemParameters.model_validate({"lambda": 0.3, "weight_decay": 0.0, "worst_case": {"chi2": 0.5}})
    criteria = criteria_of(problem)

    def worst_case(**options: Any) -> Any:
        return criteria(Task("only", ("a", "b"), torch.arange(2), torch.eye(2), options=options)).worst_case

    assert worst_case() == ChiSquare(0.5)
    assert worst_case(worst_case="penalty") == Penalty(0.3)
    assert worst_case(worst_case={"penalty": 2}) == Penalty(2.0)
    assert worst_case(worst_case={"share": 0.5}) == Share(0.5)
    assert worst_case(worst_case={"share": {"share": 0.5, "smoothing": 1e-3}}) == Share(0.5, 1e-3)
    with pytest.raises(ConfigurationError, match=r"the worst case of the only task: share = 0.3 of 2 samples is less"):
        worst_case(worst_case={"share": 0.3})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"share": 1.5}, "share must be above 0 and at most 1, got 1.5"),
        ({"chi2": 0}, "the radius of chi2 must be positive, got 0.0"),
        ({"share": 0.2, "groups": "sex"}, "choose one worst case, got share, groups"),
        ("groups", "the worst case 'groups' needs the option 'columns'"),
        ({"group": "sex"}, "there is no worst case 'group'; known are share, groups, chi2, kl, penalty, mean"),
    ],
)
def test_a_worst_case_without_meaning_is_refused_for_a_task_as_for_all(given: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=f"parameter 'tasks.plan.worst_case' = .* is not valid: {words}"):
        validated("tasks", TasksParameters, {"plan": {"worst_case": given}})
    with pytest.raises(ConfigurationError, match=f"parameter 'problem.worst_case' = .* is not valid: {words}"):
        validated("problem", ProblemParameters, {"lambda": 0.1, "weight_decay": 0.0, "worst_case": given})
