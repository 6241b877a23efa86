"""Worst cases that are remembered where the worst case is not unique, and the certificate that several of them give.

At a kink of f(x) = max_y phi(x, y) no single maximiser has a small gradient, but a mixture has: the KKT conditions of a
semi-infinite program with finitely many active worst cases y_j and w_ij are

    sum_j a_j grad phi(x, y_j) + sum_ij lambda_ij grad psi_i(x, w_ij) = 0,    a_j >= 0,  sum_j a_j = 1,  lambda_ij >= 0,
    a_j (f - phi(x, y_j)) = 0,    lambda_ij psi_i(x, w_ij) = 0,    g_i(x) <= 0

so that only worst cases that attain the maximum carry weight.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import index, number, read, truth
from idbpd.optim.kkt import Residuals
from idbpd.optim.method import Iterate
from idbpd.optim.oracle import Evaluation, Gradients, Maximisers, TermOracle
from idbpd.optim.qp.active_set import Group, minimise_on_simplices

_SAME = 1e-9  # relative difference of two points below which they are one


class Cuts(NamedTuple):
    """Remembered worst cases, and their terms' values and gradients at one x."""

    terms: tuple[int, ...]  # 0 for the objective, 1 + i for constraint i
    points: tuple[Tensor | None, ...]
    idle: tuple[int, ...]  # for how many steps each has had no weight in the model
    values: Tensor  # (rows,) on the host
    gradients: Tensor  # (rows, d)

    def groups(self, constraints_total: float = math.inf) -> list[Group]:
        """The weights of the objective's worst cases, whose sum is 1, and those of all constraints.

        With a finite total for the latter, one more unknown takes what is not spent.
        """
        objective = [row for row, term in enumerate(self.terms) if term == 0]
        others = [row for row, term in enumerate(self.terms) if term > 0]
        if math.isfinite(constraints_total):
            others = [*others, len(self.terms)]
        return [Group(objective, 1.0), *([Group(others, constraints_total)] if others else [])]

    def rows_of(self, term: int) -> list[int]:
        """The rows of one term."""
        return [row for row, own in enumerate(self.terms) if own == term]

    def kept(self, rows: Sequence[int]) -> "Cuts":
        """These rows only."""
        chosen = list(rows)
        return Cuts(
            tuple(self.terms[row] for row in chosen),
            tuple(self.points[row] for row in chosen),
            tuple(self.idle[row] for row in chosen),
            self.values[chosen],
            self.gradients_of(chosen),
        )

    def gradients_of(self, rows: Sequence[int]) -> Tensor:
        """The gradients of these rows, picked without an index that would have to be sent to the device."""
        return torch.stack([self.gradients[row] for row in rows]) if rows else self.gradients[:0]

    def aged(self, weights: Tensor) -> "Cuts":
        """After a step with these weights."""
        pairs = zip(weights.tolist(), self.idle, strict=True)
        return self._replace(idle=tuple(0 if weight > 0 else idle + 1 for weight, idle in pairs))

    def at(self, oracle: TermOracle, x: Tensor) -> "Cuts":
        """The same worst cases at another x."""
        values, gradients = oracle.linearise(x, self.terms, self.points)
        return self._replace(values=read(values)[0], gradients=gradients)

    def with_points(self, oracle: TermOracle, x: Tensor, found: Sequence[Maximisers]) -> tuple["Cuts", bool]:
        """With those of ``found`` that are new, evaluated at the same ``x``; and whether there were any."""
        terms, points, old = list(self.terms), list(self.points), len(self.terms)
        candidates = [(term, point) for maximisers in found for term, point in enumerate((maximisers.y, *maximisers.w))]
        for term, point in _new(list(zip(terms, points, strict=True)), candidates):
            terms.append(term)
            points.append(point)
        if len(terms) == old:
            return self, False
        values, gradients = oracle.linearise(x, terms[old:], points[old:])
        values, have_slopes = read(values, gradients.isfinite().all(1))
        both = Cuts(
            tuple(terms),
            tuple(points),
            (*self.idle, *(0,) * (len(terms) - old)),
            torch.cat([self.values, values]),
            torch.cat([self.gradients, gradients]),
        )
        # The worst case of another x need not even have a value here.
        usable = (values.isfinite() & have_slopes.bool()).tolist()
        rows = [row for row in range(len(terms)) if row < old or usable[row - old]]
        return (both if len(rows) == len(terms) else both.kept(rows)), len(rows) > old

    def have_moved(self, oracle: TermOracle, x: Tensor, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """For each pair of rows of one term, whether one is what the other was at another x.

        Where a term is strictly concave between two worst cases, higher in the middle than a straight line, its
        maximiser there is unique and has only moved. Where they are so close that rounding hides this, they are one.
        """
        points = [(self.points[first], self.points[second]) for first, second in pairs]
        have = _same(points, torch.finfo(x.dtype).eps ** (1 / 3))
        apart = [pair for pair, is_close in enumerate(have) if not is_close]
        if apart:
            firsts, seconds = ([pairs[pair][side] for pair in apart] for side in (0, 1))
            middles = [_middle(*points[pair]) for pair in apart]
            (between,) = read(oracle.linearise(x, [self.terms[row] for row in firsts], middles)[0])
            one, other = self.values[firsts], self.values[seconds]
            rounding = 8 * torch.finfo(x.dtype).eps * one.abs()
            are_bent = between - (one + other) / 2 > 0.1 * (one - other).abs() + rounding
            for pair, is_bent in zip(apart, are_bent.tolist(), strict=True):
                have[pair] = is_bent
        return have

    def followed(self, oracle: TermOracle, here: Evaluation) -> tuple["Cuts", list[int]]:
        """With the worst cases ``here`` in place of those that have moved to them, and the row of each old one."""
        both, _ = self.with_points(oracle, here.x, [here.maximisers])
        present = both.present(here.maximisers)
        old = len(self.terms)
        pairs = [(present[term], row) for row, term in enumerate(self.terms)]
        moved = both.have_moved(oracle, here.x, pairs)
        into = [high if is_so else row for (high, row), is_so in zip(pairs, moved, strict=True)]
        kept = sorted({*into, *range(old, len(both.terms))})
        return both.kept(kept), [kept.index(row) for row in into]

    def present(self, maximisers: Maximisers) -> dict[int, int]:
        """The row of each term with its maximiser; the highest one for want of that."""
        rows, points = self.highest(self.values), (maximisers.y, *maximisers.w)
        are_same = _same([(self.points[row], points[term]) for row, term in enumerate(self.terms)])
        rows.update({term: row for row, term in enumerate(self.terms) if are_same[row]})
        return rows

    def distinct(self, oracle: TermOracle, here: Evaluation, rows: Sequence[int]) -> "Cuts":
        """The worst cases ``here``, and those of ``rows`` that are none of them, nor of each other, moved."""
        kept = list(self.present(here.maximisers).values())
        others = set(rows) - set(kept)
        terms = sorted({self.terms[row] for row in others})
        points = (here.maximisers.y, *here.maximisers.w)
        are_only = read(*(oracle.is_only_maximiser(here.x, term, points[term]) for term in terms)) if terms else []
        single = {term for term, is_so in zip(terms, are_only, strict=True) if truth(is_so)}
        for row in sorted(others, key=lambda row: -number(self.values[row])):
            pairs = [(other, row) for other in kept if self.terms[other] == self.terms[row]]
            if self.terms[row] not in single and not any(self.have_moved(oracle, here.x, pairs)):
                kept.append(row)
        return self.kept(sorted(kept))

    def best(self, values: Tensor, fallback: Maximisers) -> Maximisers:
        """The worst case of each term with the highest of ``values``."""
        points: list[Tensor | None] = [fallback.y, *fallback.w]
        for term, row in self.highest(values).items():
            points[term] = self.points[row]
        return Maximisers(points[0], tuple(points[1:]))

    def lowered(self, by: Tensor) -> "Cuts":
        """With the values of each term lowered."""
        return self._replace(values=self.values - by[list(self.terms)])

    def raised(self, values: Tensor) -> Tensor:
        """``values``, f and every g, where they are not below a worst case here: rounding may have missed it."""
        highest = torch.stack([self.values[row] for _, row in sorted(self.highest(self.values).items())])
        return torch.maximum(values, highest)

    def highest(self, values: Tensor) -> dict[int, int]:
        """The row of each term with the highest of ``values``."""
        rows_of = {term: self.rows_of(term) for term in sorted(set(self.terms))}
        return {term: rows[index(values[rows].argmax())] for term, rows in rows_of.items()}


def no_cuts(x: Tensor) -> Cuts:
    """Nothing is remembered yet."""
    return Cuts((), (), (), torch.zeros(0, dtype=torch.float64), x.new_zeros((0, x.numel())))


_Pair = tuple[Tensor | None, Tensor | None]


def _same(pairs: Sequence[_Pair], near: float = _SAME) -> list[bool]:
    """For each pair of points, whether they are one; by one wait for all."""
    given = [(one, other) for one, other in pairs if one is not None and other is not None]
    sizes = [size for one, other in given for size in ((one - other).abs().amax(), one.abs().amax())]
    numbers = iter(read(*sizes) if sizes else [])
    return [
        one is other if one is None or other is None else number(next(numbers)) <= near * (1.0 + number(next(numbers)))
        for one, other in pairs
    ]


def _new(known: Sequence["_Worst"], candidates: Sequence["_Worst"]) -> list["_Worst"]:
    """Those of the candidates that are neither known nor the same as an earlier one."""
    everything = [*known, *candidates]
    pairs = [
        (i, j) for i in range(len(known), len(everything)) for j in range(i) if everything[i][0] == everything[j][0]
    ]
    are_same = _same([(everything[i][1], everything[j][1]) for i, j in pairs])
    kept = set(range(len(everything)))
    for (i, j), is_same in zip(pairs, are_same, strict=True):
        if is_same and j in kept:
            kept.discard(i)
    return [everything[i] for i in range(len(known), len(everything)) if i in kept]


_Worst = tuple[int, Tensor | None]  # a term and a point


def _middle(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    return None if one is None or other is None else (one + other) / 2


class Certificate(NamedTuple):
    """The residuals at a point, and the weights of the worst cases that leave them."""

    iterate: Iterate
    weights: Tensor  # (rows,) on the host: a_j and lambda_ij


def certify(evaluation: Evaluation, values: Tensor, cuts: Cuts, strictness: float = 1.0) -> Certificate:
    """The weights with the least sum of squares of stationarity and slackness; ``values`` has f and every g.

    The larger ``strictness``, the less weight for worst cases that do not attain the maximum.
    """
    gaps = gaps_of(values, cuts)
    basis = cuts.gradients.to(torch.float64)
    (products,) = read(basis @ basis.T)
    quadratic = products + torch.diag((strictness * gaps).square())
    weights = minimise_on_simplices(quadratic, torch.zeros_like(gaps), cuts.groups())
    return Certificate(weighed(evaluation, values, cuts, weights), weights)


def lean(values: Tensor, cuts: Cuts, strictness: float = 1.0) -> tuple[float, float]:
    """How steep the violation is, by the mixture of worst cases in which it is least so, and what these miss to it.

    Both are 0 where the violation has no descent.
    """
    chosen = cuts.kept([row for row, term in enumerate(cuts.terms) if term > 0])
    gaps = values[1:].amax() - chosen.values
    basis = chosen.gradients.to(torch.float64)
    (products,) = read(basis @ basis.T)
    quadratic = products + torch.diag((strictness * gaps).square())
    weights = minimise_on_simplices(quadratic, torch.zeros_like(gaps), [Group(range(gaps.numel()), 1.0)])
    (size,) = read(torch.linalg.vector_norm(weights.to(basis.device) @ basis))
    return number(size), number((weights * gaps).abs().amax())


def values_of(evaluation: Evaluation) -> Tensor:
    """The values f and every g, on the host."""
    return read(torch.cat([evaluation.f.reshape(1), evaluation.g]))[0]


def gaps_of(values: Tensor, cuts: Cuts) -> Tensor:
    """What slackness multiplies with a weight: f - phi(x, y_j), psi_i(x, w_ij)."""
    is_objective = torch.tensor([term == 0 for term in cuts.terms])
    return torch.where(is_objective, values[0] - cuts.values, cuts.values).abs()


def weighed(evaluation: Evaluation, values: Tensor, cuts: Cuts, weights: Tensor) -> Iterate:
    """The point with the residuals that ``weights`` of the worst cases leave.

    The gradient of a term is the mixture of those of its worst cases; without weight, that of the worst one.
    """
    c = values.numel() - 1
    shares = torch.zeros((1 + c, weights.numel()), dtype=torch.float64)
    totals = torch.zeros(1 + c, dtype=torch.float64)
    for term in range(1 + c):
        rows = cuts.rows_of(term)
        totals[term] = weights[rows].sum()
        if number(totals[term]) > 0:
            shares[term, rows] = weights[rows] / totals[term]
        else:
            shares[term, rows[index(cuts.values[rows].argmax())]] = 1.0
    device = evaluation.x.device
    basis = cuts.gradients.to(torch.float64)
    mixed = shares.to(device) @ basis
    stationarity = torch.linalg.vector_norm(weights.to(device) @ basis)
    slackness = torch.cat([weights * gaps_of(values, cuts), (totals[1:] * values[1:]).abs()]).amax()
    infeasibility = torch.cat([values[1:], values.new_zeros(1)]).amax()
    found = Residuals(stationarity, infeasibility.to(device), slackness.to(device))
    (worst,) = read(found.worst)
    finite = bool(cuts.values.isfinite().all()) and bool(values.isfinite().all()) and bool(worst.isfinite())
    gradients = Gradients(mixed[0].to(evaluation.x), mixed[1:].to(evaluation.x))
    return Iterate(evaluation, gradients, totals[1:].to(device), found, number(worst) if finite else math.inf)


def settled(oracle: TermOracle, values: Tensor, cuts: Cuts, certificate: Certificate, tolerance: float) -> Iterate:
    """A certified point with one worst case per term to show for it.

    Where a term is concave in y, the mixture sum_j a_j y_j attains the maximum too and has the mixed gradient: the
    ordinary KKT conditions hold with it. Where it has not, the worst case with the largest weight is shown.
    """
    iterate, weights = certificate
    evaluation = iterate.evaluation
    # Rounding may have given a trace of weight to worst cases that a constraint meets with room to spare.
    is_spare = torch.tensor([term > 0 for term in cuts.terms]) & (cuts.values < -tolerance)
    without = torch.where(is_spare, 0.0, weights)
    candidate = weighed(evaluation, values, cuts, without)
    if candidate.worst is not None and candidate.worst <= tolerance:
        iterate, weights = candidate, without
    points: list[Tensor | None] = [evaluation.maximisers.y, *evaluation.maximisers.w]
    for term in range(values.numel()):
        rows = [row for row in cuts.rows_of(term) if number(weights[row]) > 0]
        largest = cuts.points[rows[index(weights[rows].argmax())]] if rows else None
        if largest is None:
            continue
        points[term] = largest
        if len(rows) == 1:
            continue
        total = weights[rows].sum()
        mixture = torch.zeros_like(largest)
        for share, row in zip((weights[rows] / total).tolist(), rows, strict=True):
            mixture += share * cuts.points[row]
        value, gradient = oracle.linearise(evaluation.x, [term], [mixture])
        kept = [row for row in range(len(cuts.terms)) if row not in rows]
        others = cuts.kept(kept)
        merged = Cuts(
            (*others.terms, term),
            (*others.points, mixture),
            (*others.idle, 0),
            torch.cat([others.values, read(value)[0]]),
            torch.cat([others.gradients, gradient]),
        )
        merged_weights = torch.cat([weights[kept], total.reshape(1)])
        candidate = weighed(evaluation, values, merged, merged_weights)
        if candidate.worst is not None and candidate.worst <= tolerance:
            cuts, weights, iterate = merged, merged_weights, candidate
            points[term] = mixture
    shown = evaluation._replace(maximisers=Maximisers(points[0], tuple(points[1:])))
    return iterate._replace(evaluation=shown)
