"""The metric H0 that an oracle knows: asked for at the start, and again now and then."""

from torch import Tensor

from idbpd.optim.device_reads import number
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.oracle import Evaluation, Oracle, PreconditionedOracle, bounds_of
from idbpd.optim.quasi_newton.few_bounds import MOST
from idbpd.optim.quasi_newton.lbfgs import Metric

# Steps after which H0 is asked for again, first after half as many. It takes inverses as
# large as the layers, for which a step would be too dear.
REFRESH_EVERY = 20


def metric_to_begin_with(oracle: Oracle, x: Tensor) -> InitialMetric | None:
    """H0 at the start. Where many variables have bounds, steps need the inverse of a part of it: there is none."""
    if not isinstance(oracle, PreconditionedOracle):
        return None
    bounds = bounds_of(oracle)
    if bounds is not None and number((bounds.low.isfinite() | bounds.high.isfinite()).sum()) > MOST:
        return None
    return oracle.initial_metric(x)


def refreshed(oracle: Oracle, metric: Metric, steps: int, evaluation: Evaluation, multipliers: Tensor) -> Metric:
    """The metric after so many steps, with its H0 from time to time as it is where the run is now.

    The pairs stay: they are differences of gradients, whatever H0 is.
    """
    is_due = steps % REFRESH_EVERY == REFRESH_EVERY // 2
    if metric.initial is None or not is_due or not isinstance(oracle, PreconditionedOracle):
        return metric
    found = oracle.metric_at(evaluation, multipliers)
    return metric if found is None else metric._replace(initial=found)
