"""Terms that are linear in w over a box: the one worst case that stands for all corners of a face.

Such a term is the sum of the moduli of its slopes in w. Where many slopes vanish, as at the projection onto an l1 ball,
every corner of a face of the box is a worst case: there are far too many to find one by one. But the model can be
minimised with the term at *every* point of the box as a row (`qp/whole_boxes`). By duality the direction is that of one
row only, the mixture of all that have weight, which is again a point of the box: a saddle point of the model.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here, number
from idbpd.optim.kinks.bundle import Bundle, linearised
from idbpd.optim.oracle import Evaluation, LinearOracle, LinearTerm, Oracle, bounds_of
from idbpd.optim.qp.whole_boxes import Unknowns, minimise_over_boxes

_TRACE = 1e-10  # share of all weight that is none: what an interior point leaves where there is nothing
_ROUNDINGS = 64 * torch.finfo(torch.float64).eps  # share of a value that the difference to another may be


def with_saddle_points(
    bundle: Bundle,
    oracle: Oracle,
    here: Evaluation,
    metric: Callable[[Tensor], Tensor],
    objective: float,
    penalty: float,
    t: float,
) -> Bundle | None:
    """The bundle with a saddle point of the model of each term that is linear over a box; None where there is none.

    The model is that of `quasi_newton/penalty_model`; ``metric`` applies H to rows.
    """
    x = here.x
    if not isinstance(oracle, LinearOracle) or not is_here(x) or bounds_of(oracle) is not None:
        return None
    asked = [term for term in sorted(set(bundle.terms)) if objective > 0 or term > 0]
    linear = {term: found for term in asked if (found := oracle.linear(x, term)) is not None}
    if not linear:
        return None
    middles = linearised(oracle, x, list(linear), [found.middle for found in linear.values()])
    if middles is None:
        return None
    kept = [row for row, term in enumerate(bundle.terms) if term in asked and term not in linear]
    points = _saddle_points(bundle.kept(kept).joined(middles), linear, here, metric, penalty, t)
    added = linearised(oracle, x, list(points), list(points.values())) if points else None
    if added is None:
        return None
    # A saddle point stands for all points of the box. Besides it only the worst case is wanted, and that only where it
    # is higher: two rows that are nearly one have no multipliers of their own.
    first = [row for row in bundle.first_rows() if bundle.terms[row] in points]
    is_higher = (bundle.values[first] - added.values > _ROUNDINGS * (1.0 + added.values.abs())).tolist()
    wanted = [row for row, is_so in zip(first, is_higher, strict=True) if is_so]
    rows = [row for row, term in enumerate(bundle.terms) if term not in points or row in wanted]
    both = bundle.kept(rows).joined(added)
    return both.kept(sorted(range(len(both.terms)), key=lambda row: both.terms[row]))


class _Unknown(NamedTuple):
    """What a multiplier multiplies: values and gradients at one x, and the multipliers' term, -1 for coordinates."""

    term: int
    values: Tensor  # (k,)
    gradients: Tensor  # (k, d) float64


def _saddle_points(
    bundle: Bundle,
    linear: Mapping[int, LinearTerm],
    here: Evaluation,
    metric: Callable[[Tensor], Tensor],
    penalty: float,
    t: float,
) -> dict[int, Tensor]:
    """By term; ``bundle`` has the middles of the linear terms, and the rows of the others."""
    first_equality = 1 + here.g.numel() - here.equalities
    level = float(here.f)
    rows: list[_Unknown] = []
    for term in sorted(set(bundle.terms)):
        own = bundle.kept(bundle.rows_of(term))
        values, gradients = own.values - (level if term == 0 else 0.0), own.gradients.double()
        if term in linear and linear[term].halves is None:
            values, gradients = _corners(linear[term], values, gradients)
        rows.append(_Unknown(term, values, gradients))
        if term >= first_equality:  # its multiplier has either sign: two rows
            rows.append(_Unknown(term, -values, -gradients))
    begins = dict[int, int]()
    count = 0
    for one in rows:
        begins.setdefault(one.term, count)
        count += one.values.numel()
    sides, owners = list[_Unknown](), list[Tensor]()
    for term, known in linear.items():
        if known.halves is not None:
            halves = known.halves
            sides.append(_Unknown(-1, halves * known.slopes, halves.unsqueeze(1) * known.rows.double()))
            owners.append(torch.full((halves.numel(),), begins[term]))
    gradients = torch.cat([one.gradients for one in (*rows, *sides)])
    ones = sum(one.values.numel() for one in rows if one.term == 0)
    kinds = Unknowns(ones, count - ones, torch.cat(owners) if owners else torch.zeros(0, dtype=torch.int64))
    gram = metric(gradients.to(here.x)).double() @ gradients.T
    values = torch.cat([one.values for one in (*rows, *sides)])
    found = minimise_over_boxes(0.5 * t * (gram + gram.T), values, kinds, penalty)
    if found is None:
        return {}
    least, points, begin = _TRACE * number(found[:count].sum()), dict[int, Tensor](), count
    for term, known in linear.items():
        n, at, middle = known.slopes.numel(), begins[term], known.middle
        if known.halves is None:
            weight, mixed = number(found[at : at + n].sum()), found[at : at + n]
        else:
            weight, mixed = number(found[at]), found[begin : begin + n]
            begin += n
        if weight > least:
            share = (mixed / weight).clamp(-1.0, 1.0)
            share = share if known.halves is None else middle.flatten().to(share) + known.halves * share
            points[term] = share.to(middle).reshape(middle.shape)
    return points


def _corners(term: LinearTerm, value: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """A linear term at the corners of a simplex, from that in the middle."""
    rows = term.rows.double()
    return value + term.slopes - term.slopes.mean(), gradient + rows - rows.mean(0)
