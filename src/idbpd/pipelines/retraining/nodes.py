"""Measure the model in use on this run's test part, compare the new one with it, and decide."""

import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from idbpd.datasets.table import MultiLabelTable
from idbpd.experiment.parameters import ProblemParameters, RetrainParameters
from idbpd.mtl import MultiTaskData, worst_case
from idbpd.pipelines.retraining.gates import gates


class Champion(Protocol):
    """The model in use, wherever it is stored."""

    @property
    def version(self) -> int:
        """Its number."""

    @property
    def features(self) -> Sequence[str]:
        """The names of the features that it needs."""

    def probabilities(self, features: pd.DataFrame) -> pd.DataFrame:
        """A column ``task:label`` of probabilities for each label, for raw features."""


def measure_champion(
    champion: Champion | None,
    table: MultiLabelTable,
    test: MultiTaskData,
    scaling: dict[str, Tensor],
    problem: ProblemParameters,
) -> dict[str, Any]:
    """The worst-case loss of the priority task that the model in use has on the same samples as the new one.

    A model with other features or labels cannot be measured on these samples: then there is a reason, and no loss.
    """
    measured: dict[str, Any] = {"version": None, "priority_loss": None, "reason": None}
    if champion is None:
        return measured
    measured["version"] = champion.version
    known = set(table.feature_names)
    unknown = [name for name in champion.features if name not in known]
    if unknown:
        reason = f"version {champion.version} needs features that are gone: {', '.join(unknown[:5])}"
        return measured | {"reason": reason}
    raw = (test.features * scaling["scale"] + scaling["center"]).double().numpy()
    features = pd.DataFrame(raw, columns=list(table.feature_names))[list(champion.features)]
    task = test.priority
    said = champion.probabilities(features).filter(regex=f"^{re.escape(task.name)}:")
    if list(said.columns) != [f"{task.name}:{label}" for label in task.labels]:
        return measured | {"reason": f"version {champion.version} has other labels of the {task.name} task"}
    answer = said.to_numpy(np.float64, copy=True)
    # A probability that float32 rounds to zero would have an infinite loss.
    shares = torch.from_numpy(answer)[task.rows].clamp(min=torch.finfo(torch.float32).tiny)
    losses = -(task.targets * shares.log()).sum(dim=-1)
    return measured | {"priority_loss": worst_case(losses, problem.regularisation).value.item()}


def judge(
    certificate: dict[str, Any],
    quality: dict[str, float],
    champion_quality: dict[str, Any],
    test: MultiTaskData,
    retrain: RetrainParameters,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Whether the new model may replace the one in use, and the table of all gates."""
    priority = test.priority.name
    held_out = {name: record["worst_case_loss"] for name, record in certificate["held_out"]["tasks"].items()}
    held_out[priority] = quality[f"test_{priority}_worst_case_loss"]
    asked = gates(certificate, held_out, champion_quality, priority, retrain)
    verdict = {
        "passed": all(gate.passed for gate in asked),
        "champion": champion_quality["version"],
        "gates": [gate._asdict() for gate in asked],
    }
    table = pd.DataFrame(
        {
            "gate": [gate.gate.replace("_", " ") for gate in asked],
            "value": [_shown(gate.value) for gate in asked],
            "at most": [_shown(gate.limit) for gate in asked],
            "verdict": ["passed" if gate.passed else "FAILED" for gate in asked],
            "what": [gate.note for gate in asked],
        }
    )
    return verdict, table


def conclude(
    verdict: dict[str, Any],
    model: str,
    certificate: dict[str, Any],
    fingerprint: dict[str, str],
    program: dict[str, str],
) -> dict[str, Any]:
    """All that the registry stores about the new model."""
    return {
        "verdict": verdict,
        "model_id": model,
        "certificate": certificate,
        "fingerprints": {"data": fingerprint["data_sha256"], **program},
    }


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
