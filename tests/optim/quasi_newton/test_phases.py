"""The turns that no small problem takes every time: what a run does where rounding hides its steps."""

import torch

from idbpd.optim import IDBPD, Problem, Status
from idbpd.optim.initial_metric import LayeredMetric
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.layout import flatten
from idbpd.optim.quasi_newton.phases import IDBPDState, after_step
from idbpd.optim.quasi_newton.point import in_initial_metric


def at_a_point() -> tuple[AutogradOracle, IDBPDState]:
    x, layout = flatten(torch.tensor([1.0, 2.0], dtype=torch.float64))
    oracle = AutogradOracle(Problem(lambda x: x @ x), layout)
    return oracle, IDBPD().init(oracle, x)


def test_where_rounding_hides_every_step_a_run_ends() -> None:
    oracle, state = at_a_point()

    goes_on = after_step(oracle, state._replace(hidden_steps=29), 1e-6)
    ends = after_step(oracle, state._replace(hidden_steps=30), 1e-6)

    assert goes_on.verdict is None
    assert ends.verdict is not None
    assert ends.verdict.status is Status.MAX_STEPS
    assert "rounding" in ends.verdict.reason


def test_before_that_it_goes_on_without_the_metric_of_the_oracle() -> None:
    oracle, state = at_a_point()
    state = state._replace(in_metric=in_initial_metric(state.point, 3.0, LayeredMetric(())), hidden_steps=30)

    turned = after_step(oracle, state, 1e-6)

    assert turned.verdict is None
    assert turned.initial is None
    assert turned.hidden_steps == 0
    assert turned.in_metric.scale == 1.0
    torch.testing.assert_close(turned.in_metric.rows, state.point.gradients.rows)
    # The second time there is nothing left to leave.
    assert after_step(oracle, turned._replace(hidden_steps=30), 1e-6).verdict is not None
