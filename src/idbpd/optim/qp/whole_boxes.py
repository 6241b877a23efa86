"""The quadratic programs of models that know some terms at every point of a box, in float64 on the host.

    min  u.Q u / 2 - v.u    over u = (a, b, sigma):    a >= 0, sum a = 1,    b >= 0, sum b <= limit,
                                                       |sigma_i| <= the entry of a or b that i belongs to

A term that is linear in w over a box has one unknown for the middle of the box, its multiplier, and one per coordinate:
the multiplier times how far, and to which side, the coordinate is from the middle. By an interior-point method
(Mehrotra), whose answer tells which unknowns are at bounds, and one linear system for the others.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, truth

_ITERATIONS = 60  # 8 to 17 on the bank; the exact solution begins from whatever is reached
# Share of the sizes that occur at which gap and residuals are taken for zero: then it is plain which unknowns are at
# bounds, and the rest is one exact system.
_SMALL = 1e-11
_STAY = 0.995  # share of the way to the boundary: the usual one of interior-point methods
_RIDGE = 1e-14  # of the largest diagonal entry: directions that no gradient sees
_WITHIN = 1e-14  # share of the largest unknown, or price, that is rounding
_FACES = 30  # corrections of which unknowns are at bounds: one on the bank


class Unknowns(NamedTuple):
    """What kind of unknown stands where: first those with sum 1, then those with the limit, then the coordinates."""

    ones: int  # how many have the sum 1
    limited: int  # how many have the limit
    owners: Tensor  # (coordinates,) int64: the unknown whose size bounds each coordinate

    @property
    def rows(self) -> int:
        """How many are no coordinates."""
        return self.ones + self.limited


class _Iterate(NamedTuple):
    """Unknowns, the price of the sum 1, and slacks of all inequalities with their prices."""

    u: Tensor
    nu: Tensor
    slack: Tensor
    price: Tensor


class _System(NamedTuple):
    """Of a Newton step: the factorised matrix, price over slack, and what is left of the conditions of an optimum."""

    factor: Tensor
    weights: Tensor
    dual: Tensor
    primal: Tensor
    total: Tensor


def minimise_over_boxes(Q: Tensor, v: Tensor, kinds: Unknowns, limit: float) -> Tensor | None:
    """The minimiser; None where the numbers allow none."""
    size = float(Q.diagonal().abs().amax().clamp(min=1e-300))
    quadratic, linear = Q / size, v / size
    found = _interior(quadratic, linear, kinds, limit)
    if found is None:
        return None
    exact = _exact(quadratic, linear, kinds, limit, found)
    return found.u if exact is None else exact


def _slacks(u: Tensor, kinds: Unknowns, limit: float) -> Tensor:
    """How far each inequality is from being tight: signs of the rows, both sides of the coordinates, the limit."""
    rows, sigma = u[: kinds.rows], u[kinds.rows :]
    around = u[kinds.owners]
    spare = limit - u[kinds.ones : kinds.rows].sum().reshape(1)
    return torch.cat([rows, around - sigma, around + sigma, spare if kinds.limited else spare[:0]])


def _priced(price: Tensor, kinds: Unknowns) -> Tensor:
    """The transpose of `_slacks` as a linear map."""
    k, n = kinds.rows, kinds.owners.numel()
    below, above = price[k : k + n], price[k + n : k + 2 * n]
    rows = price[:k].index_add(0, kinds.owners, below + above)
    if kinds.limited:
        rows = torch.cat([rows[: kinds.ones], rows[kinds.ones :] - price[-1]])
    return torch.cat([rows, above - below])


def _interior(Q: Tensor, v: Tensor, kinds: Unknowns, limit: float) -> _Iterate | None:
    """Mehrotra's predictor and corrector from the middle of the set."""
    k, ones = kinds.rows, kinds.ones
    u = torch.zeros_like(v)
    u[:ones] = 1.0 / max(ones, 1)
    u[ones:k] = min(limit, 1.0 + float(v.abs().amax())) / (2.0 * max(kinds.limited, 1))
    slack = _slacks(u, kinds, limit)
    scale = max(1.0, float((Q @ u - v).abs().amax()))
    here = _Iterate(u, v.new_zeros(()), slack, torch.full_like(slack, scale) / slack.clamp(min=1e-3, max=1e3))
    for _ in range(_ITERATIONS):
        products = Q @ here.u
        dual = products - v - _priced(here.price, kinds)
        dual[:ones] -= here.nu
        primal = _slacks(here.u, kinds, limit) - here.slack
        total = 1.0 - here.u[:ones].sum() if ones else v.new_zeros(())
        gap = number(here.slack @ here.price) / here.slack.numel()
        sizes = 1.0 + number(products.abs().amax()) + number(v.abs().amax())
        if not torch.isfinite(here.u).all():
            return None
        if gap <= _SMALL * sizes and max(number(dual.abs().amax()), number(primal.abs().amax())) <= _SMALL * sizes:
            return here
        weights = here.price / here.slack
        factor = _factor(Q, weights, kinds)
        if factor is None:
            return here

        system = _System(factor, weights, dual, primal, total)
        flat = _direction(system, -here.price, kinds)  # slack times price to zero
        length = _length(here, flat)
        ahead = number((here.slack + length * flat.slack) @ (here.price + length * flat.price)) / here.slack.numel()
        centre = gap * (ahead / gap) ** 3
        step = _direction(system, (centre - flat.slack * flat.price) / here.slack - here.price, kinds)
        length = min(1.0, _STAY * _length(here, step, 1e300))
        here = _Iterate(*(one + length * d for one, d in zip(here, step, strict=True)))
    return here


def _factor(Q: Tensor, weights: Tensor, kinds: Unknowns) -> Tensor | None:
    """The Cholesky factor of Q and the curvature of all barriers."""
    k, n, owners = kinds.rows, kinds.owners.numel(), kinds.owners
    below, above = weights[k : k + n], weights[k + n : k + 2 * n]
    M = Q.clone()
    diagonal = torch.cat([weights[:k].index_add(0, owners, below + above), below + above])
    M.diagonal().add_(diagonal + _RIDGE)
    places = k + torch.arange(n)
    M[places, owners] += above - below
    M[owners, places] += above - below
    if kinds.limited:
        M[kinds.ones : k, kinds.ones : k] += weights[-1]
    L, info = torch.linalg.cholesky_ex(M)
    return L if int(info) == 0 else None


def _direction(system: _System, centred: Tensor, kinds: Unknowns) -> _Iterate:
    """Newton's direction; ``centred`` is by how much the prices change where slacks do not."""
    factor, weights, dual, primal, total = system
    right = -dual + _priced(centred - weights * primal, kinds)
    du = torch.cholesky_solve(right.unsqueeze(1), factor).flatten()
    nu = torch.zeros_like(total)
    if kinds.ones:
        unit = torch.zeros_like(dual)
        unit[: kinds.ones] = 1.0
        along = torch.cholesky_solve(unit.unsqueeze(1), factor).flatten()
        nu = (total - du[: kinds.ones].sum()) / along[: kinds.ones].sum()
        du = du + nu * along
    change = _slacks(du, kinds, 0.0) + primal
    return _Iterate(du, nu, change, centred - weights * change)


def _length(here: _Iterate, step: _Iterate, most: float = 1.0) -> float:
    """How far slacks and prices stay positive."""
    ratios = torch.cat([-step.slack / here.slack, -step.price / here.price]).amax()
    return min(most, 1.0 / max(number(ratios), 1e-300))


class _Face(NamedTuple):
    """Which inequalities are tight: rows at zero, coordinates at their high or low side, the limit."""

    rows: Tensor
    high: Tensor
    low: Tensor
    limit: bool

    @classmethod
    def of(cls, is_tight: Tensor, kinds: Unknowns) -> "_Face":
        """From one truth per inequality, in the order of `_slacks`."""
        k, n = kinds.rows, kinds.owners.numel()
        is_limited = kinds.limited > 0 and truth(is_tight[-1:])
        return cls(is_tight[:k], is_tight[k : k + n], is_tight[k + n : k + 2 * n], is_limited)


def _exact(Q: Tensor, v: Tensor, kinds: Unknowns, limit: float, found: _Iterate) -> Tensor | None:
    """The minimiser itself, from the face that an interior point tells; where that is not quite the right one, by
    primal-dual active sets. None where they do not come to an end.
    """
    is_tight = found.price > found.slack
    for _ in range(_FACES):
        solved = _on_face(Q, v, kinds, limit, _Face.of(is_tight, kinds))
        if solved is None:
            return None
        u, price = solved
        slack = _slacks(u, kinds, limit)
        small = _WITHIN * max(1.0, number(u.abs().amax()))
        least = _WITHIN * max(1.0, number(price.abs().amax()))
        following = torch.where(is_tight, price >= -least, slack < -small)
        if torch.equal(following, is_tight):
            k, around = kinds.rows, u[kinds.owners].clamp(min=0.0)
            return torch.cat([u[:k].clamp(min=0.0), u[k:].clamp(min=-around, max=around)])
        is_tight = following
    return None


def _on_face(Q: Tensor, v: Tensor, kinds: Unknowns, limit: float, face: _Face) -> tuple[Tensor, Tensor] | None:
    """The minimiser with these inequalities tight, and the prices of all: zero where one is not."""
    k, n, ones, owners = kinds.rows, kinds.owners.numel(), kinds.ones, kinds.owners
    rows = (~face.rows).nonzero().flatten()
    is_bound = face.high | face.low
    free = (~(is_bound | face.rows[owners])).nonzero().flatten()
    # Coordinates at bounds move with their owner: their columns are added to its own.
    sides = face.high.to(v) - face.low.to(v)
    T = torch.zeros(k + n, rows.numel() + free.numel(), dtype=v.dtype)
    T[rows, torch.arange(rows.numel())] = 1.0
    T[k + free, rows.numel() + torch.arange(free.numel())] = 1.0
    T[k:, : rows.numel()] += sides.unsqueeze(1) * (owners.unsqueeze(1) == rows)
    sums = ([(rows < ones).to(v)] if ones else []) + ([(rows >= ones).to(v)] if face.limit else [])
    totals = ([1.0] if ones else []) + ([limit] if face.limit else [])
    m = rows.numel() + free.numel()
    system = torch.zeros(m + len(sums), m + len(sums), dtype=v.dtype)
    system[:m, :m] = T.T @ (Q @ T)
    for place, one in enumerate(sums):
        system[m + place, : rows.numel()] = system[: rows.numel(), m + place] = one
    right = torch.cat([T.T @ v, v.new_tensor(totals)])
    ridge = system.clone()
    ridge.diagonal()[:m] += _RIDGE * system.diagonal().abs().amax() if m else 0.0
    LU, pivots, info = torch.linalg.lu_factor_ex(ridge)
    if int(info) != 0:
        return None
    solution = torch.zeros_like(right)
    for _ in range(3):
        solution = solution + torch.linalg.lu_solve(LU, pivots, (right - system @ solution).unsqueeze(1)).flatten()
    if not truth(solution.isfinite().all()):
        return None
    u = T @ solution[:m]
    left = Q @ u - v
    of_sums = solution[m:]
    left[:ones] += of_sums[0] if ones else 0.0
    left[ones:k] += of_sums[-1] if face.limit else 0.0
    below, above = torch.where(face.high, -left[k:], 0.0), torch.where(face.low, left[k:], 0.0)
    pressed = torch.where(face.rows[owners], left[k:].abs(), below + above)
    of_rows = torch.where(face.rows, left[:k].index_add(0, owners, -pressed), 0.0)
    # A row at zero holds its coordinates there, whatever side they are said to be on.
    below, above = (torch.where(face.rows[owners], 0.0, one) for one in (below, above))
    of_limit = (of_sums[-1:] if face.limit else v.new_zeros(1)) if kinds.limited else v.new_zeros(0)
    return u, torch.cat([of_rows, below, above, of_limit])
