"""All that a method knows of the point where it is, and how it comes to know it with one wait for the device."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.kkt import Residuals, residuals
from idbpd.optim.oracle import Evaluation, Gradients
from idbpd.optim.qp.active_set import minimise_on_orthant
from idbpd.optim.quasi_newton.lbfgs import Learnt, Metric, identity
from idbpd.optim.quasi_newton.merit import doubts
from idbpd.optim.quasi_newton.speculative_trial import Ahead, Outlook


class Place(NamedTuple):
    """A point with all that is known there. What comes after the residuals is on the host."""

    evaluation: Evaluation
    gradients: Gradients
    multipliers: Tensor
    residuals: Residuals
    f: float
    g: Tensor
    worst: float  # of the residuals; infinite where a value or a gradient is not finite
    doubts: tuple[float, ...]  # by how much f and each g may be wrong
    certifying: Tensor  # (c,) the multipliers
    products: Tensor  # (1 + c, 1 + c) inner products of the gradients
    length: float  # ||x||


class Slopes(NamedTuple):
    """A metric H, and the gradients of a place in it."""

    metric: Metric
    scale: float  # of the metric, on the host
    rows: Tensor  # (1 + c, d): H grad f, H grad g_1, ...
    gram: Tensor  # (1 + c, 1 + c) on the host: inner products of the gradients in the metric


class Arrival(NamedTuple):
    """A place, its slopes, the trial beyond it where one was made, and whether a maximum at the place is still open."""

    place: Place
    slopes: Slopes
    ahead: Ahead | None
    is_open: bool


def arrive(
    evaluation: Evaluation,
    gradients: Gradients,
    around: Tensor,
    learnt: Learnt,
    before: Metric,
    outlook: Outlook | None = None,
) -> Arrival:
    """The place of an evaluated and differentiated point, and its slopes in the metric that was ``learnt`` on the way
    there: the metric ``before`` where nothing was. With an ``outlook``, the next trial as well. All by one wait.

    ``around`` is the multipliers of the place before, on the host. That the gradient of the Lagrangian with them is
    computed before its inner products are is what keeps the digits of a small residual.
    """
    x, c = evaluation.x, evaluation.g.numel()
    basis = torch.cat([gradients.f.unsqueeze(0), gradients.g])
    rows = learnt.metric.apply(basis)
    basis64 = basis.to(torch.float64)
    lagrangian = basis64[0] + around.to(x.device) @ basis64[1:]
    vectors = torch.cat([basis64, lagrangian.unsqueeze(0)])
    gram = rows.to(torch.float64) @ basis64.T
    gram = (gram + gram.T) / 2
    of_trial: tuple[Tensor, ...] = ()
    if outlook is not None:
        trial, weights = outlook.trial(evaluation, rows, gram)
        of_trial = (weights, trial.f, trial.g, (trial.x != x).any(), trial.error)
    f, g, error, products, gram, doubtful, length, scale, kept, *of_trial_read = read(
        evaluation.f,
        evaluation.g,
        evaluation.error,
        vectors @ vectors.T,
        gram,
        doubts(evaluation, gradients),
        torch.linalg.vector_norm(x, dtype=torch.float64),
        learnt.metric.scale,
        learnt.kept,
        *of_trial,
    )
    ahead = None
    if outlook is not None:
        weights, f_trial, g_trial, moved, error_trial = of_trial_read
        is_open = truth(error_trial.isinf().any())
        ahead = Ahead(trial, outlook.t, weights, number(f_trial), g_trial, truth(moved), is_open)
    multipliers, worst = _certify(number(f), g, products, around)
    on_device = multipliers.to(x.device)
    place = Place(
        evaluation,
        gradients,
        on_device,
        residuals(evaluation.g, gradients, on_device),
        number(f),
        g,
        worst,
        tuple(doubtful.tolist()),
        multipliers,
        products[: 1 + c, : 1 + c],
        number(length),
    )
    metric = learnt.metric if truth(kept) else before
    return Arrival(place, Slopes(metric, number(scale), rows, gram), ahead, truth(error.isinf().any()))


def unlearnt(place: Place, scale: float) -> Slopes:
    """The slopes in ``scale`` times the identity."""
    rows = scale * torch.cat([place.gradients.f.unsqueeze(0), place.gradients.g])
    return Slopes(identity(place.evaluation.x, scale), scale, rows, scale * place.products)


def _certify(f: float, g: Tensor, products: Tensor, around: Tensor) -> tuple[Tensor, float]:
    """The multipliers that certify a point best (see `kkt.best_multipliers`), and the worst residual with them.

    ``products`` has the inner products of grad f, the grad g_i and the gradient of the Lagrangian at the multipliers
    ``around``.
    """
    c = g.numel()
    if not (math.isfinite(f) and truth(g.isfinite().all()) and truth(products.isfinite().all())):
        return torch.zeros_like(g), math.inf
    if c == 0:
        return g, math.sqrt(number(products[0, 0]))
    of_g, along = products[1 : 1 + c, 1 : 1 + c], products[1 : 1 + c, 1 + c]
    found = minimise_on_orthant(of_g + torch.diag(g.square()), products[1 : 1 + c, 0])
    found = torch.where(found.isfinite(), found, 0.0)  # a curvature that underflows
    change = found - around
    terms = torch.stack([products[1 + c, 1 + c], 2 * change @ along, change @ of_g @ change])
    # Rounding counts against the point: what is certified here is certified by the gradients themselves, too.
    rounding = 16 * torch.finfo(torch.float64).eps * terms.abs().sum()
    stationarity = math.sqrt(max(number(terms.sum()), 0.0) + number(rounding))
    return found, max(stationarity, number(g.amax()), number((found * g).abs().amax()))
