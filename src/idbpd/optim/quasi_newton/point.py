"""All that the method knows of the point where it is, and how it comes to know it with one wait for the device."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.bounds import Bounds
from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.kinks.bundle import Bundle
from idbpd.optim.kkt import Residuals, best_multipliers, lagrangian_gradient, residuals, slack_of
from idbpd.optim.oracle import Evaluation, Gradients, sizes
from idbpd.optim.qp.active_set import minimise_signed
from idbpd.optim.quasi_newton.bounded_steps import BoundedSteps
from idbpd.optim.quasi_newton.few_bounds import FewBoundedSteps
from idbpd.optim.quasi_newton.lbfgs import LearntMetric, Metric, without_pairs
from idbpd.optim.quasi_newton.merit import value_errors
from idbpd.optim.quasi_newton.penalty_model import PenaltyModel, violation
from idbpd.optim.quasi_newton.speculative_trial import Forecast, SpeculativeTrial


class EvaluatedPoint(NamedTuple):
    """A point with its values, gradients and residuals. Everything after the residuals is on the host."""

    evaluation: Evaluation
    gradients: Gradients
    multipliers: Tensor  # (c,) those that certify the point best
    residuals: Residuals
    f: float
    g: Tensor
    worst: float  # of the residuals; infinite where a value or a gradient is not finite
    value_errors: tuple[float, ...]  # by how much f and each g may be wrong
    host_multipliers: Tensor  # (c,) the multipliers once more
    gram: Tensor  # (1 + c, 1 + c) inner products of the gradients
    length: float  # ||x||

    @property
    def violation(self) -> float:
        """max_i [g_i]_+, with |g_i| for equalities."""
        return violation(self.g, self.evaluation.equalities)

    @property
    def values(self) -> Tensor:
        """(1 + c,) f and every g, on the host."""
        return torch.cat([torch.tensor([self.f], dtype=torch.float64), self.g])


class MetricGradients(NamedTuple):
    """A metric H, and the gradients of a point multiplied by it."""

    metric: Metric
    scale: float  # of the metric, on the host
    rows: Tensor  # (1 + c, d): H grad f, H grad g_1, ...
    gram: Tensor  # (1 + c, 1 + c) on the host: inner products of the gradients in the metric


class Arrival(NamedTuple):
    """A point reached, its gradients in the metric, and the trial beyond it where one was made."""

    point: EvaluatedPoint
    in_metric: MetricGradients
    speculative: SpeculativeTrial | None
    is_open: bool  # whether an inner maximum at the point wants more than could be done without waiting


def arrive(
    evaluation: Evaluation,
    gradients: Gradients,
    around: Tensor,
    learnt: LearntMetric,
    before: Metric,
    forecast: Forecast | None = None,
    bounds: Bounds | None = None,
) -> Arrival:
    """Measure an evaluated and differentiated point, by one wait for the device.

    The metric is what was ``learnt`` on the way there, or the metric ``before`` where nothing was. With a ``forecast``
    the next trial is evaluated too. ``around`` is the multipliers of the last point, on the host: the gradient of the
    Lagrangian is computed with them before inner products are taken, which keeps the digits of a small residual.
    """
    x, c = evaluation.x, evaluation.g.numel()
    basis = gradients.rows
    rows = learnt.metric.apply(basis)
    basis64 = basis.to(torch.float64)
    lagrangian = basis64[0] + around.to(x.device) @ basis64[1:]
    vectors = torch.cat([basis64, lagrangian.unsqueeze(0)])
    gram = rows.to(torch.float64) @ basis64.T
    gram = (gram + gram.T) / 2
    of_trial: tuple[Tensor, ...] = ()
    if forecast is not None:
        trial, weights = forecast.trial(evaluation, rows, gram)
        of_trial = (weights, trial.f, trial.g, (trial.x != x).any(), trial.error)
    f, g, error, products, gram, errors, length, scale, kept, *of_trial_read = read(
        evaluation.f,
        evaluation.g,
        evaluation.error,
        vectors @ vectors.T,
        gram,
        value_errors(evaluation, gradients),
        torch.linalg.vector_norm(x, dtype=torch.float64),
        learnt.metric.scale,
        learnt.kept,
        *of_trial,
    )
    speculative = None
    if forecast is not None:
        weights, f_trial, g_trial, moved, error_trial = of_trial_read
        speculative = SpeculativeTrial(
            evaluation=trial,
            t=forecast.t,
            weights=weights,
            f=number(f_trial),
            g=g_trial,
            moved=truth(moved),
            is_open=truth(error_trial.isinf().any()),
        )
    sides, equalities = None if bounds is None else bounds.sides(x), evaluation.equalities
    multipliers, worst = _certify(number(f), g, equalities, products, around)
    if sides is not None and worst < math.inf:
        multipliers = best_multipliers(evaluation.g, gradients, equalities, sides).cpu()
    on_device = multipliers.to(x.device)
    found = residuals(evaluation.g, gradients, on_device, equalities, sides)
    if sides is not None and worst < math.inf:
        worst = number(read(found.worst.nan_to_num(math.inf))[0])
    point = EvaluatedPoint(
        evaluation=evaluation,
        gradients=gradients,
        multipliers=on_device,
        residuals=found,
        f=number(f),
        g=g,
        worst=worst,
        value_errors=tuple(errors.tolist()),
        host_multipliers=multipliers,
        gram=products[: 1 + c, : 1 + c],
        length=number(length),
    )
    metric = learnt.metric if truth(kept) else before
    return Arrival(point, MetricGradients(metric, number(scale), rows, gram), speculative, truth(error.isinf().any()))


def in_initial_metric(point: EvaluatedPoint, scale: float, initial: InitialMetric | None) -> MetricGradients:
    """The gradients of a point in ``scale`` times H0, with no pair learnt."""
    metric = without_pairs(point.evaluation.x, scale, initial)
    basis = point.gradients.rows
    if initial is None:
        return MetricGradients(metric, scale, scale * basis, scale * point.gram)
    rows = metric.apply(basis)
    gram = rows.to(torch.float64) @ basis.to(torch.float64).T
    return MetricGradients(metric, scale, rows, read((gram + gram.T) / 2)[0])


def model_at(
    point: EvaluatedPoint,
    in_metric: MetricGradients,
    bundle: Bundle | None,
    margin: Tensor,
    objective: float,
    bounds: Bounds | None = None,
) -> PenaltyModel:
    """The model at a point: one row per term, or the rows of a bundle. ``margin`` (c,) is as in the model."""
    equalities = point.evaluation.equalities
    bounded: BoundedSteps | FewBoundedSteps | None = None
    if bounds is not None:
        pressing = lagrangian_gradient(point.gradients, point.multipliers)
        basis = point.gradients.rows if bundle is None else bundle.gradients
        x, metric = point.evaluation.x, in_metric.metric
        if metric.initial is None:
            bounded = BoundedSteps(x, bounds, metric, basis, pressing)
        else:
            rows = in_metric.rows if bundle is None else metric.apply(basis)
            bounded = FewBoundedSteps(x, bounds, metric, basis, rows, pressing)
    none = torch.zeros(1, dtype=torch.float64)
    margins = torch.cat([none, margin])
    if bundle is None:
        values = torch.cat([none, point.g])
        terms = tuple(range(values.numel()))
        return PenaltyModel(in_metric.rows, in_metric.gram, values, margins, terms, objective, equalities, bounded)
    rows = in_metric.metric.apply(bundle.gradients)
    gram = rows.to(torch.float64) @ bundle.gradients.to(torch.float64).T
    (gram,) = read((gram + gram.T) / 2)
    of_rows = torch.tensor(bundle.terms)
    values = torch.where(of_rows == 0, bundle.values - point.f, bundle.values)
    return PenaltyModel(rows, gram, values, margins[of_rows], bundle.terms, objective, equalities, bounded)


def _certify(f: float, g: Tensor, equalities: int, products: Tensor, around: Tensor) -> tuple[Tensor, float]:
    """The multipliers that certify a point best (see `kkt.best_multipliers`), and the worst residual with them.

    ``products`` has the inner products of grad f, the grad g_i and the gradient of the Lagrangian at the multipliers
    ``around``.
    """
    c = g.numel()
    if not (math.isfinite(f) and truth(g.isfinite().all()) and truth(products.isfinite().all())):
        return torch.zeros_like(g), math.inf
    none = g.new_zeros(1)
    if c == 0:
        return g, math.sqrt(number(products[0, 0]))
    of_g, along = products[1 : 1 + c, 1 : 1 + c], products[1 : 1 + c, 1 + c]
    found = minimise_signed(of_g + torch.diag(slack_of(g, equalities)), products[1 : 1 + c, 0], equalities)
    found = torch.where(found.isfinite(), found, 0.0)  # a curvature that underflows
    change = found - around
    terms = torch.stack([products[1 + c, 1 + c], 2 * change @ along, change @ of_g @ change])
    # Rounding counts against the point, so that the gradients themselves certify what is certified here.
    rounding = 16 * torch.finfo(torch.float64).eps * terms.abs().sum()
    stationarity = math.sqrt(max(number(terms.sum()), 0.0) + number(rounding))
    slackness = (found * g)[: c - equalities].abs().amax() if c > equalities else none
    return found, max(stationarity, number(sizes(g, equalities).amax()), number(slackness))
