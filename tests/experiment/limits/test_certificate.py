"""The certificate is computed in float64, whatever precision the weights were trained in."""

from dataclasses import replace

import pytest
import torch

from idbpd.experiment.limits.certificate import evaluate_exactly
from idbpd.experiment.problem import weights_of
from idbpd.optim import IDBPD, solve
from tests.pipelines.small_tasks import COMPUTE, EXPERIMENT, small_tasks

LIMITS = {"second": 0.6}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_residuals_are_those_of_the_solution(dtype: str) -> None:
    data = small_tasks(2)
    experiment = replace(EXPERIMENT, compute=COMPUTE.model_copy(update={"dtype": dtype}))
    built = experiment.build(data, "first", LIMITS)
    solution = solve(built.oracle, built.initial_weights, IDBPD(), max_steps=200, tolerance=1e-6)
    point = evaluate_exactly(data, LIMITS, experiment, weights_of(solution))
    assert point.built.data.features.dtype == point.evaluation.g.dtype == torch.float64
    assert point.evaluation.f.item() == pytest.approx(solution.f, abs=1e-5)
    assert point.kkt(solution.multipliers).stationarity == pytest.approx(solution.kkt.stationarity, abs=1e-4)
    best = point.kkt(point.best_multipliers)
    worse = point.kkt(point.best_multipliers + 0.1)
    assert best.stationarity**2 + best.slackness**2 < worse.stationarity**2 + worse.slackness**2
