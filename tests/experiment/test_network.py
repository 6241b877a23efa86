"""A network of the user's own, named in the parameters: from the first weights to the exported model."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from idbpd.errors import ConfigurationError
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.network import build_network, trained_network
from idbpd.experiment.parameters import ModelParameters, ProblemParameters
from idbpd.experiment.problem import build_problem
from idbpd.mtl import MultiTaskData, SharedNetwork, Task

HERE = __name__


class TwoLayers(nn.Module):
    """Two shared layers, heads by name, and a buffer that is the same at every construction."""

    frequencies: Tensor

    def __init__(self, features: int, classes: dict[str, int], widths: tuple[int, int] = (6, 5)) -> None:
        super().__init__()
        self.register_buffer("frequencies", torch.arange(1.0, features + 1))
        self.shared = nn.Sequential(nn.Linear(features, widths[0]), nn.Tanh(), nn.Linear(*widths), nn.Tanh())
        self.heads = nn.ModuleDict({name: nn.Linear(widths[1], count) for name, count in classes.items()})

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        shared = self.shared((features * self.frequencies).sin())
        return {name: head(shared) for name, head in reversed(list(self.heads.items()))}


class OneTensor(TwoLayers):
    def forward(self, features: Tensor) -> Any:
        return super().forward(features)["first"]


class OneHead(TwoLayers):
    def forward(self, features: Tensor) -> Any:
        return {"first": super().forward(features)["first"]}


class WrongShape(TwoLayers):
    def forward(self, features: Tensor) -> Any:
        return tuple(logits.sum(dim=-1) for logits in super().forward(features).values())


class MixesSamples(TwoLayers):
    def forward(self, features: Tensor) -> dict[str, Tensor]:
        return super().forward(features - features.mean(dim=0))


class RandomBuffer(TwoLayers):
    def __init__(self, features: int, classes: dict[str, int]) -> None:
        super().__init__(features, classes)
        self.register_buffer("projection", torch.randn(features))


class Fails(TwoLayers):
    def __init__(self, features: int, classes: dict[str, int]) -> None:
        side = math.isqrt(features)
        if side * side != features:
            raise ValueError(f"{features} features are no square image")
        super().__init__(features, classes)


class FailsLater(TwoLayers):
    def forward(self, features: Tensor) -> dict[str, Tensor]:
        return super().forward(features[:, :2])


class NoParameters(nn.Module):
    def __init__(self, features: int, classes: dict[str, int]) -> None:
        super().__init__()


class RandomFrozen(TwoLayers):
    def __init__(self, features: int, classes: dict[str, int]) -> None:
        super().__init__(features, classes)
        self.shared.requires_grad_(False)


class FromElsewhere(TwoLayers):
    """The first layers are given and stay as they are, and one layer has two names."""

    def __init__(self, features: int, classes: dict[str, int]) -> None:
        super().__init__(features, classes)
        for parameter in self.shared.parameters():
            nn.init.constant_(parameter, 0.1).requires_grad_(False)
        self.heads_again = self.heads


class DrawsLate(TwoLayers):
    def __init__(self, features: int, classes: dict[str, int]) -> None:
        super().__init__(features, classes)
        self.shared[0] = nn.LazyLinear(6)


class NoGradient(TwoLayers):
    def forward(self, features: Tensor) -> dict[str, Tensor]:
        logits = super().forward(features)
        return {**logits, "second": logits["second"].detach()}


class SingleOnly(TwoLayers):
    def forward(self, features: Tensor) -> dict[str, Tensor]:
        shared = self.shared(features.float())
        return {name: head(shared) for name, head in self.heads.items()}


def _data() -> MultiTaskData:
    features = torch.randn(30, 5)

    def task(name: str, rows: Tensor, classes: int) -> Task:
        targets = nn.functional.one_hot(torch.randint(classes, (len(rows),)), classes).float()
        return Task(name, tuple(f"{name}{at}" for at in range(classes)), rows, targets)

    return MultiTaskData(features, (task("first", torch.arange(20), 3), task("second", torch.arange(10, 30), 2)))


def _model(name: str, **options: Any) -> ModelParameters:
    return ModelParameters(hidden=4, type=f"{HERE}.{name}", options=options)


def test_the_heads_come_in_the_order_of_the_tasks_whatever_the_module_says() -> None:
    data = _data()
    network = build_network(_model("TwoLayers", widths=(4, 3)), data, seed=0)
    assert isinstance(network, TwoLayers)
    assert [tuple(logits.shape) for logits in network(data.features)] == [(30, 3), (30, 2)]


@pytest.mark.parametrize("name", ["TwoLayers", "DrawsLate"])
def test_the_weights_depend_on_the_seed_alone_and_keep_the_names_of_the_module(name: str) -> None:
    data, model = _data(), _model(name)
    first = build_network(model, data, seed=3)
    torch.rand(5)
    again, other = build_network(model, data, seed=3), build_network(model, data, seed=4)
    assert "heads.first.weight" in dict(first.named_parameters())
    for one, two, three in zip(first.parameters(), again.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)
        assert not torch.equal(one, three)


def test_weights_alone_bring_the_network_back() -> None:
    data, model = _data(), _model("TwoLayers")
    network = build_network(model, data, seed=3)
    weights = {name: parameter.detach() for name, parameter in network.named_parameters()}
    back = trained_network(model, data, weights)
    for one, two in zip(network(data.features), back(data.features), strict=True):
        assert torch.equal(one, two)
    with pytest.raises(RuntimeError, match=r"Missing key.*heads\.first\.weight"):
        trained_network(model, data, {name: t for name, t in weights.items() if name != "heads.first.weight"})


def test_what_is_not_trained_stays_and_what_has_two_names_is_one() -> None:
    data, model = _data(), _model("FromElsewhere")
    problem = ProblemParameters.model_validate({"lambda": 0.1, "weight_decay": 0.1})
    compute = ComputeParameters(device="cpu", dtype="float32")
    built = build_problem(data, "first", {"second": 0.5}, model, problem, compute, 0)
    assert list(built.initial_weights) == [
        f"heads.{task}.{part}" for task in ("first", "second") for part in ("weight", "bias")
    ]
    x = torch.cat([weight.flatten() for weight in built.initial_weights.values()])
    gradients = built.oracle.differentiate(built.oracle.evaluate(x, built.oracle.start(x)))
    assert gradients.f.shape == x.shape
    back = trained_network(model, data, {name: weight + 1 for name, weight in built.initial_weights.items()})
    assert isinstance(back, FromElsewhere)
    assert torch.equal(
        dict(back.heads_again.named_parameters())["first.bias"], built.initial_weights["heads.first.bias"] + 1
    )
    assert all((parameter == 0.1).all() for parameter in back.shared.parameters())


def test_without_a_type_it_is_the_default_network() -> None:
    assert isinstance(build_network(ModelParameters(hidden=4), _data(), seed=0), SharedNetwork)


def test_the_problem_is_built_on_it() -> None:
    data = _data()
    built = build_problem(
        data,
        "first",
        {"second": 0.5},
        _model("TwoLayers"),
        ProblemParameters.model_validate({"lambda": 0.1, "weight_decay": 0.0}),
        ComputeParameters(device="cpu", dtype="float64"),
        0,
    )
    x = torch.cat([weight.flatten() for weight in built.initial_weights.values()])
    assert x.dtype == torch.float64
    evaluation = built.oracle.evaluate(x, built.oracle.start(x))
    ahead = built.oracle.evaluate(x - 1e-4 * built.oracle.differentiate(evaluation).f, built.oracle.start(x))
    assert ahead.f < evaluation.f


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("OneTensor", r"OneTensor gave a Tensor for 2 tasks; forward\(features\) must return one tensor"),
        ("OneHead", "the heads are first, the tasks first, second"),
        ("WrongShape", r"logits of task 'first' are \(2,\), expected \(2, 3\)"),
        ("MixesSamples", "the logits of a sample depend on the samples next to it"),
        ("RandomBuffer", "'projection' is random but not trained, and only trained numbers are saved"),
        ("RandomFrozen", r"'shared\.0\.weight' is random but not trained"),
        ("NoGradient", "the logits of task 'second' depend on no parameter that is trained"),
        ("SingleOnly", r"cannot take features of shape \(2, 5\) and type torch.float64: RuntimeError"),
        ("Fails", r"Fails\(features=5, .*\) failed: ValueError: 5 features are no square image"),
        ("FailsLater", r"cannot take features of shape \(2, 5\) and type torch.float32: RuntimeError"),
        ("NoParameters", "has no parameters to train"),
    ],
)
def test_an_unusable_module_is_named_before_anything_is_solved(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_network(_model(name), _data(), seed=0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"type": "TwoLayers"}, "must be the full name of a class, such as package.module.ClassName"),
        ({"type": "no.such.module.Network"}, "cannot import no.such.module: No module named 'no'"),
        ({"type": "mistyped_network.Network"}, "cannot import mistyped_network: SyntaxError"),
        ({"type": f"{HERE}.Missing"}, f"Missing of {HERE} must be a subclass of torch.nn.Module, it is None"),
        ({"type": f"{HERE}._data"}, "_data of .* must be a subclass of torch.nn.Module"),
        (
            {"type": f"{HERE}.TwoLayers", "options": {"depth": 3}},
            r"called with features .* and the options \(depth\): got an unexpected keyword argument 'depth'",
        ),
        (
            {"type": "torch.nn.Linear"},
            "torch.nn.Linear is called with features .*: missing a required argument: 'in_features'",
        ),
        ({"options": {"depth": 3}}, "options are those of a network of your own, which model.type names"),
    ],
)
def test_an_invalid_name_or_option_is_found_before_the_run(
    given: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mistyped_network.py").write_text("class Network(")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValidationError, match=message):
        ModelParameters(hidden=4, **given)
