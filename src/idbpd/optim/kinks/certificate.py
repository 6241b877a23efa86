"""The certificate that several worst cases give together.

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

from idbpd.optim.bounds import Sides, settled
from idbpd.optim.device_reads import index, number, read
from idbpd.optim.kinks.bundle import Bundle
from idbpd.optim.kkt import Residuals
from idbpd.optim.method import Iterate
from idbpd.optim.oracle import Evaluation, Gradients, Maximisers, TermOracle, sides_at, sizes
from idbpd.optim.qp.active_set import merged, minimise_on_simplices, mirrored

# How much the gap of a worst case to the maximum counts in a certificate. A worst case that misses it by eps may
# be sqrt(eps) away from one that attains it, so what carries weight should miss it by much less than the tolerance.
STRICTNESS = 1e3
_ROUNDINGS = 32.0  # of a value that the gap of a worst case may consist of, as a value is a sum of several terms


class Certificate(NamedTuple):
    """The residuals at a point, and the weights of the worst cases that leave them."""

    iterate: Iterate
    weights: Tensor  # (rows,) on the host: a_j and lambda_ij
    worst: float  # of the residuals; infinite where a number is not finite


def certify(
    evaluation: Evaluation, values: Tensor, bundle: Bundle, strictness: float, sides: Sides | None = None
) -> Certificate:
    """The weights with the least sum of squares of stationarity and slackness; ``values`` has f and every g.

    The larger ``strictness``, the less weight for worst cases that do not attain the maximum. ``sides`` says which
    variables are at bounds.
    """
    equalities = evaluation.equalities
    gaps = gaps_of(values, bundle, equalities)

    def solve(gram: Tensor) -> Tensor:
        quadratic = gram + torch.diag((strictness * gaps).square())
        Q, b = mirrored(quadratic, torch.zeros_like(gaps), equalities)
        return merged(minimise_on_simplices(Q, b, bundle.groups(equalities)), equalities)

    if sides is None:
        weights = solve(read(bundle.gram)[0])
    else:
        weights = settled(bundle.gradients.to(torch.float64), sides, lambda left: solve(read(left @ left.T)[0]))
    return with_weights(evaluation, values, bundle, weights, sides)


def best_certificate(
    oracle: TermOracle,
    here: Evaluation,
    values: Tensor,
    value_errors: Sequence[float],
    bundle: Bundle,
    tolerance: float,
    strictness: float = STRICTNESS,
) -> tuple[Iterate | None, float]:
    """A point with the certificate that several worst cases give, None where there is no valid one; and the worst
    residual with them.

    ``values`` has f and every g, ``value_errors`` by how much each may be wrong. A certificate counts only if it holds
    without worst cases that have merely moved: around a unique maximiser, points that miss the maximum by eps are
    sqrt(eps) apart, and a mixture of their gradients may vanish far from a stationary point.
    """
    values, sides = bundle.raised(values), sides_at(oracle, here.x)
    # Gaps of the size of rounding must not count more than the tolerance.
    strictness = max(1.0, min(strictness, tolerance / (_ROUNDINGS * max(*value_errors, 1e-300))))
    certificate = certify(here, values, bundle, strictness, sides)
    if certificate.worst > tolerance:
        return None, certificate.worst
    used = [row for row, weight in enumerate(certificate.weights.tolist()) if weight != 0]
    fewer = bundle.distinct(oracle, here, used)
    certificate = certify(here, values, fewer, strictness, sides)
    if certificate.worst > tolerance:
        return None, certificate.worst
    gaps = (values - torch.tensor(value_errors, dtype=torch.float64))[list(fewer.terms)] - fewer.values
    gaps[gaps.numel() - here.equalities :] = 0.0
    if strictness * number((certificate.weights * gaps).amax()) > tolerance:
        return None, math.inf
    return merge_worst_cases(oracle, values, fewer, certificate, tolerance), certificate.worst


def gaps_of(values: Tensor, bundle: Bundle, equalities: int = 0) -> Tensor:
    """The factors of the weights in slackness: f - phi(x, y_j) and psi_i(x, w_ij). Those of equalities, the last rows,
    are zero.
    """
    is_objective = torch.tensor([term == 0 for term in bundle.terms])
    gaps = torch.where(is_objective, values[0] - bundle.values, bundle.values).abs()
    gaps[gaps.numel() - equalities :] = 0.0
    return gaps


def with_weights(
    evaluation: Evaluation, values: Tensor, bundle: Bundle, weights: Tensor, sides: Sides | None = None
) -> Certificate:
    """The residuals of a point for given ``weights`` of the worst cases.

    The gradient of a term is the mixture of those of its worst cases; of a term without weight, that of the worst one.
    """
    c, equalities = values.numel() - 1, evaluation.equalities
    inequalities = c - equalities
    shares = torch.zeros((1 + c, weights.numel()), dtype=torch.float64)
    totals = torch.zeros(1 + c, dtype=torch.float64)
    for term in range(1 + c):
        rows = bundle.rows_of(term)
        totals[term] = weights[rows].sum()
        if number(totals[term]) > 0:
            shares[term, rows] = weights[rows] / totals[term]
        else:
            shares[term, rows[index(bundle.values[rows].argmax())]] = 1.0
    device = evaluation.x.device
    basis = bundle.gradients.to(torch.float64)
    mixed = shares.to(device) @ basis
    total = weights.to(device) @ basis
    stationarity = torch.linalg.vector_norm(total if sides is None else sides.left(total))
    slack = (totals[1:] * values[1:]).abs()[:inequalities]
    slackness = torch.cat([weights * gaps_of(values, bundle, equalities), slack]).amax()
    infeasibility = torch.cat([sizes(values[1:], equalities), values.new_zeros(1)]).amax()
    found = Residuals(stationarity, infeasibility.to(device), slackness.to(device))
    (worst,) = read(found.worst)
    is_finite = bool(bundle.values.isfinite().all()) and bool(values.isfinite().all()) and bool(worst.isfinite())
    worst_known = number(worst) if is_finite else math.inf
    gradients = Gradients.of(mixed.to(evaluation.x))
    iterate = Iterate(evaluation, gradients, totals[1:].to(device), found, worst_known)
    return Certificate(iterate, weights, worst_known)


def merge_worst_cases(
    oracle: TermOracle, values: Tensor, bundle: Bundle, certificate: Certificate, tolerance: float
) -> Iterate:
    """A certified point with one worst case per term.

    Where a term is concave in y, the mixture sum_j a_j y_j attains the maximum too and has the mixed gradient, so that
    the ordinary KKT conditions hold with it. Where it does not, the worst case with the largest weight is shown.
    """
    evaluation = certificate.iterate.evaluation
    sides, inequalities = sides_at(oracle, evaluation.x), values.numel() - 1 - evaluation.equalities
    # Rounding may have given a trace of weight to constraints that are not active.
    is_spare = torch.tensor([0 < term <= inequalities for term in bundle.terms]) & (bundle.values < -tolerance)
    candidate = with_weights(evaluation, values, bundle, torch.where(is_spare, 0.0, certificate.weights), sides)
    if candidate.worst <= tolerance:
        certificate = candidate
    points = list(evaluation.maximisers.points)
    for term in range(1 + inequalities):
        weights = certificate.weights
        rows = [row for row in bundle.rows_of(term) if number(weights[row]) > 0]
        largest = bundle.points[rows[index(weights[rows].argmax())]] if rows else None
        if largest is None:
            continue
        points[term] = largest
        if len(rows) == 1:
            continue
        total = weights[rows].sum()
        mixture = torch.zeros_like(largest)
        for share, row in zip((weights[rows] / total).tolist(), rows, strict=True):
            mixture += share * bundle.points[row]
        value, gradient = oracle.linearise(evaluation.x, [term], [mixture])
        kept = [row for row in range(len(bundle.terms)) if row not in rows]
        joined = bundle.kept(kept).joined(Bundle((term,), (mixture,), (0,), read(value)[0], gradient))
        order = sorted(range(len(joined.terms)), key=lambda row: joined.terms[row] > inequalities)  # equalities last
        mixed = torch.cat([weights[kept], total.reshape(1)])[order]
        joined = joined.kept(order)
        candidate = with_weights(evaluation, values, joined, mixed, sides)
        if candidate.worst <= tolerance:
            bundle, certificate = joined, candidate
            points[term] = mixture
    shown = evaluation._replace(maximisers=Maximisers.of(points))
    return certificate.iterate._replace(evaluation=shown)
