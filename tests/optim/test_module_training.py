"""A module of one's own is trained in place, and stays as it was where that fails."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from idbpd.optim import Constraint, Known, Status, train_module
from idbpd.optim.sets import Box, Simplex

INPUTS = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None]
TARGETS = INPUTS.square()


def _net(dtype: torch.dtype = torch.float64) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)).to(dtype)


def _fit(net: nn.Module) -> Tensor:
    decay = torch.cat([parameter.flatten() for parameter in net.parameters()]).square().sum()
    error: Tensor = ((net(INPUTS) - TARGETS) ** 2).mean()
    return error + 1e-3 * decay


def _snapshot(net: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


def _is_same(net: nn.Module, before: dict[str, Tensor]) -> bool:
    return all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())


def test_the_module_has_the_answer_and_the_constraint_is_tight() -> None:
    net = _net()
    at_zero = torch.zeros(1, 1, dtype=torch.float64)
    solution = train_module(net, _fit, [lambda net: 0.2 - net(at_zero).squeeze()], tolerance=1e-5)
    assert solution.status is Status.CONVERGED
    assert isinstance(solution.x, dict)
    assert all(torch.equal(parameter, solution.x[name]) for name, parameter in net.named_parameters())
    assert net(at_zero).item() == pytest.approx(0.2, abs=1e-5)
    assert _fit(net).item() == pytest.approx(solution.f)
    assert solution.multipliers[0] > 0


def test_it_is_the_solver_on_the_parameters() -> None:
    """A convex problem with a known answer: the shortest weights that keep a demand."""
    net = nn.Linear(2, 1, bias=False).double()
    solution = train_module(
        net, lambda net: net.weight.square().sum(), [lambda net: 1 - net.weight.sum()], tolerance=1e-8
    )
    assert torch.allclose(net.weight, torch.tensor([[0.5, 0.5]], dtype=torch.float64), atol=1e-7)
    assert solution.multipliers.tolist() == pytest.approx([1.0])


def test_a_constraint_holds_for_a_continuum_and_the_worst_case_is_known() -> None:
    net = _net()
    error = Constraint(lambda net, w: net(w[None]).squeeze() - 0.6, over=Box(-torch.ones(1), torch.ones(1)))
    solution = train_module(net, _fit, [error], tolerance=1e-3)
    assert solution.status is Status.CONVERGED
    assert Known.LOCAL not in solution.known
    fine = torch.linspace(-1, 1, 2001, dtype=torch.float64)[:, None]
    assert net(fine).max().item() <= 0.6 + 2e-3
    assert net(fine).max().item() > 0.5


def test_the_objective_may_be_a_worst_case_over_a_set() -> None:
    net = _net()
    groups = INPUTS.squeeze() < 0

    def by_group(net: nn.Module, y: Tensor) -> Tensor:
        losses: Tensor = (net(INPUTS) - TARGETS).square().squeeze()
        return y[0] * losses[groups].mean() + y[1] * losses[~groups].mean()

    solution = train_module(net, by_group, over=Simplex(2), tolerance=1e-4)
    worst = max(by_group(net, y).item() for y in torch.eye(2, dtype=torch.float64))
    assert solution.f == pytest.approx(worst)
    assert solution.status is Status.CONVERGED


def test_equalities_are_functions_of_the_module() -> None:
    net = nn.Linear(2, 1, bias=False).double()
    train_module(net, lambda net: net.weight.square().sum(), equalities=[lambda net: net.weight[0, 0] - 3])
    assert net.weight.tolist()[0] == pytest.approx([3, 0], abs=1e-3)


def test_what_requires_no_gradient_and_buffers_stay_and_modes_are_kept() -> None:
    net = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1)).double().eval()
    net[0].requires_grad_(False)
    before = _snapshot(net)
    solution = train_module(net, _fit, max_steps=50)
    assert isinstance(solution.x, dict)
    assert set(solution.x) == {"1.weight", "1.bias", "3.weight", "3.bias"}
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensor, before[name]) == (name not in solution.x)
    assert not net.training
    assert [parameter.requires_grad for parameter in net[0].parameters()] == [False, False]
    assert all(parameter.grad is None for parameter in net.parameters())


def test_float32_stays_float32_and_the_parameters_are_the_same_objects() -> None:
    net = _net(torch.float32)
    before = list(net.parameters())
    train_module(net, lambda net: ((net(INPUTS.float()) - TARGETS.float()) ** 2).mean(), max_steps=20)
    assert all(one is other for one, other in zip(before, net.parameters(), strict=True))
    assert {parameter.dtype for parameter in net.parameters()} == {torch.float32}


def test_tied_weights_stay_tied() -> None:
    net = nn.ModuleDict({"encode": nn.Linear(2, 2, bias=False), "decode": nn.Linear(2, 2, bias=False)}).double()
    net["decode"].weight = net["encode"].weight
    inputs = torch.randn(6, 2, dtype=torch.float64)
    solution = train_module(net, lambda net: (net["decode"](net["encode"](inputs)) - inputs).square().mean())
    assert net["decode"].weight is net["encode"].weight
    assert isinstance(solution.x, dict)
    assert len(solution.x) == 1
    assert solution.f < 1e-2


def test_the_same_start_gives_the_same_digits() -> None:
    one, other = _net(), _net()
    first, second = (train_module(net, _fit, max_steps=30) for net in (one, other))
    assert first.f == second.f
    assert _is_same(one, _snapshot(other))


class _Failing:
    """An objective that fails at its fifth call, after the solver has begun."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, net: nn.Module) -> Tensor:
        self.calls += 1
        if self.calls == 5:
            raise RuntimeError("no memory left")
        return _fit(net)


def test_an_error_leaves_the_module_as_it_was() -> None:
    net = _net()
    before = _snapshot(net)
    with pytest.raises(RuntimeError, match="no memory left"):
        train_module(net, _Failing())
    assert _is_same(net, before)


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(4)], ids=["dropout", "batch normalisation"])
def test_functions_that_differ_between_calls_are_refused(layer: nn.Module) -> None:
    net = nn.Sequential(nn.Linear(1, 4), copy.deepcopy(layer), nn.Linear(4, 1)).double()
    before = _snapshot(net)
    with pytest.raises(ValueError, match=r"call module\.eval\(\) first"):
        train_module(net, _fit)
    assert _is_same(net, before)


def _needs_w(net: nn.Module, w: Tensor) -> Tensor:
    return w * _fit(net)


def _frozen() -> nn.Module:
    return nn.Linear(1, 1).requires_grad_(False)


@pytest.mark.parametrize(
    ("module", "objective", "others", "message"),
    [
        (lambda: 0, _fit, {}, "module must be a torch.nn.Module, got function"),
        (_frozen(), _fit, {}, "module has no parameter that requires a gradient"),
        (nn.LazyLinear(1), _fit, {}, "call it once on some inputs before"),
        (_net(), 3.0, {}, "objective must be a function of the module, got float"),
        (_net(), _fit, {"constraints": _fit}, r"constraints must be a sequence, .* write constraints=\[...\]"),
        (_net(), _fit, {"constraints": [0.5]}, r"constraints\[0\] must be a function of the module, got float"),
        (_net(), _fit, {"over": Simplex(2)}, "objective over Simplex is called with"),
        (_net(), _fit, {"constraints": [_needs_w]}, r"psi without a set \(over=None\) is called with"),
    ],
    ids=["no module", "frozen", "lazy", "no function", "one constraint", "a number", "no y", "a w too many"],
)
def test_bad_input_is_told_in_one_line(module: Any, objective: Any, others: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        train_module(module, objective, **others)
    assert "\n" not in str(caught.value)
