"""The bundle: the worst cases that are remembered where the worst case is not unique."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import index, number, read, truth
from idbpd.optim.oracle import Evaluation, Maximisers, TermOracle
from idbpd.optim.qp.active_set import Group

_SAME = 1e-9  # relative difference of two points below which they are one: well above rounding, well below any step


class Bundle(NamedTuple):
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

    def kept(self, rows: Sequence[int]) -> "Bundle":
        """These rows only."""
        chosen = list(rows)
        return Bundle(
            tuple(self.terms[row] for row in chosen),
            tuple(self.points[row] for row in chosen),
            tuple(self.idle[row] for row in chosen),
            self.values[chosen],
            self.gradients_of(chosen),
        )

    def gradients_of(self, rows: Sequence[int]) -> Tensor:
        """The gradients of these rows; stacked, because an index would have to be sent to the device."""
        return torch.stack([self.gradients[row] for row in rows]) if rows else self.gradients[:0]

    def aged(self, weights: Tensor) -> "Bundle":
        """With the steps since each row had weight counted, after a step with these weights."""
        pairs = zip(weights.tolist(), self.idle, strict=True)
        return self._replace(idle=tuple(0 if weight > 0 else idle + 1 for weight, idle in pairs))

    def at(self, oracle: TermOracle, x: Tensor) -> "Bundle":
        """The same worst cases at another x."""
        values, gradients = oracle.linearise(x, self.terms, self.points)
        return self._replace(values=read(values)[0], gradients=gradients)

    def with_points(self, oracle: TermOracle, x: Tensor, found: Sequence[Maximisers]) -> tuple["Bundle", bool]:
        """With the new ones of ``found``, evaluated at the same ``x``; and whether there were any."""
        terms, points, old = list(self.terms), list(self.points), len(self.terms)
        candidates = [(term, point) for maximisers in found for term, point in enumerate((maximisers.y, *maximisers.w))]
        for term, point in _new(list(zip(terms, points, strict=True)), candidates):
            terms.append(term)
            points.append(point)
        if len(terms) == old:
            return self, False
        values, gradients = oracle.linearise(x, terms[old:], points[old:])
        values, have_slopes = read(values, gradients.isfinite().all(1))
        both = Bundle(
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
        """For each pair of rows of one term, whether they are one worst case that has moved with x.

        Where a term is strictly concave between two worst cases, higher in the middle than a straight line, its
        maximiser there is unique and has moved. Where they are so close that rounding hides this, they are one.
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

    def followed(self, oracle: TermOracle, here: Evaluation) -> tuple["Bundle", list[int]]:
        """With the worst cases ``here`` replacing those that have moved to them, and the new row of each old one."""
        both, _ = self.with_points(oracle, here.x, [here.maximisers])
        present = both.present(here.maximisers)
        old = len(self.terms)
        pairs = [(present[term], row) for row, term in enumerate(self.terms)]
        moved = both.have_moved(oracle, here.x, pairs)
        into = [high if is_so else row for (high, row), is_so in zip(pairs, moved, strict=True)]
        kept = sorted({*into, *range(old, len(both.terms))})
        return both.kept(kept), [kept.index(row) for row in into]

    def present(self, maximisers: Maximisers) -> dict[int, int]:
        """The row of each term that has its maximiser; the highest row where there is none."""
        rows, points = self.highest(self.values), (maximisers.y, *maximisers.w)
        are_same = _same([(self.points[row], points[term]) for row, term in enumerate(self.terms)])
        rows.update({term: row for row, term in enumerate(self.terms) if are_same[row]})
        return rows

    def distinct(self, oracle: TermOracle, here: Evaluation, rows: Sequence[int]) -> "Bundle":
        """The worst cases ``here``, and those of ``rows`` that are not one of them, or of each other, moved."""
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

    def lowered(self, by: Tensor) -> "Bundle":
        """With the values of each term lowered."""
        return self._replace(values=self.values - by[list(self.terms)])

    def raised(self, values: Tensor) -> Tensor:
        """F and every g in ``values``, raised to the worst cases here: an inner maximisation may have missed one."""
        highest = torch.stack([self.values[row] for _, row in sorted(self.highest(self.values).items())])
        return torch.maximum(values, highest)

    def highest(self, values: Tensor) -> dict[int, int]:
        """The row of each term with the highest of ``values``."""
        rows_of = {term: self.rows_of(term) for term in sorted(set(self.terms))}
        return {term: rows[index(values[rows].argmax())] for term, rows in rows_of.items()}


def empty_bundle(x: Tensor) -> Bundle:
    """A bundle without rows."""
    return Bundle((), (), (), torch.zeros(0, dtype=torch.float64), x.new_zeros((0, x.numel())))


_Pair = tuple[Tensor | None, Tensor | None]


def _same(pairs: Sequence[_Pair], near: float = _SAME) -> list[bool]:
    """For each pair of points, whether they are the same; one wait for all."""
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
