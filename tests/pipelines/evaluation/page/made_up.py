"""Made-up results of a run, as the report takes them."""

import copy
import math
from pathlib import Path
from typing import Any

import pandas as pd

from idbpd.experiment.records.node_warnings import NodeWarnings
from idbpd.pipelines.evaluation.groups import COLUMNS
from idbpd.pipelines.evaluation.page import write_report
from idbpd.pipelines.evaluation.verdicts import BETTER, GUESS

PRIORITY, LIMITED = "churn <first>", "spend"
RESIDUALS = {"stationarity": 1e-3, "infeasibility": 0.0, "slackness": 2e-8}
JUDGED: dict[str, Any] = {
    "worst_case_loss": 0.8,
    "upper_bound": 0.82,
    "reference": 0.7,
    "verdict": "BROKEN",
    "holds": False,
    "rows": 100,
    "rows_needed": None,
    "slack": 0.1,
    "alone": 0.64,
    "measured": None,
}
CERTIFICATE: dict[str, Any] = {
    **RESIDUALS,
    "status": "CONVERGED",
    "reason": "all KKT residuals are within the tolerance",
    "tasks": {LIMITED: {"threshold": 0.7, "constraint": -0.05, "multiplier": 0.2}},
    "protects": {PRIORITY: "whatever 80 % of the 400 samples counts: the mean loss", LIMITED: "the mean loss"},
    "held_out": {
        **{"confidence": 0.95, "verdict": "BROKEN", "holds": False, "tasks": {LIMITED: JUDGED}},
        "guesses": {PRIORITY: 1.1, LIMITED: 9.0},
    },
}
THRESHOLD: dict[str, Any] = {"tasks": {LIMITED: {"limit": None, "slack": 0.1, "least_room": 0.01, "threshold": 0.7}}}
OUTCOME: dict[str, Any] = {
    **{"method": "idbpd", "status": "CONVERGED", "reason": "", "steps": 2, "seconds": 0.5, "threads": 1},
    **{"device": "cpu", "data_sha256": "d" * 64, "split_sha256": "e" * 64, "made_with": {"seed": 0}},
}
COMPARISON = pd.DataFrame(
    [
        ("constrained", "train", LIMITED, "number", "variance of the target", 0.6, 2.1, math.nan),
        ("constrained", "test", LIMITED, "number", "variance of the target", 0.8, 2.3149, math.nan),
        ("each alone", "test", LIMITED, "number", "variance of the target", 0.64, 2.0, math.nan),
        ("constant guess", "test", LIMITED, "number", "variance of the target", 9.0, 7.0, math.nan),
        ("constrained", "train", PRIORITY, "binary", "nats", 0.5, math.nan, 0.9),
        ("constrained", "test", PRIORITY, "binary", "nats", 0.55, math.nan, 0.861),
        ("equal weights", "test", PRIORITY, "binary", "nats", 0.5, math.nan, 0.87),
    ],
    columns=["model", "part", "task", "kind", "loss_unit", "worst_case_loss", "mae", "accuracy"],
)
LABELS = pd.DataFrame(
    [("constrained", "test", PRIORITY, "<yes>", 40, 0.7, 0.8, 0.85)],
    columns=["model", "part", "task", "label", "samples", "mean_loss", "hit_rate", "average_precision"],
)
VERDICTS = pd.DataFrame(
    {"about": [GUESS, BETTER], "verdict": ["constrained is not clearly <better>", "equal weights is better in spend"]}
)
HISTORY = pd.DataFrame({"step": [0, 1, 2], "objective": [1.0, 0.6, 0.5], "constraint": [0.1, -0.1, -0.05], **RESIDUALS})
CLOCK = pd.DataFrame({"step": [0, 1, 2], "seconds": [0.1, 0.2, 0.5]})
HARDEST: dict[str, Any] = {
    **{"row": 17, "loss": 2.5, "weight": 1.25, "truth": "yes", "answer": "no (91%)", "group": None, "image": None},
    "columns": {"<script>alert(1)</script>": "3", "c" * 300: "y" * 50},
}
STUDIED: dict[str, Any] = {
    "samples": {"train": 400, "test": 100},
    "histogram": {
        **{"scale": "linear", "edges": [0.0, 1.0, 2.0], "limit": 0.7},
        "counts": {"train": [300, 100], "test": [99, 1]},
        "worst_case": {"train": 0.5, "test": 0.55},
    },
    "upper_bound": 0.6,
    "weighted": 100,
    "curve": [[0.0, 0.0], [20.0, 60.0], [100.0, 100.0]],
    "looked_at": {"by": "weight", "members": 20, "of": 100},
    "standing_out": [
        {
            **{"feature": "region=<west>", "column": "region", "is_share": True},
            "members": 0.5,
            "rest": 0.1,
            "difference": 1.2,
        }
    ],
    "groups": [{"group": "<west>", "samples": 29, "share": 0.29, "weight": 0.891, "mean_loss": 0.508}],
    "hardest": [HARDEST],
}
STUDY: dict[str, Any] = {
    **{"part": "test", "rows": {"train": 400, "test": 100}, "columns": 2, "content": "table"},
    "tasks": {PRIORITY: STUDIED, LIMITED: STUDIED},
}
GIVEN: dict[str, Any] = {"weight_decay": 0.001, "curve": []}
GROUP = ["churn <first>", "<old>, blue", 12, "accuracy", 0.5, 0.6, 0.7, 0.8, 0.91, 0.81, math.nan, 0.5, -0.1, 0.02]
PARAMETERS: dict[str, Any] = {
    "seed": 0,
    "training": {"tolerance": 1e-3},
    "model": {"options": {"api_key": "geheim-123"}},
}


def page(folder: Path, **changes: Any) -> str:
    """The report, with other inputs where a test says so."""
    inputs: dict[str, Any] = {
        "dataset": "customers",
        "certificate": CERTIFICATE,
        "threshold": THRESHOLD,
        "outcome": OUTCOME,
        "comparison": COMPARISON,
        "label_quality": LABELS,
        "group_quality": pd.DataFrame([GROUP], columns=COLUMNS),
        "verdicts": VERDICTS,
        "history": HISTORY,
        "clock": CLOCK,
        "weight_decay": GIVEN,
        "reserve": {"tasks": {LIMITED: 0.0}},
        "worst_case_study": STUDY,
        "node_warnings": NodeWarnings(folder / "warnings"),
        "parameters": PARAMETERS,
        "project_folder": folder,
    }
    return write_report(**{**inputs, **changes})


def judged(**changes: Any) -> dict[str, Any]:
    """The certificate with another verdict on the limit."""
    found = copy.deepcopy(CERTIFICATE)
    found["held_out"]["tasks"][LIMITED] |= changes
    found["held_out"]["verdict"] = found["held_out"]["tasks"][LIMITED]["verdict"]
    return found
