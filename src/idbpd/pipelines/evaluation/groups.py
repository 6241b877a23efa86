"""The groups of a worst case over groups, one by one: whom the model serves, next to other models."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from torch import Tensor

from idbpd.experiment.limits.calibration import weights_alone
from idbpd.experiment.shown import name_of, written
from idbpd.mtl import HEADLINE, GroupQuality, measure_constant_by_group, measure_groups
from idbpd.pipelines.evaluation.compared import ALONE, EQUAL, Assessment
from idbpd.pipelines.evaluation.tables import CONSTANT, OWN

MODELS = (OWN, EQUAL, ALONE, CONSTANT)
KEYS = ("task", "group", "rows", "measure")
DIFFERENCE, ERROR = f"{OWN} - {EQUAL}: mean loss", f"{OWN} - {EQUAL}: standard error"
COLUMNS = [*KEYS, *(f"{model}: {what}" for what in ("mean loss", "measure") for model in MODELS), DIFFERENCE, ERROR]
WHAT = "task: group"
SHOWN = 5  # groups of a task in the summary of a run
LOSS = "mean_loss"


def compare_groups(
    weights: dict[str, Tensor],
    unconstrained_weights: dict[str, Tensor],
    equal_weights: dict[str, Tensor],
    single_task_weights: dict[str, Tensor],
    assessment: Assessment,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Loss and first measure of every model, group by group, and the worst groups as they are printed.

    The difference to equal weights has a standard error, from pairs of losses of the same samples: it says whether a
    group is served better, or whether that is chance. All is about the test part; where no data were held out, about
    the training data. Both tables are empty if no task has a worst case over groups.
    """
    train, data, criteria = assessment.train, assessment.parts[assessment.judged], assessment.criteria
    grouped = [task for task in data.tasks if task.groups is not None]
    if not grouped:
        return pd.DataFrame(columns=COLUMNS), pd.DataFrame(columns=[WHAT, "rows"])

    def measured(of: dict[str, Tensor]) -> dict[str, dict[str, GroupQuality]]:
        return measure_groups(assessment.network(of), data, criteria)

    priority = train.priority.name
    by_model = {OWN: measured(weights), EQUAL: measured(equal_weights)}
    by_model[ALONE] = {
        task.name: measured(
            unconstrained_weights if task.name == priority else weights_alone(single_task_weights, task.name)
        )[task.name]
        for task in grouped
    }
    by_model[CONSTANT] = measure_constant_by_group(train, data, criteria)
    rows = [
        _row(task.name, group, HEADLINE[task.meaning.kind][0], {name: by_model[name][task.name] for name in MODELS})
        for task in grouped
        for group in task.group_names
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table, pd.DataFrame(list(_worst(table)))


def _row(task: str, group: str, measure: str, found: Mapping[str, Mapping[str, GroupQuality]]) -> dict[str, Any]:
    rows: dict[str, Any] = {"task": task, "group": group, "rows": found[OWN][group].rows, "measure": measure}
    for model, groups in found.items():
        rows[f"{model}: mean loss"] = groups[group].mean_loss
        rows[f"{model}: measure"] = groups[group].metrics.get(measure, float("nan"))
    difference = found[OWN][group].losses - found[EQUAL][group].losses  # of the same samples
    rows[DIFFERENCE] = difference.mean().item()
    rows[ERROR] = difference.std().item() / math.sqrt(len(difference)) if len(difference) > 1 else float("nan")
    return rows


def _worst(table: pd.DataFrame) -> Iterator[dict[str, str]]:
    """The groups of each task with the largest losses; those without a sample have none."""
    for task, of_task in table.groupby("task", sort=False):
        worst = of_task[of_task["rows"] > 0].sort_values(f"{OWN}: mean loss", ascending=False, kind="stable")
        for row in worst.head(SHOWN).to_dict("records"):
            measure = row["measure"]
            yield {
                WHAT: f"{task}: {row['group']}",
                "rows": str(row["rows"]),
                **{model: written(LOSS, row[f"{model}: mean loss"]) for model in MODELS},
                **{
                    f"{name_of(measure)}, {model}": written(measure, row[f"{model}: measure"]) for model in (OWN, EQUAL)
                },
            }
