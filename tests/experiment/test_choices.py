"""A loss and a worst case by name: what is accepted, and what a mistake is told."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch

from idbpd.errors import ConfigurationError
from idbpd.experiment.choices import Choice, chosen
from idbpd.experiment.parameters import ProblemParameters, ProblemSettings
from idbpd.experiment.problem import criteria_of
from idbpd.mtl import CrossEntropy, Penalty, Task
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


REGISTRY: dict[str, Any] = {"share": _Share, "ball": _Ball, "penalty": Penalty}


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("share", {}),
        ({"share": {}}, {}),
        ({"share": {"share": 0.2}}, {"share": 0.2}),
        ({"share": "2e-1"}, {"share": 0.2}),
        ({"ball": {"radius": 1, "steps": 4}}, {"radius": 1.0, "steps": 4}),
        ("penalty", {"regularisation": 0.7}),
    ],
)
def test_a_name_with_or_without_options(given: Any, options: dict[str, Any]) -> None:
    name = given if isinstance(given, str) else next(iter(given))
    assert chosen(given, REGISTRY, "worst case", regularisation=0.7) == Choice(name, options)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("shares", "there is no worst case 'shares'; known are share, ball, penalty"),
        (3, "there is no worst case 3; known are"),
        ({"share": 0.2, "ball": 1.0}, "choose one worst case, got share, ball"),
        ({"penalty": 3}, "the worst case 'penalty' takes no options, got 3"),
        ({"share": {"part": 0.2}}, "'share' has no option 'part' here; it takes the options share"),
        ({"share": "many"}, "option 'share' = 'many': input should be a valid number"),
        ({"share": 2}, "share must be above 0 and at most 1, got 2.0"),
        ({"ball": 1.0}, "'ball' takes the options radius, steps, each by its name"),
        ("ball", "'ball' lacks an option: .*'radius'"),
        ({"penalty": {"regularisation": 1.0}}, "'penalty' has no option 'regularisation' here; it takes no options"),
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
    with pytest.raises(ConfigurationError, match=r"'problem.worst_case' = 'best' is not valid: .* known are penalty"):
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
        "worst_case": "penalty",
        "weight_decay": 0.5,
    }
