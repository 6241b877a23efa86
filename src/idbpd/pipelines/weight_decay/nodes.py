"""Settle the weight decay before anything is calibrated with it."""

import logging
import math
import time
from pathlib import Path
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
from idbpd.pipelines.weight_decay.kept import KeptCandidates
from idbpd.pipelines.weight_decay.search import choose, search

logger = logging.getLogger(__name__)


def settle_weight_decay(
    table: MultiLabelTable,
    fingerprint: dict[str, str],
    problem: ProblemSettings,
    weight_decay_search: WeightDecaySearchParameters,
    split: SplitParameters,
    features: FeatureParameters,
    calibration: CalibrationParameters,
    model: ModelParameters,
    compute: ComputeParameters,
    seed: Seed,
    weight_decay_cache: Path | None = None,
) -> tuple[ProblemParameters, dict[str, Any]]:
    """The problem with its weight decay as a number, and how that came about.

    ``auto`` sees the training part alone, and divides it once more, by the same rules, into samples to learn from and
    samples to validate on. Everything after this is made anew with all of the training part. Without the folder
    nothing is kept for another run.
    """
    asked = problem.model_dump(by_alias=True)
    if not isinstance(problem.weight_decay, str):
        given = problem.weight_decay
        return problem.with_weight_decay(given), {"asked": asked, "weight_decay": given, "curve": []}
    begin = time.perf_counter()
    rules = weight_decay_search
    short = calibration.model_copy(update={"max_steps": min(rules.max_steps, calibration.max_steps)})
    parts = _validation_parts(table, rules, split, features)
    kept = KeptCandidates(weight_decay_cache)
    candidates = search(rules, parts, problem, short, model, compute, seed, kept)
    chosen = choose(candidates, rules.margin)
    logger.info(
        "weight decay %g: on a validation part the worst-case loss is %.4f, and %.2f times the limit of a constraint "
        "task; %d numbers tried, %.1f s%s",
        chosen.weight_decay,
        chosen.priority_loss,
        chosen.ratio,
        len(candidates),
        time.perf_counter() - begin,
        f" ({kept.found} of them kept from an earlier run: same data, model and seed)" if kept.found else "",
    )
    if not chosen.learnt:
        logger.warning("with no number of weight_decay_search.grid is every constraint task better than a guess")
    elif not chosen.carries_over(rules.margin):
        logger.warning(
            "with no number of weight_decay_search.grid is that at most %g times the limit; this one is nearest",
            1 + rules.margin,
        )
    guess = math.log(len(parts[0].priority.labels))
    if chosen.priority_loss > guess:
        logger.warning(
            "on the validation part a uniform guess has a better worst case in the priority task, %.4f: more samples, "
            "a larger problem.lambda or more weight decay may help",
            guess,
        )
    choice = {
        "asked": asked,
        "weight_decay": chosen.weight_decay,
        "margin": rules.margin,
        "validation_fraction": rules.validation_fraction,
        **fingerprint,
        "curve": [{**candidate._asdict(), "ratio": candidate.ratio} for candidate in reversed(candidates)],
    }
    return problem.with_weight_decay(chosen.weight_decay), choice


def _validation_parts(
    table: MultiLabelTable, rules: WeightDecaySearchParameters, split: SplitParameters, features: FeatureParameters
) -> tuple[MultiTaskData, MultiTaskData]:
    train_rows, _ = split_rows(table, split.test_fraction, split.seed)
    training_part = table.of_rows(train_rows)
    tasks = split_labels(training_part, split.by, split.tasks)
    rows = split_rows(training_part, rules.validation_fraction, split.seed)
    fit, validation, _ = make_parts(training_part, tasks, rows, split, features)
    return fit, validation
