"""Measure the model in use on this run's test part, judge the new one, and conclude what the registry needs."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.parameters import ProblemParameters
from idbpd.experiment.problem import criteria_of
from idbpd.mtl import DISTRIBUTION, AnsweredTask, MultiTaskData
from idbpd.pipelines.retraining.gates import GATES, Evidence
from idbpd.pipelines.retraining.parameters import RetrainParameters


class Champion(Protocol):
    """The model in use, wherever it is kept."""

    @property
    def version(self) -> int:
        """Its number."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns of a table that it needs, by name."""

    @property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each of its tasks; where it is not known, a task is a distribution over labels."""

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Its answers for raw rows, in the columns that a served model answers with."""


def measure_champion(
    champion: Champion | None,
    table: TaskTable,
    test: MultiTaskData,
    rows: dict[str, Tensor],
    problem: ProblemParameters,
) -> dict[str, Any]:
    """The worst-case loss of the priority task that the model in use has on the same samples as the new one.

    A model of other columns, another kind of task or other labels cannot be measured on these samples. It then has a
    reason in place of a loss.
    """
    measured: dict[str, Any] = {"version": None, "priority_loss": None, "reason": None}
    if champion is None:
        return measured
    measured["version"] = champion.version
    known = set(table.feature_names)
    unknown = [name for name in champion.columns if name not in known]
    if unknown:
        reason = f"version {champion.version} needs features that are gone: {', '.join(unknown[:5])}"
        return measured | {"reason": reason}
    task, answered = test.priority, AnsweredTask.of(test.priority)
    kind = champion.kinds.get(task.name, DISTRIBUTION.kind)
    if kind != task.meaning.kind:
        reason = f"version {champion.version} answers to the {task.name} task as {kind}, not {task.meaning.kind}"
        return measured | {"reason": reason}
    said = champion.answers(table.frame(rows["test"].numpy()))
    own = [name for name in said.columns if name == task.name or name.startswith(f"{task.name}:")]
    if own != list(answered.columns):
        return measured | {"reason": f"version {champion.version} has other labels of the {task.name} task"}
    answers = torch.from_numpy(said[list(answered.output_columns)].to_numpy(np.float64, copy=True))
    if task.meaning.kind == "number":
        answers = (answers - task.meaning.center) / task.meaning.scale  # as the targets are
    criterion = criteria_of(problem)(task)
    losses = criterion.loss.values_of_answers(answers[task.rows], task.targets)
    return measured | {"priority_loss": criterion.worst(losses).value.item()}


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
    evidence = Evidence(certificate, quality, held_out, champion_quality, priority)
    results = [result for gate in GATES for result in gate.check(evidence, retrain)]
    verdict = {
        "passed": all(result.passed for result in results),
        "champion": champion_quality["version"],
        "gates": [result._asdict() for result in results],
    }
    table = pd.DataFrame(
        {
            "gate": [result.gate.replace("_", " ") for result in results],
            "value": [_shown(result.value) for result in results],
            "at most": [_shown(result.limit) for result in results],
            "verdict": ["passed" if result.passed else "FAILED" for result in results],
            "what": [result.note for result in results],
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
    """All that the registry needs to know of the new model."""
    return {
        "verdict": verdict,
        "model_id": model,
        "certificate": certificate,
        "fingerprints": {"data": fingerprint["data_sha256"], **program},
    }


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
