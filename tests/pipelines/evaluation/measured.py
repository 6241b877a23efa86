"""Made-up measurements of several models, and the certificate that goes with them."""

from typing import Any

from idbpd.mtl import Kind, TaskQuality
from idbpd.pipelines.evaluation.tables import CONSTANT, OWN

KINDS: dict[str, Kind] = {"income": "binary", "hours": "number", "topics": "labels"}
CERTIFICATE: dict[str, Any] = {
    "status": "CONVERGED",
    "stationarity": 9.9e-4,
    "infeasibility": 0.0,
    "slackness": 3.7e-8,
    "tasks": {
        "hours": {"threshold": 0.7, "constraint": -0.1, "multiplier": 0.3},
        "topics": {"threshold": 0.5, "constraint": 0.0, "multiplier": 1.0},
    },
    "held_out": {
        "verdict": "BROKEN",
        "holds": False,
        "tasks": {
            "hours": {
                "upper_bound": 0.82,
                "reference": 0.7,
                "verdict": "BROKEN",
                "holds": False,
                "rows": 100,
                "rows_needed": None,
                "measured": None,
            },
            "topics": {
                "upper_bound": 0.49,
                "reference": 0.5,
                "verdict": "HOLDS",
                "holds": True,
                "rows": 100,
                "rows_needed": None,
                "measured": None,
            },
        },
    },
}
WITHOUT_TEST = {**CERTIFICATE, "held_out": None}
METRICS: dict[Kind, dict[str, float]] = {
    "binary": {"accuracy": 0.86, "roc_auc": 0.9, "brier": 0.1},
    "number": {"mae": 2.3149, "rmse": 3.0, "r2": 0.4},
    "labels": {"accuracy": 0.8, "roc_auc": float("nan")},
}


def quality(task: str, worst: float, **metrics: float) -> TaskQuality:
    """The samples differ, but all models find the same ones hard: every difference between models is sure."""
    kind = KINDS[task]
    values = {**METRICS[kind], **metrics}
    spreads = {name: [value - 0.1, value + 0.1] for name, value in {**values, "worst_case_loss": worst}.items()}
    return TaskQuality(kind, worst / 2, worst, 2 * worst, worst, values, {}, spreads)


def measured() -> dict[str, dict[str, dict[str, TaskQuality]]]:
    """Five models; each task alone has no single model, and so not all tasks."""
    own = {
        "train": {"income": quality("income", 0.5), "hours": quality("hours", 0.6), "topics": quality("topics", 0.5)},
        "test": {"income": quality("income", 0.6), "hours": quality("hours", 0.8), "topics": quality("topics", 0.49)},
    }
    equal = {
        "train": {"income": quality("income", 0.7), "hours": quality("hours", 0.9), "topics": quality("topics", 0.4)},
        "test": {
            "income": quality("income", 0.7, accuracy=0.871, roc_auc=0.9002),
            "hours": quality("hours", 0.9, mae=2.5, r2=0.3),
            "topics": quality("topics", 0.48, accuracy=0.7),
        },
    }
    alone = {"train": {"hours": quality("hours", 0.55)}, "test": {"hours": quality("hours", 0.75, mae=2.1, r2=0.5)}}
    guess = {
        part: {
            "income": quality("income", 0.69, accuracy=0.99),
            "hours": quality("hours", 0.8, mae=0.1),
            "topics": quality("topics", 0.6),
        }
        for part in ("train", "test")
    }
    return {OWN: own, "no limits": own, "equal weights": equal, "each alone": alone, CONSTANT: guess}
