"""Made-up tracked runs, whose numbers are known."""

import copy
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from idbpd.experiment.tracked.run import TrackedRun

PRIORITY, LIMITED = "churn <first>", "spend"
RESIDUALS = {"stationarity": 1e-3, "infeasibility": 0.0, "slackness": 2e-8}
SPREAD = np.random.default_rng(0).normal(size=20)


def made_up(
    run_id: str = "a" * 32,
    *,
    loss: float = 0.5,
    noise: float = 0.0,
    verdict: str = "HOLDS",
    samples: str = "same",
    criterion: str = "logistic; the worst 80 %",
    slack: float = 0.1,
    standing: bool = True,
    accuracy: float = 0.8,
    steps: int = 3,
    **details: Any,
) -> TrackedRun:
    """A run with the worst-case loss ``loss`` in the priority task; ``noise`` moves each twentieth of its samples."""
    judged = {
        **{"worst_case_loss": 0.6, "upper_bound": 0.65, "reference": 0.64 * (1 + slack), "verdict": verdict},
        **{"holds": True, "rows": 100, "rows_needed": None, "slack": slack, "alone": 0.64, "measured": None},
    }
    certificate = {
        **RESIDUALS,
        "status": "CONVERGED",
        "tasks": {LIMITED: {"threshold": 0.7, "constraint": -0.05, "multiplier": 0.2}},
        "protects": {PRIORITY: "the worst 80 %", LIMITED: "the mean loss"},
        "held_out": {"confidence": 0.95, "verdict": verdict, "holds": True, "tasks": {LIMITED: judged}},
    }
    spreads = {"worst_case_loss": (loss + noise * SPREAD).tolist(), "accuracy": (accuracy - noise * SPREAD).tolist()}
    stood = {"samples": 100, "samples_sha256": samples, "criterion": criterion, "upper_bound": loss + 0.1,
             "spreads": spreads}  # fmt: skip
    comparison = pd.DataFrame(
        [
            ("constrained", "test", LIMITED, "number", "variance of the target", 0.6, 2.3149, np.nan),
            ("constrained", "test", PRIORITY, "binary", "nats", loss, np.nan, accuracy),
            ("equal weights", "test", PRIORITY, "binary", "nats", 0.1, np.nan, 0.99),
        ],
        columns=["model", "part", "task", "kind", "loss_unit", "worst_case_loss", "mae", "accuracy"],
    )
    at = np.arange(steps)
    left = 1.0 / (1 + at)
    history = pd.DataFrame({"step": at, "objective": left, "constraint": 0.1 * left - 0.05, **RESIDUALS})
    history["stationarity"] = left**2
    values: dict[str, Any] = {
        "run_id": run_id,
        "name": "customers idbpd 0",
        "dataset": "customers",
        "started": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        "seconds": 12.0,
        "parameters": {"seed": 0, "training.tolerance": 0.001},
        "origin": {"data and split (SHA-256)": "e" * 64, "commit": "c" * 40, "command": "kedro run"},
        "packages": {"torch": "2.13.0"},
        "certificate": certificate,
        "quality": {f"test_{PRIORITY}_worst_case_loss": loss, f"test_{PRIORITY}_accuracy": accuracy,
                    f"test_{LIMITED}_worst_case_loss": 0.6},
        "outcome": {"status": "CONVERGED", "steps": steps - 1, "seconds": 0.5, "made_with": {}},
        "comparison": comparison,
        "history": history,
        "clock": pd.DataFrame({"step": at, "seconds": 0.1 * (1 + at)}),
        "standing": {"part": "test", "tasks": {PRIORITY: stood, LIMITED: copy.deepcopy(stood)}} if standing else None,
    }  # fmt: skip
    return TrackedRun(**{**values, **details})


class MadeUpStore:
    """A store that has what it is given, whatever is asked for."""

    def __init__(self, runs: Sequence[TrackedRun]) -> None:
        self.runs = list(runs)

    def by_id(self, run_ids: Sequence[str]) -> list[TrackedRun]:
        return self.runs

    def last_of(self, dataset: str, count: int) -> list[TrackedRun]:
        return self.runs[-count:]

    def versions_of(self, model: str, count: int) -> list[TrackedRun]:
        return self.runs[-count:]
