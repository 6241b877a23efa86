"""What tracking costs: the history of 10 000 steps in the store, against the training that made it.

    python benchmarks/tracking_cost.py

Training is that of ``kedro run`` on the embedded data, measured over fewer steps. Tracking is what a run does with the
history afterwards: on disk first, then into an SQLite file in batches. The share is to stay under 3 %.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from idbpd.datasets import ComposedDigitsDataset
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    SplitParameters,
)
from idbpd.experiment.problem import Experiment
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.optim import IDBPD, solve
from idbpd.tracking.journal import Journal
from idbpd.tracking.logging import history
from idbpd.tracking.runs import EXECUTION_VARIABLE, track
from idbpd.tracking.store import URI_VARIABLE, open_store

STEPS = 10_000
MEASURED_STEPS = 400
METRICS = ("objective", "constraint", "multiplier", "stationarity", "infeasibility", "slackness")
RUN = {"dataset": "multi_digits", "method": "idbpd", "seed": 0}


def training_seconds() -> float:
    """Seconds per step of constrained training with the default parameters."""
    table = ComposedDigitsDataset(pairs=4000, seed=0).load()
    splitting = SplitParameters(test_fraction=0.2, seed=0)
    train, *_, fingerprint = split(table, Division(splitting, FeatureParameters(scaling="none")))
    model, problem = (
        ModelParameters(hidden=100),
        ProblemParameters.model_validate({"lambda": 0.1, "weight_decay": 1e-3}),
    )
    compute = ComputeParameters(device="cpu", dtype="float32")
    calibration = CalibrationParameters(slack=0.1, max_steps=200, tolerance=1e-3)
    experiment = Experiment(model, problem, compute, seed=0, fingerprint=fingerprint)
    threshold, start, _ = calibrate(train, calibration, experiment)
    built = experiment.build(train, train.priority.name, thresholds_of(threshold))
    begin = time.perf_counter()
    solution = solve(built.oracle, start, IDBPD(), max_steps=MEASURED_STEPS, tolerance=1e-12)
    return (time.perf_counter() - begin) / solution.steps


def tracking_seconds() -> float:
    """Seconds from the history in memory to the history in the store."""
    values = np.random.default_rng(0).random((STEPS, len(METRICS)))
    frame = pd.DataFrame(values, columns=list(METRICS)).assign(step=range(STEPS))
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(None, Path(folder) / "tracking", "cost")
        header = {"store": store.uri, "experiment": "cost", "artifacts": store.artifacts, "name": "cost", "started": 0}
        journal = Journal.begin(Path(folder) / "outbox", {**header, "tags": {}, "parameters": {}})
        os.environ |= {URI_VARIABLE: store.uri, EXECUTION_VARIABLE: str(journal.folder)}
        track(RUN, "open", {})
        begin = time.perf_counter()
        track(RUN, *history(frame))
        seconds = time.perf_counter() - begin
        journal.close()
    return seconds


if __name__ == "__main__":
    training = STEPS * training_seconds()
    tracking = statistics.median(tracking_seconds() for _ in range(3))
    print(f"training, {STEPS} steps: {training:.1f} s (from {MEASURED_STEPS} steps)")
    print(f"tracking, {STEPS} steps of {len(METRICS)} metrics: {tracking:.2f} s, {tracking / training:.1%} of training")
