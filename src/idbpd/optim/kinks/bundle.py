"""The bundle: the worst cases that the model knows, several per term where the worst case jumps.

The terms themselves are in the bundle, not old linearisations of them: at each point they are evaluated anew. Where the
worst cases do not move with x, the method is sequential quadratic programming on the finite problem that they form.
The rows are in the order of the terms, and in each term the worst case of the point comes first.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import index, number, read, truth
from idbpd.optim.oracle import Evaluation, Gradients, LinearOracle, Maximisers, TermOracle
from idbpd.optim.qp.active_set import Group

_SAME = 1e-9  # relative difference of two points below which they are one; in float32 only equal ones are
# Shares of the way between two points at which concavity is tested. Three peaks at equal distances have one in the
# middle, but not at 3/8 too.
_WAY = (0.5, 0.375)
# Share of the difference of two values by which a concave term exceeds the straight line between them: a parabola does
# so by a quarter, from its peak on.
_BENT = 0.1
_UNUSED = 5  # steps without weight after which a worst case is forgotten: in a few, active ones come and go
_EXPLAINED = 0.1  # share of the model's error at a trial that a new row must explain: less is curvature


class Bundle(NamedTuple):
    """Worst cases, and their terms' values and gradients at one x."""

    terms: tuple[int, ...]  # 0 for the objective, 1 + i for constraint i
    points: tuple[Tensor | None, ...]
    unused: tuple[int, ...]  # for how many steps each has had no weight in the model
    values: Tensor  # (rows,) on the host
    gradients: Tensor  # (rows, d)

    @property
    def gram(self) -> Tensor:
        """The inner products of the gradients."""
        basis = self.gradients.to(torch.float64)
        return basis @ basis.T

    def groups(self, mirrored: int = 0) -> list[Group]:
        """The weights of the objective's worst cases, whose sum is 1, and those of all constraints; ``mirrored`` more
        rows follow, of equalities.
        """
        others = [row for row, term in enumerate(self.terms) if term > 0]
        others += range(len(self.terms), len(self.terms) + mirrored)
        return [Group(self.rows_of(0), 1.0), *([Group(others, math.inf)] if others else [])]

    def rows_of(self, term: int) -> list[int]:
        """The rows of one term."""
        return [row for row, own in enumerate(self.terms) if own == term]

    def first_rows(self) -> list[int]:
        """The first row of each term: the worst case of the point."""
        return [self.terms.index(term) for term in sorted(set(self.terms))]

    def kept(self, rows: Sequence[int]) -> "Bundle":
        """These rows only."""
        chosen = list(rows)
        return Bundle(
            tuple(self.terms[row] for row in chosen),
            tuple(self.points[row] for row in chosen),
            tuple(self.unused[row] for row in chosen),
            self.values[chosen],
            self.gradients_of(chosen),
        )

    def gradients_of(self, rows: Sequence[int]) -> Tensor:
        """The gradients of these rows; stacked, because an index would have to be sent to the device."""
        return torch.stack([self.gradients[row] for row in rows]) if rows else self.gradients[:0]

    def constraints(self) -> "Bundle":
        """The rows of the constraints only."""
        return self.kept([row for row, term in enumerate(self.terms) if term > 0])

    def trimmed(self, *, at_least_one: bool = False) -> "Bundle | None":
        """Without rows that have not been used for long; None when one row per term is left, unless that counts."""
        first = self.first_rows()
        rows = [row for row, unused in enumerate(self.unused) if unused <= _UNUSED or row in first]
        return self.kept(rows) if len(rows) > len(first) or at_least_one else None

    def aged(self, weights: Tensor) -> "Bundle":
        """With the steps since each row had weight counted, after a step with these weights."""
        pairs = zip(weights.tolist(), self.unused, strict=True)
        return self._replace(unused=tuple(0 if weight > 0 else unused + 1 for weight, unused in pairs))

    def at(self, oracle: TermOracle, x: Tensor) -> "Bundle | None":
        """The same worst cases at another x; None where a value or a gradient is not finite."""
        there = linearised(oracle, x, self.terms, self.points)
        return None if there is None else there._replace(unused=self.unused)

    def joined(self, other: "Bundle") -> "Bundle":
        """With the rows of another bundle of the same x."""
        return Bundle(
            self.terms + other.terms,
            self.points + other.points,
            self.unused + other.unused,
            torch.cat([self.values, other.values]),
            torch.cat([self.gradients, other.gradients]),
        )

    def followed(
        self, oracle: TermOracle, here: Evaluation, expected: Sequence[int]
    ) -> tuple["Bundle", list[int]] | None:
        """With the worst cases ``here``, each the first of its term, and the new row of each old one; None where one
        has no finite gradient.

        Of the rows ``expected`` to be the worst cases here, those that have moved to them are replaced by them.
        """
        points = here.maximisers.points
        are_same = same_points([(own, points[term]) for term, own in zip(self.terms, self.points, strict=True)])
        present = {term: row for row, term in enumerate(self.terms) if are_same[row]}
        new = [term for term in range(len(points)) if term not in present]
        both, into = self, list(range(len(self.terms)))
        if new:
            added = linearised(oracle, here.x, new, [points[term] for term in new])
            if added is None:
                return None
            both = self.joined(added)
            present.update({term: len(self.terms) + place for place, term in enumerate(new)})
        pairs = [(present[self.terms[row]], row) for row in expected if present[self.terms[row]] != row]
        for (high, row), has_moved in zip(pairs, both.have_moved(oracle, here.x, pairs), strict=True):
            into[row] = high if has_moved else row
        first = set(present.values())
        rows = sorted({*into, *first}, key=lambda row: (both.terms[row], row not in first))
        return both.kept(rows), [rows.index(row) for row in into]

    def have_moved(self, oracle: TermOracle, x: Tensor, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """For each pair of rows of one term, whether they are one worst case that has moved with x; one wait for all.

        Where a term is strictly concave between two worst cases, higher on the way than a straight line, its maximiser
        there is unique and has moved. Where they are so close that rounding hides this, they are one. That the middle
        is higher is not enough: it may be a third peak.
        """
        if not pairs:
            return []
        terms = [self.terms[first] for first, _ in pairs]
        ends = [(self.points[first], self.points[second]) for first, second in pairs]
        distances, on_way = read(_distances(ends, self.gradients), _on_way(oracle, x, terms, ends))
        one, other = (self.values[[pair[side] for pair in pairs]] for side in (0, 1))
        have_moved = _have_moved(distances, one, other, on_way, torch.finfo(x.dtype).eps).tolist()
        # The worst cases of a linear term do not move, they change places: even close ones are two.
        return [is_so and not is_linear(oracle, x, term) for is_so, term in zip(have_moved, terms, strict=True)]

    def grown(self, oracle: TermOracle, x: Tensor, trial: "RefusedTrial") -> "Bundle | None":
        """With those worst cases of a refused trial that explain the refusal; None when there is none.

        A row is added if the model then foresees a tenth of what it missed, and if it is not the point's own worst case
        after a small move, which is curvature. One wait where there is nothing to add, two where there is.
        """
        points = trial.maximisers.points
        terms = [term for term, error in enumerate(trial.missed.tolist()) if error > 0 and points[term] is not None]
        terms = self._unknown(oracle, x, terms, points)
        if not terms:
            return None
        found = tuple(points[term] for term in terms)
        values, gradients = oracle.linearise(x, terms, found)
        change = (gradients @ trial.d.unsqueeze(1)).flatten()
        # The worst case of another x need not even have a value here.
        values, change, are_finite = read(values, change, gradients.isfinite().all(1))
        explained = values - trial.values[terms] + change - trial.foreseen_change[terms]
        is_useful = (explained > _EXPLAINED * trial.missed[terms]) & values.isfinite() & are_finite.bool()
        useful = [len(self.terms) + place for place, is_so in enumerate(is_useful.tolist()) if is_so]
        both = self.joined(Bundle(tuple(terms), found, (0,) * len(terms), values, gradients))
        rows = sorted([*range(len(self.terms)), *useful], key=lambda row: both.terms[row])
        return both.kept(rows) if useful else None

    def _unknown(
        self, oracle: TermOracle, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]
    ) -> list[int]:
        """Those of ``terms`` of which ``points`` has a worst case that is neither known nor the first one, moved."""
        if not terms:
            return []
        first, known = self.first_rows(), [(row, term) for term in terms for row in self.rows_of(term)]
        ends = [(self.points[first[term]], points[term]) for term in terms]
        to_known, to_first, values, on_way = read(
            _distances([(self.points[row], points[term]) for row, term in known], self.gradients),
            _distances(ends, self.gradients),
            oracle.term_values(x, terms, [points[term] for term in terms]),
            _on_way(oracle, x, terms, ends),
        )
        one = self.values[[first[term] for term in terms]]
        have_moved = _have_moved(to_first, one, values, on_way, torch.finfo(x.dtype).eps).tolist()
        old = {term for (_, term), distance in zip(known, to_known.tolist(), strict=True) if distance <= _SAME}
        return [term for term, has_moved in zip(terms, have_moved, strict=True) if not has_moved and term not in old]

    def distinct(self, oracle: TermOracle, here: Evaluation, rows: Sequence[int]) -> "Bundle":
        """The worst cases ``here``, and those of ``rows`` that are not one of them, or of each other, moved."""
        kept = self.first_rows()
        others = set(rows) - set(kept)
        terms = sorted({self.terms[row] for row in others})
        points = here.maximisers.points
        are_only = read(*(oracle.is_only_maximiser(here.x, term, points[term]) for term in terms)) if terms else []
        single = {term for term, is_so in zip(terms, are_only, strict=True) if truth(is_so)}
        for row in sorted(others, key=lambda row: -number(self.values[row])):
            pairs = [(other, row) for other in kept if self.terms[other] == self.terms[row]]
            if self.terms[row] not in single and not any(self.have_moved(oracle, here.x, pairs)):
                kept.append(row)
        return self.kept(sorted(kept))

    def best(self, values: Tensor, fallback: Maximisers) -> Maximisers:
        """The worst case of each term with the highest of ``values``."""
        points = list(fallback.points)
        for term, row in self.highest(values).items():
            points[term] = self.points[row]
        return Maximisers.of(points)

    def raised(self, values: Tensor) -> Tensor:
        """F and every g in ``values``, raised to the worst cases here: an inner maximisation may have missed one."""
        highest = torch.stack([self.values[row] for _, row in sorted(self.highest(self.values).items())])
        return torch.maximum(values, highest)

    def highest(self, values: Tensor) -> dict[int, int]:
        """The row of each term with the highest of ``values``."""
        rows_of = {term: self.rows_of(term) for term in sorted(set(self.terms))}
        return {term: rows[index(values[rows].argmax())] for term, rows in rows_of.items()}


class RefusedTrial(NamedTuple):
    """A trial that the search has refused, and by how much the model was wrong there; (1 + c,) on the host each."""

    maximisers: Maximisers
    d: Tensor  # from the point to the trial
    values: Tensor  # f and every g at the point
    foreseen_change: Tensor  # as the model foresaw it
    missed: Tensor  # by how much the true change is larger


def bundle_at(here: Evaluation, values: Tensor, gradients: Gradients) -> Bundle:
    """One row per term: the worst cases of a point, with f and every g there on the host."""
    points = here.maximisers.points
    n = len(points)
    return Bundle(tuple(range(n)), points, (0,) * n, values, gradients.rows)


def linearised(oracle: TermOracle, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> Bundle | None:
    """Rows at ``x``; None where a value or a gradient is not finite."""
    values, gradients = oracle.linearise(x, terms, points)
    values, are_finite = read(values, gradients.isfinite().all())
    if not (truth(are_finite) and truth(values.isfinite().all())):
        return None
    return Bundle(tuple(terms), tuple(points), (0,) * len(terms), values, gradients)


_Ends = tuple[Tensor | None, Tensor | None]  # two points of one term


def same_points(pairs: Sequence[_Ends]) -> list[bool]:
    """For each pair of points, whether they are the same; one wait for all."""
    if not pairs:
        return []
    like = next((one for pair in pairs for one in pair if one is not None), torch.zeros(()))
    return (read(_distances(pairs, like))[0] <= _SAME).tolist()


def _distances(pairs: Sequence[_Ends], like: Tensor) -> Tensor:
    """The relative distance of each pair of points on the device of ``like``; 0 for a term without a set."""
    zero = torch.zeros((), dtype=torch.float64, device=like.device)
    return torch.stack(
        [
            zero if one is None or other is None else ((one - other).abs().amax() / (1 + one.abs().amax())).to(zero)
            for one, other in pairs
        ]
    )


def is_linear(oracle: TermOracle, x: Tensor, term: int) -> bool:
    """Whether a term is known to be linear in y or w over a box."""
    return isinstance(oracle, LinearOracle) and oracle.is_linear(x, term)


def _on_way(oracle: TermOracle, x: Tensor, terms: Sequence[int], pairs: Sequence[_Ends]) -> Tensor:
    """The values of the terms on the way between pairs of points, (shares, pairs)."""
    way = [
        None if one is None or other is None else one + share * (other - one) for share in _WAY for one, other in pairs
    ]
    return oracle.term_values(x, list(terms) * len(_WAY), way).view(len(_WAY), -1)


def _have_moved(distances: Tensor, one: Tensor, other: Tensor, on_way: Tensor, eps: float) -> Tensor:
    """Whether pairs of worst cases, with values at both ends and on the way, are one that has moved."""
    above = torch.stack([values - (one + share * (other - one)) for share, values in zip(_WAY, on_way, strict=True)])
    is_bent = above.amin(0) > _BENT * (one - other).abs() + 8 * eps * one.abs()
    is_close: Tensor = distances <= eps ** (1 / 3)
    return is_close | is_bent
