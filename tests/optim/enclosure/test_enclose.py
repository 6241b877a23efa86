"""Intervals hold: value, gradient and Hessian at points of a box lie in what is computed for the box."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from idbpd.optim.enclosure.curvature import shape_of
from idbpd.optim.enclosure.degree import degree_of
from idbpd.optim.enclosure.enclose import enclose
from idbpd.optim.enclosure.known_jets import NoRuleError
from idbpd.optim.enclosure.tape import record

A = torch.tensor([[1.0, 2.0, -1.0], [0.5, -1.0, 2.0], [0.0, 1.0, 1.0]], dtype=torch.float64)
X = torch.tensor([0.3, -0.4, 0.5], dtype=torch.float64)
ONE = torch.ones(3, dtype=torch.float64)


def entropy(v: Tensor) -> Tensor:
    return (v * v.log()).sum()


def relative_entropy(v: Tensor) -> Tensor:
    return v @ (v / (X + 1)).log()


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "logsumexp": lambda w: torch.logsumexp(A @ w, 0),
    "norm": lambda w: torch.linalg.vector_norm(A @ w - X),
    "norm of one": lambda w: (w * X).norm(p=1),
    "norm method": lambda w: torch.linalg.norm(A @ w - X) ** 2,
    "of a shape": lambda w: ((torch.ones_like(w) + w.sin()) * torch.full_like(w, 2.0) + w.new_zeros(3)).sum(),
    "max": lambda w: (w * X).max(),
    "max along": lambda w: torch.outer(w, X).max(dim=1).values.sum(),
    "amin": lambda w: (A @ w).amin(),
    "minimum": lambda w: torch.minimum(w[0] * X[0], torch.sin(w[1])),
    "maximum of three": lambda w: torch.maximum(torch.maximum(w[0], w[1] ** 2), w[2].exp()),
    "network": lambda w: torch.tanh(functional.linear(w, A, X)).sum() ** 2,
    "batched network": lambda w: torch.sigmoid(functional.linear(w.expand(4, 3), A)).mean(),
    "einsum": lambda w: torch.einsum("i,ij,j->", w, A, w),
    "matrices": lambda w: (w.reshape(3, 1) @ w.reshape(1, 3)).pow(3).sum(),
    "batches": lambda w: torch.bmm(w.reshape(1, 1, 3).expand(2, 1, 3), torch.stack([A, A * w])).sum(),
    "outer": lambda w: torch.outer(w, w.exp()).mean(),
    "quotient": lambda w: w[0] / (2 + w[1] ** 2),
    "reciprocal": lambda w: 1 / (5 + w.sum()),
    "softplus": lambda w: functional.softplus(w @ X),
    "quadratic": lambda w: w @ A @ w,
    "stacked": lambda w: torch.stack([w[0], w[1] ** 2, X[0]]).max(),
    "joined": lambda w: torch.cat([w, X]).square().sum(),
    "polynomial": lambda w: torch.stack([w[0] ** k for k in range(4)]).sum(),
    "powers": lambda w: (w[0] ** torch.arange(4)).sum(),
    "softmax": lambda w: torch.softmax(w, 0) @ X,
    "cross entropy": lambda w: functional.cross_entropy(w[None] * 2, torch.tensor([1])),
    "log softmax": lambda w: torch.log_softmax(A @ w, 0)[1],
    "huber": lambda w: functional.huber_loss(w, X),
    "smooth l1": lambda w: functional.smooth_l1_loss(2 * w, X, reduction="sum"),
    "squares": lambda w: functional.mse_loss(w, X),
    "log sigmoid": lambda w: functional.logsigmoid(w @ X),
    "logistic": lambda w: functional.binary_cross_entropy_with_logits(w, ONE),
    "silu": lambda w: functional.silu(w).sum(),
    "variance": lambda w: w.var(),
    "product": lambda w: w.prod(),
    "logaddexp": lambda w: torch.logaddexp(w[0], w[1]),
    "entropy": lambda w: entropy(w + 5),
    "relative entropy": lambda w: relative_entropy(w + 5),
    "indexed": lambda w: w[[0, 2]].sum() ** 2,
    "pieces": lambda w: torch.where(w > 0.2, w**2, 0.04 + 0 * w).sum(),
    "clamped": lambda w: (w * 2).clamp(-0.5, 0.7).sum() + w.clamp(min=0.1).prod(),
    "waves": lambda w: torch.sin(7 * w[0]) * torch.cos(3 * w[1] + w[2]),
    "bump": lambda w: torch.exp(-10 * (w - X).square().sum()),
    "logarithm": lambda w: torch.log(3.5 + w).sum() + torch.log1p(w.square()).sum(),
    "roots": lambda w: (3.5 + w).sqrt().sum() + (4 + w[0]).rsqrt() + (4 + w[1]) ** 1.5,
    "inverse powers": lambda w: (4 + w[0]) ** -2 + (4 + w[2]) ** -0.7,
    "hyperbolic": lambda w: torch.cosh(w[0]) + torch.sinh(w[1]) + torch.atan(w[2]) + torch.erf(w[0]),
    "leaky": lambda w: functional.leaky_relu(w, 0.2).sum() + torch.expm1(w[0]),
    "reshaped": lambda w: (w.reshape(1, 3).T.flip(0).squeeze(1).roll(1) * X).cumsum(0).sum() ** 2,
    "own square": lambda w: w[0] * w[0] + torch.dot(w, w) - w.neg().sum(),
    "rsub": lambda w: (1 - w).pow(2).sum() - torch.rsub(w[0], w[1], alpha=2),
    "constant": lambda w: 0 * w.sum() + 3.0,
}


def boxes() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    centres = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    widths = torch.tensor([0.0, 1e-3, 0.03, 0.2, 0.6, 1.2], dtype=torch.float64).unsqueeze(1)
    radii = torch.rand(6, 3, generator=generator, dtype=torch.float64) * widths
    return (centres - radii).clamp(-3, 3), (centres + radii).clamp(-3, 3)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_lie_in_their_intervals(name: str) -> None:
    function = FUNCTIONS[name]
    tape = record(function, torch.zeros(3, dtype=torch.float64))
    assert tape is not None
    low, high = boxes()

    jet = enclose(tape, low, high, 2)

    generator = torch.Generator().manual_seed(2)
    rows, columns = torch.triu_indices(3, 3)
    for box in range(low.shape[0]):
        for _ in range(10):
            share = torch.rand(3, generator=generator, dtype=torch.float64)
            point = low[box] + share * (high[box] - low[box])
            gradient = torch.autograd.functional.jacobian(function, point)  # type: ignore[no-untyped-call]
            hessian = torch.autograd.functional.hessian(function, point)  # type: ignore[no-untyped-call]
            found = torch.cat([function(point).reshape(1), gradient, hessian[rows, columns]])
            slack = 1e-9 * (1 + found.abs())
            assert bool((found >= jet.low[box] - slack).all()), (name, box)
            assert bool((found <= jet.high[box] + slack).all()), (name, box)
    # At a single point of a smooth function they are sharp: else a bound that says nothing would pass.
    assert float(jet.high[0, 0] - jet.low[0, 0]) <= 1e-9


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_hold_between_points(name: str) -> None:
    function = FUNCTIONS[name]
    tape = record(function, torch.zeros(3, dtype=torch.float64))
    assert tape is not None
    for low, high in zip(*boxes(), strict=True):
        shape = shape_of(tape, low, high)
        generator = torch.Generator().manual_seed(3)
        for _ in range(20):
            one, other = (low + torch.rand(3, generator=generator).double() * (high - low) for _ in range(2))
            middle, ends = float(function((one + other) / 2)), float(function(one) + function(other)) / 2
            slack = 1e-9 * (1 + abs(ends))
            assert middle <= ends + slack or not shape.is_convex
            assert middle >= ends - slack or not shape.is_concave


def test_shapes_are_found() -> None:
    low, high = -torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    expected = {
        "logsumexp": "convex", "norm": "convex", "max": "convex", "amin": "concave", "softplus": "convex",
        "joined": "convex", "squares": "convex", "huber": "convex", "log sigmoid": "concave", "waves": "",
        "logistic": "convex", "entropy": "convex", "relative entropy": "convex", "cross entropy": "convex",
        "log softmax": "concave",
    }  # fmt: skip
    for name, wanted in expected.items():
        tape = record(FUNCTIONS[name], low)
        assert tape is not None
        shape = shape_of(tape, low, high)
        assert (shape.is_convex, shape.is_concave) == (wanted == "convex", wanted == "concave"), name


def test_degrees() -> None:
    for name, degree in {"quadratic": 2, "einsum": 2, "own square": 2, "constant": 1, "waves": float("inf")}.items():
        tape = record(FUNCTIONS[name], ONE)
        assert tape is not None
        assert degree_of(tape) == degree, name


def filled_in_place(w: Tensor) -> Tensor:
    out = torch.zeros_like(w)
    out[0] = w[0] ** 2
    return out.sum()


def test_what_a_tape_cannot_show_has_none() -> None:
    for function in (lambda w: w.sum() * float(w[0] > 0), lambda w: w.sum() if w[0] > 0 else -w.sum(), filled_in_place):
        assert record(function, ONE) is None


def test_an_operation_without_a_rule_is_named() -> None:
    tape = record(lambda w: torch.special.i0(w).sum(), ONE)
    assert tape is not None
    with pytest.raises(NoRuleError, match="i0"):
        enclose(tape, ONE.unsqueeze(0), ONE.unsqueeze(0), 2)
