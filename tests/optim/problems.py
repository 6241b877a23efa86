"""Small problems whose worst-case functions are known in closed form, so that answers can be found without the solver.

Each case states the problem as a user would (functions over sets) and, apart, the closed form of f and every g. Where the answer is not
given, a reference solver finds it from the closed form. Cases marked ``convex`` have one answer; the others have several KKT points.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem
from idbpd.optim.sets import Ball, Box, Simplex, Space

Closed = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Case:
    name: str
    problem: Problem
    f: Closed
    g: Sequence[Closed]
    starts: Sequence[Sequence[float]]
    x: Sequence[float] | None = None
    multipliers: Sequence[float] | None = None
    convex: bool = True
    unique: bool = True  # whether x itself is determined, besides f
    dual_unique: bool = True
    float32_tolerance: float = 1e-3
    tags: frozenset[str] = field(default_factory=frozenset)


def t(values: Sequence[float] | Tensor, like: Tensor) -> Tensor:
    return torch.as_tensor(values, dtype=like.dtype)


def project_simplex(v: Tensor) -> Tensor:
    ordered = v.sort(descending=True).values
    index = torch.arange(1, v.numel() + 1, dtype=v.dtype)
    shift = (ordered.cumsum(0) - 1) / index
    count = int((ordered > shift).sum())
    return (v - shift[count - 1]).clamp(min=0)


def regularised_maximum(losses: Tensor, c: float) -> Tensor:
    """max over the simplex of y.l - c/2 ||y - 1/n||^2."""
    n = losses.numel()
    y = project_simplex(1 / n + losses.detach() / c)
    return y @ losses - 0.5 * c * (y - 1 / n).square().sum()


def half_square(x: Tensor, centre: Sequence[float]) -> Tensor:
    return 0.5 * (x - t(centre, x)).square().sum()


def _published() -> list[Case]:
    root5 = math.sqrt(5)
    lam = math.sqrt(1.25 / 3.25)
    disc = Constraint(lambda x, w: w @ x - 0.5 * w @ w - 0.5, Space(2))
    disc_closed: Closed = lambda x: 0.5 * x @ x - 0.5

    def pair(x: Tensor) -> Tensor:
        return torch.stack([half_square(x, [1, 0]), half_square(x, [-1, 0])])

    starts2 = [[0.0, 0.0], [1.0, 1.0], [-2.0, 0.5], [3.0, -4.0], [0.1, 5.0]]
    return [
        Case("active", Problem(lambda x: half_square(x, [2, 1]), constraints=[disc]), lambda x: half_square(x, [2, 1]),
             [disc_closed], starts2, [2 / root5, 1 / root5], [root5 - 1]),
        Case("inactive", Problem(lambda x: half_square(x, [0.3, -0.4]), constraints=[disc]), lambda x: half_square(x, [0.3, -0.4]),
             [disc_closed], starts2, [0.3, -0.4], [0.0]),
        Case("robust_lp",
             Problem(lambda x: -x.sum(), constraints=[Constraint(
                 lambda x, w: x.sum() + w[0] * x[0] + 2 * w[1] * x[1] - 0.5 * w @ w - 1, Space(2))]),
             lambda x: -x.sum(), [lambda x: x.sum() + 0.5 * x[0] ** 2 + 2 * x[1] ** 2 - 1], starts2,
             [1 / lam - 1, (1 / lam - 1) / 4], [lam]),
        Case("nonconvex",
             Problem(lambda x: half_square(x, [0.25, 0.4]),
                     constraints=[Constraint(lambda x, w: 1 - (x[0] - w) ** 2 - x[1] ** 2, Box(-1.0, 1.0))]),
             lambda x: half_square(x, [0.25, 0.4]), [lambda x: 1 - (x[0].abs() - 1).clamp(min=0) ** 2 - x[1] ** 2],
             [[0.25, 0.5], [0.0, 0.0], [0.5, 2.0], [0.3, -0.2], [3.0, 0.0]], convex=False),
        Case("min_max",
             Problem(lambda x, y: y @ pair(x) - 2 * (y - 0.5).square().sum(), Simplex(2),
                     [Constraint(lambda x, w: 1 - x[0] + w * x[1] - 0.5 * w**2, Box(-1.0, 1.0))]),
             lambda x: regularised_maximum(pair(x), 4.0),
             [lambda x: 1 - x[0] + torch.where(x[1].abs() <= 1, 0.5 * x[1] ** 2, x[1].abs() - 0.5)],
             starts2, [1.0, 0.0], [1.5]),
        Case("dro_constraint",
             Problem(lambda x: half_square(x, [3]), constraints=[Constraint(
                 lambda x, w: w[0] * (x[0] - 1) ** 2 + w[1] * (x[0] + 1) ** 2 - 4 * (w - 0.5).square().sum() - 2.5, Simplex(2))]),
             lambda x: half_square(x, [3]),
             [lambda x: regularised_maximum(torch.stack([(x[0] - 1) ** 2, (x[0] + 1) ** 2]), 8.0) - 2.5],
             [[0.0], [1.0], [3.0], [-2.0], [10.0]], [1.0], [2 / 3]),
    ]  # fmt: skip


def _closed(name: str, f: Closed, g: Sequence[Closed], starts: Sequence[Sequence[float]], x: Sequence[float] | None = None,
            convex: bool = True, **more: object) -> Case:  # fmt: skip
    """A case without inner maximisation."""
    return Case(name, Problem(f, constraints=[Constraint(one) for one in g]), f, g, starts, x, convex=convex, **more)  # type: ignore[arg-type]


def _classical() -> list[Case]:
    """Nonlinear programs with inequality constraints, several of them, from the collection of Hock and Schittkowski."""
    return [
        _closed("hs12", lambda x: 0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1],
                [lambda x: 4 * x[0] ** 2 + x[1] ** 2 - 25], [[0, 0], [5, 5], [-3, 1]], [2, 3]),
        _closed("hs22", lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2,
                [lambda x: x[0] + x[1] - 2, lambda x: x[0] ** 2 - x[1]], [[2, 2], [0, 0], [-3, 4]], [1, 1]),
        _closed("hs43", lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
                [lambda x: x @ x + x[0] - x[1] + x[2] - x[3] - 8,
                 lambda x: x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2 + 2 * x[3] ** 2 - x[0] - x[3] - 10,
                 lambda x: 2 * x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2 * x[0] - x[1] - x[3] - 5],
                [[0, 0, 0, 0], [1, 1, 1, 1], [3, -3, 3, -3]], [0, 1, 2, -1]),
        _closed("hs35", lambda x: 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2
                + 2 * x[0] * x[1] + 2 * x[0] * x[2],
                [lambda x: x[0] + x[1] + 2 * x[2] - 3, lambda x: -x[0], lambda x: -x[1], lambda x: -x[2]],
                [[0.5, 0.5, 0.5], [0, 0, 0], [5, -5, 2]], [4 / 3, 7 / 9, 4 / 9]),
        _closed("hs65", lambda x: (x[0] - x[1]) ** 2 + (x[0] + x[1] - 10) ** 2 / 9 + (x[2] - 5) ** 2,
                [lambda x: x @ x - 48, lambda x: x[0] - 4.5, lambda x: x[1] - 4.5, lambda x: x[2] - 5],
                [[-5, 5, 0], [0, 0, 0], [10, 10, 10]]),
        _closed("hs76", lambda x: x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2 - x[0] * x[2] + x[2] * x[3]
                - x[0] - 3 * x[1] + x[2] - x[3],
                [lambda x: x[0] + 2 * x[1] + x[2] + x[3] - 5, lambda x: 3 * x[0] + x[1] + 2 * x[2] - x[3] - 4,
                 lambda x: 1.5 - x[1] - 4 * x[2], lambda x: -x[0], lambda x: -x[1], lambda x: -x[2], lambda x: -x[3]],
                [[0.5, 0.5, 0.5, 0.5], [0, 0, 0, 0], [4, -1, 2, -2]]),
        _closed("hs100",
                lambda x: (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6
                + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6],
                [lambda x: 2 * x[0] ** 2 + 3 * x[1] ** 4 + x[2] + 4 * x[3] ** 2 + 5 * x[4] - 127,
                 lambda x: 7 * x[0] + 3 * x[1] + 10 * x[2] ** 2 + x[3] - x[4] - 282,
                 lambda x: 23 * x[0] + x[1] ** 2 + 6 * x[5] ** 2 - 8 * x[6] - 196,
                 lambda x: 4 * x[0] ** 2 + x[1] ** 2 - 3 * x[0] * x[1] + 2 * x[2] ** 2 + 5 * x[5] - 11 * x[6]],
                [[1, 2, 0, 4, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0]]),
        _closed("hs113",
                lambda x: x[0] ** 2 + x[1] ** 2 + x[0] * x[1] - 14 * x[0] - 16 * x[1] + (x[2] - 10) ** 2 + 4 * (x[3] - 5) ** 2
                + (x[4] - 3) ** 2 + 2 * (x[5] - 1) ** 2 + 5 * x[6] ** 2 + 7 * (x[7] - 11) ** 2 + 2 * (x[8] - 10) ** 2
                + (x[9] - 7) ** 2 + 45,
                [lambda x: 4 * x[0] + 5 * x[1] - 3 * x[6] + 9 * x[7] - 105,
                 lambda x: 10 * x[0] - 8 * x[1] - 17 * x[6] + 2 * x[7],
                 lambda x: -8 * x[0] + 2 * x[1] + 5 * x[8] - 2 * x[9] - 12,
                 lambda x: 3 * (x[0] - 2) ** 2 + 4 * (x[1] - 3) ** 2 + 2 * x[2] ** 2 - 7 * x[3] - 120,
                 lambda x: 5 * x[0] ** 2 + 8 * x[1] + (x[2] - 6) ** 2 - 2 * x[3] - 40,
                 lambda x: 0.5 * (x[0] - 8) ** 2 + 2 * (x[1] - 4) ** 2 + 3 * x[4] ** 2 - x[5] - 30,
                 lambda x: x[0] ** 2 + 2 * (x[1] - 2) ** 2 - 2 * x[0] * x[1] + 14 * x[4] - 6 * x[5],
                 lambda x: -3 * x[0] + 6 * x[1] + 12 * (x[8] - 8) ** 2 - 7 * x[9]],
                [[2, 3, 5, 5, 1, 2, 7, 3, 6, 10], [0.0] * 10]),
        _closed("hs29", lambda x: -x[0] * x[1] * x[2], [lambda x: x[0] ** 2 + 2 * x[1] ** 2 + 4 * x[2] ** 2 - 48],
                [[1, 1, 1], [4, -2, -1], [0.1, 3, 3]], convex=False),
        _closed("hs64", lambda x: 5 * x[0] + 50000 / x[0] + 20 * x[1] + 72000 / x[1] + 10 * x[2] + 144000 / x[2],
                [lambda x: 4 / x[0] + 32 / x[1] + 120 / x[2] - 1, lambda x: 1e-5 - x[0], lambda x: 1e-5 - x[1], lambda x: 1e-5 - x[2]],
                [[100, 100, 200], [50, 80, 300]]),
        _closed("hs66", lambda x: 0.2 * x[2] - 0.8 * x[0],
                [lambda x: x[0].exp() - x[1], lambda x: x[1].exp() - x[2], lambda x: -x[0], lambda x: x[0] - 100,
                 lambda x: -x[1], lambda x: x[1] - 100, lambda x: -x[2], lambda x: x[2] - 10],
                [[0, 1.05, 2.9], [0, 0, 0], [1, 1, 1]]),
        _closed("hs24", lambda x: ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * math.sqrt(3)),
                [lambda x: x[1] - x[0] / math.sqrt(3), lambda x: -x[0] - math.sqrt(3) * x[1],
                 lambda x: x[0] + math.sqrt(3) * x[1] - 6, lambda x: -x[0], lambda x: -x[1]],
                [[1, 0.5], [2, 1], [4, 1]], convex=False),
        _closed("rosenbrock_disc", lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, [lambda x: x @ x - 1],
                [[-1.2, 1.0], [0, 0], [2, 2], [-1, -1]], convex=False),
        _closed("rosenbrock_free", lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, [],
                [[-1.2, 1.0], [0, 0], [5, -5]], [1, 1]),
        _closed("rosenbrock_line", lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, [lambda x: x[0] + x[1] - 1.0],
                [[-1.2, 1.0], [0, 0], [3, 1]], convex=False),
    ]  # fmt: skip


def _shapes() -> list[Case]:
    """The corner cases of constrained minimisation: redundant, duplicated, contradictory-looking, badly scaled, nearly flat."""
    cases = [
        _closed("duplicated", lambda x: half_square(x, [2, 1]), [lambda x: 0.5 * x @ x - 0.5] * 3,
                [[0, 0], [3, 1], [-2, -2]], [2 / math.sqrt(5), 1 / math.sqrt(5)], dual_unique=False),
        _closed("redundant", lambda x: half_square(x, [2, 1]),
                [lambda x: 0.5 * x @ x - 0.5, lambda x: x[0] - 5, lambda x: 0.25 * x @ x - 2],
                [[0, 0], [3, 1], [-2, -2]], [2 / math.sqrt(5), 1 / math.sqrt(5)], multipliers=[math.sqrt(5) - 1, 0, 0]),
        _closed("equality_pair", lambda x: half_square(x, [2, 1]), [lambda x: x[0] + x[1] - 1, lambda x: 1 - x[0] - x[1]],
                [[0, 0], [3, 1], [-2, -2]], [1, 0], dual_unique=False),
        _closed("curved_equality_pair", lambda x: half_square(x, [2, 1]), [lambda x: x @ x - 1, lambda x: 1 - x @ x],
                [[1, 0], [3, 1], [0.5, -0.2]], [2 / math.sqrt(5), 1 / math.sqrt(5)], dual_unique=False, convex=False),
        _closed("vertex_lp", lambda x: -x[0] - 2 * x[1],
                [lambda x: x[0] - 1, lambda x: -x[0] - 1, lambda x: x[1] - 1, lambda x: -x[1] - 1],
                [[0, 0], [5, 5], [-3, 2]], [1, 1], multipliers=[1, 0, 2, 0]),
        _closed("degenerate_vertex", lambda x: -x[0] - 2 * x[1], [lambda x: x[0] - 1, lambda x: x[1] - 1, lambda x: x[0] + x[1] - 2],
                [[0, 0], [5, 5], [-3, 2]], [1, 1], dual_unique=False),
        _closed("more_constraints_than_variables", lambda x: (x[0] - 3) ** 2,
                [lambda x: x[0] - 2, lambda x: x[0] ** 2 - 2, lambda x: x[0].exp() - 10, lambda x: -x[0] - 1],
                [[0.0], [4.0], [-3.0]], [math.sqrt(2)]),
        _closed("log_domain", lambda x: -x.log().sum(), [lambda x: x.sum() - 1], [[0.2, 0.1, 0.3], [0.9, 0.9, 0.9], [3, 1, 0.01]], [1 / 3] * 3),
        _closed("entropy_domain", lambda x: (x * x.log()).sum(), [lambda x: 1 - x.sum(), lambda x: x[0] - 0.1],
                [[0.5, 0.5, 0.5], [1e-3, 2, 1], [5, 5, 5]]),
        _closed("sqrt_domain", lambda x: x[0] - 2 * x[0].sqrt() + x[1] ** 2, [lambda x: x[0] - 0.5 + x[1]],
                [[0.1, 0], [4, 1], [0.01, -2]]),
        _closed("start_at_optimum", lambda x: half_square(x, [2, 0]), [lambda x: x[0] - 1], [[1, 0]], [1, 0], multipliers=[1]),
        _closed("flat_then_steep", lambda x: (x[0] - 1) ** 4 + (x[1] + 1) ** 2, [lambda x: x[0] + x[1] ** 2 - 0.5],
                [[0, 0], [2, 2], [-4, 1]]),
        _closed("exponential", lambda x: x.exp().sum(), [lambda x: 1 - x[0] - x[1], lambda x: x[0] ** 2 - 4],
                [[0, 0], [5, 5], [-6, 3]], [0.5, 0.5]),
        _closed("ill_conditioned", lambda x: 0.5 * (x * x * torch.tensor([1e-2, 1.0, 1e4], dtype=x.dtype)).sum() - x.sum(),
                [lambda x: x[0] + x[1] + x[2] - 3], [[0, 0, 0], [10, 1, -1]]),
        _closed("reverse_ball", lambda x: half_square(x, [0.3, 0.1]), [lambda x: 1 - x @ x], [[0.3, 0.1], [2, 2], [0.01, 0]], convex=False),
        _closed("sine_strip", lambda x: x[0] ** 2 + (x[1] - 1) ** 2, [lambda x: x[1] - (3 * x[0]).sin()],
                [[0, 0], [1, 1], [-1, -1], [2, 5]], convex=False),
        _closed("two_discs", lambda x: x[1], [lambda x: x @ x - 1, lambda x: (x[0] - 1) ** 2 + x[1] ** 2 - 1],
                [[0.5, 0], [3, 3], [-2, -1]], [0.5, -math.sqrt(0.75)]),
        _closed("barely_feasible", lambda x: x[0] + x[1], [lambda x: x @ x - 1, lambda x: (x[0] - 1.999) ** 2 + x[1] ** 2 - 1],
                [[0.5, 0.5], [3, 3], [-2, -1]]),
        _closed("unconstrained_quadratic", lambda x: half_square(x, list(range(30))) + 50 * x[:15].square().sum(), [], [[0.0] * 30]),
        _closed("kinked_gradient", lambda x: 0.5 * x[0].clamp(min=0) ** 2 * 10 + 0.5 * x[0] ** 2 + (x[1] - x[0]) ** 2 + x[0],
                [lambda x: -x[1] - 0.05], [[1, 1], [-3, 2], [4, -4]]),
    ]  # fmt: skip
    for power in (-4, -2, 2, 4):
        s = 10.0**power
        cases.append(
            _closed(f"scaled_objective_1e{power}", lambda x, s=s: s * half_square(x, [2, 1]), [lambda x: 0.5 * x @ x - 0.5],
                    [[0, 0], [3, 1]], [2 / math.sqrt(5), 1 / math.sqrt(5)] if power > -4 else None))  # fmt: skip
        cases.append(
            _closed(f"scaled_constraint_1e{power}", lambda x: half_square(x, [2, 1]), [lambda x, s=s: s * (0.5 * x @ x - 0.5)],
                    [[0, 0], [3, 1]], [2 / math.sqrt(5), 1 / math.sqrt(5)] if power > -4 else None))  # fmt: skip
        cases.append(
            _closed(f"scaled_variables_1e{power}", lambda x, s=s: half_square(x / s, [2, 1]), [lambda x, s=s: 0.5 * (x / s) @ (x / s) - 0.5],
                    [[0, 0], [3 * s, s]], [2 * s / math.sqrt(5), s / math.sqrt(5)]))  # fmt: skip
    return cases


def _robust() -> list[Case]:
    """Worst cases over every kind of set, in objectives and constraints, alone and together."""
    generator = torch.Generator().manual_seed(7)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    cases: list[Case] = []
    starts3 = [[0.0, 0.0, 0.0], [1.0, -1.0, 2.0], [-4.0, 3.0, 5.0]]

    cases.append(Case(
        "ball_norm", Problem(lambda x: half_square(x, [1, 2, 2]), constraints=[Constraint(lambda x, w: w @ x - 1, Ball(torch.zeros(3), 1.0))]),
        lambda x: half_square(x, [1, 2, 2]), [lambda x: x.norm() - 1], [[0.1, 0.1, 0.1], *starts3[1:]], [1 / 3, 2 / 3, 2 / 3], [2.0]))  # fmt: skip

    P = draw(3, 3)
    cases.append(Case(
        "ellipsoidal_lp",
        Problem(lambda x: -(x * t([1, 2, 3], x)).sum(), constraints=[Constraint(
            lambda x, w: t([1, 1, 1], x) @ x + (t(P, x) @ w) @ x - 0.05 * w @ w - 2, Ball(torch.zeros(3), 1.0))]),
        lambda x: -(x * t([1, 2, 3], x)).sum(), [lambda x: x.sum() + _ball_max(P.T @ x, 0.1) - 2], starts3))  # fmt: skip

    A, b = draw(6, 3), draw(6)
    cases.append(Case(
        "least_squares_by_duality", Problem(lambda x, y: y @ (t(A, x) @ x - t(b, x)) - 0.5 * y @ y, Space(6),
                                            [Constraint(lambda x, w: x.sum() + w * x[0] - w**2, Box(-1.0, 1.0))]),
        lambda x: 0.5 * (A @ x - b).square().sum(), [lambda x: x.sum() + _box_max(x[0], 2.0)], starts3))  # fmt: skip

    for n, d, c, seed in ((5, 2, 1.0, 0), (10, 3, 0.1, 1), (20, 4, 5.0, 2), (8, 2, 0.02, 3)):
        generator.manual_seed(100 + seed)
        centres, weight, others = draw(n, d), draw(n).abs() + 0.2, draw(n, d) + 2

        def losses(x: Tensor, centres: Tensor = centres, weight: Tensor = weight) -> Tensor:
            return 0.5 * t(weight, x) * (x - t(centres, x)).square().sum(1)

        def other(x: Tensor, others: Tensor = others) -> Tensor:
            return 0.5 * (x - t(others, x)).square().sum(1)

        level = float(regularised_maximum(other(others.mean(0)), c)) * 1.3
        starts = [[0.0] * d, [3.0] * d, [-5.0] * d]

        def phi(x: Tensor, y: Tensor, n: int = n, c: float = c, losses: Closed = losses) -> Tensor:
            return y @ losses(x) - 0.5 * c * (y - 1 / n).square().sum()

        def psi(x: Tensor, w: Tensor, n: int = n, c: float = c, other: Closed = other, level: float = level) -> Tensor:
            return w @ other(x) - 0.5 * c * (w - 1 / n).square().sum() - level

        f: Closed = lambda x, losses=losses, c=c: regularised_maximum(losses(x), c)  # type: ignore[misc]
        g: Closed = lambda x, other=other, c=c, level=level: regularised_maximum(other(x), c) - level  # type: ignore[misc]
        cases.append(Case(f"dro_objective_{n}_{c}", Problem(phi, Simplex(n)), f, [], starts))
        cases.append(Case(f"dro_both_{n}_{c}", Problem(phi, Simplex(n), [Constraint(psi, Simplex(n))]), f, [g], starts))
        cases.append(Case(
            f"dro_constraint_{n}_{c}", Problem(lambda x: x.square().sum() - x.sum(), constraints=[Constraint(psi, Simplex(n))]),
            lambda x: x.square().sum() - x.sum(), [g], starts))  # fmt: skip

    X, labels = draw(30, 3), torch.sign(draw(30))
    X2, labels2 = draw(30, 3), torch.sign(draw(30))

    def logistic(x: Tensor) -> Tensor:
        return torch.nn.functional.softplus(-t(labels, x) * (t(X, x) @ x)) + 0.005 * x.square().sum()

    def logistic2(x: Tensor) -> Tensor:
        return torch.nn.functional.softplus(-t(labels2, x) * (t(X2, x) @ x))

    cases.append(Case(
        "logistic_dro",
        Problem(lambda x, y: y @ logistic(x) - 3.0 * (y - 1 / 30).square().sum(), Simplex(30),
                [Constraint(lambda x, w: w @ logistic2(x) - 3.0 * (w - 1 / 30).square().sum() - 0.8, Simplex(30))]),
        lambda x: regularised_maximum(logistic(x), 6.0), [lambda x: regularised_maximum(logistic2(x), 6.0) - 0.8], starts3))  # fmt: skip

    cases.append(Case(
        "adversarial_logistic",
        Problem(lambda x, y: torch.nn.functional.softplus(-t(labels, x) * ((t(X, x) + y) @ x)).mean() - 2 * y @ y + 0.05 * x @ x,
                Space(3), [Constraint(lambda x, w: (x - w) @ (x - w) - 2 * w @ w - 1, Box(-torch.ones(3), torch.ones(3)))]),
        lambda x: _adversarial(x, X, labels), [lambda x: (x.square() + _square_box(x)).sum() - 1], starts3))  # fmt: skip

    cases.append(Case(
        "three_kinds",
        Problem(lambda x, y: half_square(x, [1, 2, 3]) + y @ x - 0.5 * y @ y, Ball(torch.zeros(3), 0.5),
                [Constraint(lambda x, w: w @ x - 0.5 * w @ w - 1.0, Space(3)),
                 Constraint(lambda x, w: x[0] + w * x[1] - w**2 - 0.3, Box(-0.5, 0.5)),
                 Constraint(lambda x: x[2] - 1.2)]),
        lambda x: half_square(x, [1, 2, 3]) + _ball_max(0.5 * x, 1.0, 0.5), 
        [lambda x: 0.5 * x @ x - 1.0, lambda x: x[0] + _box_max(x[1], 2.0, 0.5) - 0.3, lambda x: x[2] - 1.2], starts3))  # fmt: skip

    cases.append(Case(
        "nonconvex_robust",
        Problem(lambda x, y: (x[0] ** 2 - 1) ** 2 + x[1] ** 2 + y * (x[0] + x[1]) - y**2, Box(-1.0, 1.0),
                [Constraint(lambda x, w: 0.5 - x[0] * x[1] + w * (x[0] - x[1]) - w**2, Box(-2.0, 2.0))]),
        lambda x: (x[0] ** 2 - 1) ** 2 + x[1] ** 2 + _box_max(x[0] + x[1], 2.0),
        [lambda x: 0.5 - x[0] * x[1] + _box_max(x[0] - x[1], 2.0, 2.0)], [[1.0, 1.0], [-1.0, -2.0], [0.5, 0.2], [2.0, -1.0]], convex=False))  # fmt: skip

    cases.append(Case(
        "reverse_semi_infinite",
        Problem(lambda x: half_square(x, [0.5, 0.2]), constraints=[Constraint(
            lambda x, w: 1 - (x[0] - w[0]) ** 2 - (x[1] - w[1]) ** 2, Box(-torch.ones(2), torch.ones(2)))]),
        lambda x: half_square(x, [0.5, 0.2]), [lambda x: 1 - (x.abs() - 1).clamp(min=0).square().sum()],
        [[0.5, 0.2], [0.0, 0.0], [3.0, 3.0], [0.5, 1.5]], convex=False))  # fmt: skip

    cases.append(Case(
        "weights_and_worst_case", Problem(lambda x, y: y @ torch.stack([x[0] ** 2, (x[0] - x[1]) ** 2, (x[1] - 2) ** 2]) - 0.5 * y @ y, Simplex(3),
        [Constraint(lambda x, w: x[0] + w @ x - w @ w, Ball(torch.zeros(2), 1.0))]),
        lambda x: _plain_maximum(torch.stack([x[0] ** 2, (x[0] - x[1]) ** 2, (x[1] - 2) ** 2])),
        [lambda x: x[0] + _ball_max(x, 2.0)], [[0.0, 0.0], [2.0, 2.0], [-3.0, 1.0]]))  # fmt: skip
    return cases


def _ball_max(v: Tensor, c: float, radius: float = 1.0) -> Tensor:
    """max over ||w|| <= radius of v.w - c/2 ||w||^2."""
    size = v.norm()
    return torch.where(size <= c * radius, size**2 / (2 * c), radius * size - c / 2 * radius**2)


def _box_max(v: Tensor, c: float, radius: float = 1.0) -> Tensor:
    """max over |w| <= radius of v w - c/2 w^2, for each entry of v."""
    return torch.where(v.abs() <= c * radius, v**2 / (2 * c), radius * v.abs() - c / 2 * radius**2)


def _square_box(x: Tensor) -> Tensor:
    """max over |w| <= 1 of -2 x w - w^2, for each entry of x."""
    return _box_max(-2 * x, 2.0)


def _plain_maximum(losses: Tensor) -> Tensor:
    """max over the simplex of y.l - 1/2 ||y||^2."""
    y = project_simplex(losses.detach())
    return y @ losses - 0.5 * y @ y


def _adversarial(x: Tensor, X: Tensor, labels: Tensor) -> Tensor:
    """max over y in R^3 of the mean logistic loss on shifted inputs minus 2 ||y||^2, plus ridge, by a fixed point along x."""
    unit = x / x.norm().clamp(min=1e-300)
    size = x.norm()
    low, high = torch.full((), -2.0, dtype=x.dtype), torch.full((), 2.0, dtype=x.dtype)
    margins = (labels * (X @ x)).detach()
    for _ in range(80):
        middle = (low + high) / 2
        slope = (
            -labels * size.detach() * torch.sigmoid(-(margins + labels * middle * size.detach()))
        ).mean() - 4 * middle
        low, high = torch.where(slope > 0, middle, low), torch.where(slope > 0, high, middle)
    y = (low * unit).detach()
    return torch.nn.functional.softplus(-labels * ((X + y) @ x)).mean() - 2 * y @ y + 0.05 * x @ x


CASES = [*_published(), *_classical(), *_shapes(), *_robust()]
