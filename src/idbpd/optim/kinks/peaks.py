"""All peaks of a term as rows of the bundle: the reduction of a semi-infinite program to a finite one around each x.

One evaluation tells the highest worst case only, but the next step may be held back by any local maximum of psi(x, w).
Where an oracle knows them all, each is a row that moves with x. Locally that makes the problem a smooth one with
finitely many constraints, of which the method learns the curvature (Hettich and Kortanek).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here
from idbpd.optim.kinks.bundle import Bundle, is_linear, linearised
from idbpd.optim.oracle import Evaluation, Oracle, PeakOracle

_SAME = 1e-6  # relative distance of two ascents to one peak: each ends within 1e-8 of it
# Lengths of the last step within which a peak may matter: steps seldom grow by more, and a row too many costs little.
_STEPS_AHEAD = 10.0


def tracked(bundle: Bundle, oracle: Oracle, x: Tensor) -> tuple[Bundle, list[int]]:
    """The rows moved with their peaks to another x, and the new row of each old one: peaks may have become one.

    The values and gradients are still those of the old x.
    """
    if not isinstance(oracle, PeakOracle) or not is_here(x):
        return bundle, list(range(len(bundle.terms)))
    points = moved_points(bundle, oracle, x)
    into, kept = list(range(len(points))), list[int]()
    for term in sorted(set(bundle.terms)):
        rows = bundle.rows_of(term)
        if is_linear(oracle, x, term):  # its worst cases change places instead of moving
            kept += rows
            continue
        are_same = _are_same([points[row] for row in rows], [points[row] for row in rows])
        for place, row in enumerate(rows):
            first = rows[are_same[place].index(True)] if points[row] is not None else row
            into[row] = first
            kept += [row] if first == row else []
    into = [kept.index(row) for row in into]
    unused = [min(bundle.unused[row] for row, place in enumerate(into) if place == one) for one in range(len(kept))]
    moved_bundle = bundle._replace(points=tuple(points)).kept(kept)
    return moved_bundle._replace(unused=tuple(unused)), into


def moved_points(bundle: Bundle, oracle: Oracle, x: Tensor) -> list[Tensor | None]:
    """The points of all rows, each moved with its peak to another x where the oracle can tell."""
    points = list(bundle.points)
    if not isinstance(oracle, PeakOracle) or not is_here(x):
        return points
    for term in sorted(set(bundle.terms)):
        rows = [row for row in bundle.rows_of(term) if points[row] is not None]
        moved = oracle.tracked(x, term, [points[row] for row in rows]) if rows else None
        for row, point in zip(rows, moved or (), strict=False):
            points[row] = point
    return points


def with_peaks(bundle: Bundle, oracle: Oracle, here: Evaluation, s: Tensor) -> tuple[Bundle, list[int]]:
    """With all further peaks of the terms ``here`` as rows that a step a few times as long as ``s`` may reach, and the
    new row of each old one.
    """
    into = list(range(len(bundle.terms)))
    if not isinstance(oracle, PeakOracle) or not is_here(here.x):
        return bundle, into
    terms: list[int] = []
    points: list[Tensor] = []
    for term in sorted(set(bundle.terms)):
        peaks = oracle.peaks(here.x, term)
        known = [bundle.points[row] for row in bundle.rows_of(term)]
        for peak, are_same in zip(peaks, _are_same(peaks, known) if peaks else (), strict=True):
            if not any(are_same):
                terms.append(term)
                points.append(peak)
    added = linearised(oracle, here.x, terms, points) if terms else None
    if added is None:
        return bundle, into
    level = [bundle.values[bundle.terms.index(0)] if term == 0 else 0.0 for term in terms]
    reach = _STEPS_AHEAD * torch.linalg.vector_norm(s) * torch.linalg.vector_norm(added.gradients, dim=1)
    is_near = (added.values + reach.cpu().double() >= torch.tensor(level, dtype=torch.float64)).tolist()
    added = added.kept([row for row, is_so in enumerate(is_near) if is_so])
    both = bundle.joined(added)
    order = sorted(range(len(both.terms)), key=lambda row: both.terms[row])
    return both.kept(order), [order.index(row) for row in into]


def _are_same(some: Sequence[Tensor | None], others: Sequence[Tensor | None]) -> list[list[bool]]:
    """Whether two peaks are one, for each pair: an ascent ends near a peak, not on it."""
    one, other = (
        torch.stack([p.flatten() for p in points if p is not None] or [torch.zeros(0)]) for points in (some, others)
    )
    sizes = 1 + one.abs().amax(1, keepdim=True) if one.numel() else 1.0
    found: list[list[bool]] = (torch.cdist(one, other, p=torch.inf) <= _SAME * sizes).tolist()
    return found
