"""Settle the weight decay before anything is calibrated with it."""

import logging
import time
from typing import Any

from idbpd.datasets.table import MultiLabelTable
from idbpd.mtl import MultiTaskData
from idbpd.pipelines.parameters import (
    CalibrationParameters,
    ComputeParameters,
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    ProblemSettings,
    Seed,
    SplitParameters,
    WeightDecaySearchParameters,
)
from idbpd.pipelines.splitting.label_split import split_labels
from idbpd.pipelines.splitting.nodes import make_parts
from idbpd.pipelines.splitting.row_split import split_rows
from idbpd.pipelines.weight_decay.search import choose, excess, try_each

logger = logging.getLogger(__name__)


def settle_weight_decay(
    table: MultiLabelTable,
    fingerprint: dict[str, str],
    problem: ProblemSettings,
    search: WeightDecaySearchParameters,
    split: SplitParameters,
    features: FeatureParameters,
    calibration: CalibrationParameters,
    model: ModelParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> tuple[ProblemParameters, dict[str, Any]]:
    """The problem with its weight decay as a number, and how that came about.

    ``auto`` sees the training part alone, and divides it once more, by the same rules, into samples to learn from and
    samples to validate on. Everything after this is made anew with all of the training part.
    """
    asked = problem.model_dump(by_alias=True)
    if not isinstance(problem.weight_decay, str):
        given = problem.weight_decay
        return problem.with_weight_decay(given), {"asked": asked, "weight_decay": given, "curve": []}
    begin = time.perf_counter()
    short = calibration.model_copy(update={"max_steps": search.max_steps})
    parts = _validation_parts(table, search, split, features)
    candidates = list(try_each(search.grid, parts, problem, short, model, compute, seed))
    chosen = choose(candidates, calibration.slack)
    logger.info(
        "weight decay %g chosen of %s on a validation part, %.1f s",
        chosen.weight_decay,
        ", ".join(f"{candidate.weight_decay:g}" for candidate in reversed(candidates)),
        time.perf_counter() - begin,
    )
    curve = [{**candidate._asdict(), "excess": excess(candidate, candidates)} for candidate in reversed(candidates)]
    choice = {
        "asked": asked,
        "weight_decay": chosen.weight_decay,
        "slack": calibration.slack,
        "validation_fraction": search.validation_fraction,
        **fingerprint,
        "curve": curve,
    }
    return problem.with_weight_decay(chosen.weight_decay), choice


def _validation_parts(
    table: MultiLabelTable, search: WeightDecaySearchParameters, split: SplitParameters, features: FeatureParameters
) -> tuple[MultiTaskData, MultiTaskData]:
    train_rows, _ = split_rows(table, split.test_fraction, split.seed)
    training_part = table.of_rows(train_rows)
    tasks = split_labels(training_part, split.by, split.tasks)
    rows = split_rows(training_part, search.validation_fraction, split.seed)
    fit, validation, _ = make_parts(training_part, tasks, rows, split, features)
    return fit, validation
