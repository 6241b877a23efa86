"""Settle the weight decay before anything is calibrated with it."""

import logging
import time
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError
from idbpd.experiment.limits.calibration import ALL_TASKS, joined_by_task
from idbpd.experiment.limits.thresholds import GUESSING
from idbpd.experiment.parameters import ProblemParameters, TrainingParameters, WeightDecaySearchParameters
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.validation import parts_to_choose_on
from idbpd.mtl import MultiTaskData
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import choose_for_training
from idbpd.pipelines.weight_decay.search import Search, SearchResult, UnsettledExperiment

logger = logging.getLogger(__name__)


def settle_weight_decay(
    table: TaskTable,
    rows: dict[str, Tensor],
    weight_decay_search: WeightDecaySearchParameters,
    division: Division,
    training: TrainingParameters,
    unsettled: UnsettledExperiment,
    weight_decay_cache: ContentStore | None = None,
    train: MultiTaskData | None = None,
) -> tuple[ProblemParameters, dict[str, Any], dict[str, Tensor]]:
    """The problem with its weight decay as a number, how that was chosen, and the weights of the best models.

    The weights are those of all tasks together (`ALL_TASKS`) and of each limited task alone, by ``<task>/<parameter>``.
    They have seen the part to learn from alone. Without a choice there are none.

    ``auto`` sees the training part alone, and divides it once more (`parts_to_choose_on`).
    """
    problem = unsettled.problem
    asked = problem.model_dump(by_alias=True)
    if not isinstance(problem.weight_decay, str):
        given = problem.weight_decay
        return problem.with_weight_decay(given), {"asked": asked, "weight_decay": given, "curve": []}, {}
    begin = time.perf_counter()
    rules = weight_decay_search
    try:
        parts = parts_to_choose_on(table, rows["train"].numpy(), rules, division, train)
    except DataError as error:
        raise DataError(f"{error}; a number for problem.weight_decay needs no validation part") from error
    search = Search(rules, parts, unsettled, training.tolerance, weight_decay_cache)
    together = search.of([task.name for task in parts.fit.tasks])
    by_task = {task.name: search.of([task.name], together) for task in parts.fit.limited}
    alone = {task: found.chosen for task, found in by_task.items()}
    learnable = {task for task, candidate in alone.items() if candidate.score < GUESSING}
    chosen = together.chosen_by(lambda candidates: choose_for_training(candidates, learnable))
    kept = together.kept + sum(found.kept for found in by_task.values())
    logger.info(
        "weight decay %g (%s): worst-case losses on a validation part as shares of a constant guess's: %s; "
        "%d models, %.1f s%s",
        chosen.weight_decay,
        ", ".join(f"{task} alone {candidate.weight_decay:g}" for task, candidate in alone.items()),
        _in_words(chosen),
        sum(found.made for found in (together, *by_task.values())),
        time.perf_counter() - begin,
        f" ({kept} of them kept from an earlier run: same data, model and seed)" if kept else "",
    )
    _warn(chosen, alone)
    numbers = {task: candidate.weight_decay for task, candidate in alone.items()}
    choice = {
        "asked": asked,
        "weight_decay": chosen.weight_decay,
        "alone": numbers,
        "validation_fraction": rules.validation_fraction,
        **unsettled.fingerprint,
        "curve": _curve(together),
        "curves_alone": {task: _curve(found) for task, found in by_task.items()},
    }
    weights = {
        ALL_TASKS: together.results[chosen.weight_decay].weights,
        **{task: found.chosen_weights for task, found in by_task.items()},
    }
    return problem.with_weight_decay(chosen.weight_decay, numbers), choice, joined_by_task(weights)


def _curve(found: SearchResult) -> list[dict[str, Any]]:
    return [{**candidate.measured, "ratios": candidate.ratios} for candidate in found.candidates]


def _in_words(candidate: Candidate) -> str:
    return ", ".join(f"{task} {ratio:.2f}" for task, ratio in candidate.ratios.items())


def _warn(chosen: Candidate, alone: Mapping[str, Candidate]) -> None:
    """Say which tasks are no better than a guess even with their best weight decay."""
    for task in chosen.ratios:
        best = alone.get(task, chosen)
        if best.ratios[task] > GUESSING:
            logger.warning(
                "the worst-case loss of the %s task on the validation part, %.4f, is not clearly below that of a "
                "constant guess, %.4f: more samples or features, or problem.worst_case=mean, may help",
                task,
                best.worst_case_losses[task],
                best.guesses[task],
            )
