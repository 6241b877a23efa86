"""Settle the weight decay before anything is calibrated with it."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from idbpd.datasets.table import MultiLabelTable
from idbpd.errors import DataError
from idbpd.experiment.parameters import (
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
from idbpd.mtl import MultiTaskData
from idbpd.pipelines.calibration.nodes import GUESSING
from idbpd.pipelines.splitting.label_split import split_labels
from idbpd.pipelines.splitting.nodes import make_parts
from idbpd.pipelines.splitting.row_split import Part, split_rows
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import carried_by_any, choose
from idbpd.pipelines.weight_decay.kept import KeptCandidates
from idbpd.pipelines.weight_decay.search import search

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
    parts = validation_parts(table, rules, split, features)
    kept = KeptCandidates(weight_decay_cache)
    candidates = search(rules, parts, problem, short, model, compute, seed, kept)
    chosen = choose(candidates, rules.margin)
    logger.info(
        "weight decay %g: worst-case losses on a validation part: %s; %d numbers tried, %.1f s%s",
        chosen.weight_decay,
        _in_words(chosen),
        len(candidates),
        time.perf_counter() - begin,
        f" ({kept.found} of them kept from an earlier run: same data, model and seed)" if kept.found else "",
    )
    _warn(candidates, chosen, rules.margin)
    choice = {
        "asked": asked,
        "weight_decay": chosen.weight_decay,
        "margin": rules.margin,
        "validation_fraction": rules.validation_fraction,
        **fingerprint,
        "curve": [{**candidate._asdict(), "ratios": candidate.ratios} for candidate in candidates],
    }
    return problem.with_weight_decay(chosen.weight_decay), choice


def _in_words(candidate: Candidate) -> str:
    ratios = [f"{task} {ratio:.2f} times its limit" for task, ratio in candidate.ratios.items()]
    return ", ".join([f"{candidate.priority} {candidate.priority_loss:.4f}", *ratios])


def _warn(candidates: Sequence[Candidate], chosen: Candidate, margin: float) -> None:
    """Say what the chosen weight decay does not do."""
    judged = carried_by_any(candidates, margin)
    for task in chosen.thresholds:
        if task not in judged:
            logger.warning(
                "with no number of weight_decay_search.grid that was tried has the %s task a limit that holds on a "
                "validation part to within %g %%, and that means something because a guess is worse: %s",
                task,
                100 * margin,
                "it has no say in the choice" if judged else "the nearest is taken",
            )
    if not judged <= chosen.carried(margin):
        logger.warning(
            "with no number of weight_decay_search.grid that was tried do the limits of %s carry over together; the "
            "nearest is taken",
            " and ".join(sorted(judged)),
        )
    guess = chosen.guesses[chosen.priority]
    if chosen.priority_loss > GUESSING * guess:
        logger.warning(
            "the worst-case loss of the priority task on a validation part, %.4f, is not clearly below that of a "
            "uniform guess, %.4f: more samples or a larger problem.lambda may help",
            chosen.priority_loss,
            guess,
        )


def validation_parts(
    table: MultiLabelTable, rules: WeightDecaySearchParameters, split: SplitParameters, features: FeatureParameters
) -> tuple[MultiTaskData, MultiTaskData]:
    """The training part, divided once more: samples to learn from, and samples to validate on."""
    train_rows, _ = split_rows(table, split.test_fraction, split.seed)
    training_part = table.of_rows(train_rows)
    tasks = split_labels(training_part, split.by, split.tasks)
    part = Part("validation", "weight_decay_search.validation_fraction")
    try:
        rows = split_rows(training_part, rules.validation_fraction, split.seed, part)
        fit, validation, _ = make_parts(training_part, tasks, rows, split, features, part)
    except DataError as error:
        raise DataError(f"{error}; a number for problem.weight_decay needs no validation part") from error
    return fit, validation
