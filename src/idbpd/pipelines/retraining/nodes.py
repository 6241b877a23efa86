"""Measure the model in use on this run's test part, judge the new one, and conclude what the registry needs."""

from typing import Any

import pandas as pd
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.limits.calibration import weights_alone
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import ModelParameters, ProblemParameters
from idbpd.experiment.problem import criteria_of
from idbpd.experiment.splitting.row_marks import seen_rows
from idbpd.mtl import MultiTaskData, sample_losses
from idbpd.pipelines.retraining.comparison import Comparison, against, broken_limits
from idbpd.pipelines.retraining.earlier_version import Champion, ask
from idbpd.pipelines.retraining.gates import GATES, Evidence, is_yardstick
from idbpd.pipelines.retraining.parameters import RetrainParameters


def mark_rows(table: TaskTable, rows: dict[str, Tensor]) -> dict[str, Tensor]:
    """Marks of the rows that the new model is trained on: later models are compared with it on other rows."""
    return seen_rows(table, rows["train"].numpy())


def measure_champion(
    champion: Champion | None,
    table: TaskTable,
    train: MultiTaskData,
    test: MultiTaskData,
    rows: dict[str, Tensor],
    weights: dict[str, Tensor],
    single_task_weights: dict[str, Tensor],
    certificate: dict[str, Any],
    model: ModelParameters,
    problem: ProblemParameters,
) -> Comparison:
    """The model in use, and the yardstick, on the same test samples as the new model."""
    if champion is None:
        return Comparison()
    criteria = criteria_of(problem)

    def losses(of: dict[str, Tensor]) -> dict[str, Tensor]:
        return sample_losses(trained_network(model, train, of), test, criteria)

    new, asked = losses(weights), ask(champion, table, rows["test"])
    compared = against(asked, new, test, criteria)
    if compared.paired is None:
        return Comparison(compared)
    yardstick = champion.yardstick
    measured_by = None if yardstick is None else against(ask(yardstick, table, rows["test"]), new, test, criteria)
    return Comparison(
        compared,
        measured_by if measured_by is not None and measured_by.paired is not None else None,
        broken_limits(
            asked,
            lambda task: losses(weights_alone(single_task_weights, task))[task],
            certificate["held_out"]["tasks"],
            test,
            criteria,
        ),
    )


def judge(
    certificate: dict[str, Any],
    quality: dict[str, float],
    comparison_with_champion: Comparison,
    test: MultiTaskData,
    retrain: RetrainParameters,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Whether the new model may replace the one in use, and the table of all gates.

    ``why`` are ends of sentences that begin with the new model: what it failed, or how it compares with the champion.
    ``yardstick`` is the version that later models are measured by once this one is promoted; None: this one.
    """
    priority = test.priority.name
    held_out = {name: record["worst_case_loss"] for name, record in certificate["held_out"]["tasks"].items()}
    held_out[priority] = quality[f"test_{priority}_worst_case_loss"]
    evidence = Evidence(certificate, quality, held_out, comparison_with_champion, priority)
    by_gate = [(gate, gate.check(evidence, retrain)) for gate in GATES]
    results = [result for _, found in by_gate for result in found]
    failed = [result.note for result in results if not result.passed]
    champion, measured_by = comparison_with_champion.champion, comparison_with_champion.measured_by
    verdict = {
        "passed": not failed,
        "champion": None if champion is None else champion.version,
        "gates": [result._asdict() for result in results],
        "why": failed or [result.note for gate, found in by_gate if gate.is_comparison for result in found],
        "yardstick": None if measured_by is None or is_yardstick(evidence, retrain) else measured_by.version,
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
