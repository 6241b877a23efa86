"""Settle the weight decay before anything is calibrated with it."""

import logging
import time
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError
from idbpd.experiment.content_store import ContentStore
from idbpd.experiment.parameters import CalibrationParameters, ProblemParameters
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import validation_parts
from idbpd.experiment.thresholds import GUESSING
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import carried_by_any, choose
from idbpd.pipelines.weight_decay.parameters import WeightDecaySearchParameters
from idbpd.pipelines.weight_decay.search import Parts, UnsettledExperiment, search

logger = logging.getLogger(__name__)

FRACTION = "weight_decay_search.validation_fraction"


def settle_weight_decay(
    table: TaskTable,
    rows: dict[str, Tensor],
    weight_decay_search: WeightDecaySearchParameters,
    division: Division,
    calibration: CalibrationParameters,
    unsettled: UnsettledExperiment,
    weight_decay_cache: ContentStore | None = None,
) -> tuple[ProblemParameters, dict[str, Any]]:
    """The problem with its weight decay as a number, and how that was chosen.

    ``auto`` sees the training part alone, and divides it once more, by the same rules, into samples to learn from and
    samples to validate on. It goes back to the table for that, and not to ``train``: ``train`` has no groups and no
    labels outside the tasks, by which rows are divided, and its features are scaled with the validation samples in
    view. All later stages use the whole training part again.
    """
    problem = unsettled.problem
    asked = problem.model_dump(by_alias=True)
    if not isinstance(problem.weight_decay, str):
        given = problem.weight_decay
        return problem.with_weight_decay(given), {"asked": asked, "weight_decay": given, "curve": []}
    begin = time.perf_counter()
    rules = weight_decay_search
    short = calibration.model_copy(update={"max_steps": min(rules.max_steps, calibration.max_steps)})
    parts = parts_to_search_on(table.of_rows(rows["train"].numpy()), rules, division)
    candidates, kept = search(rules, parts, unsettled, short, weight_decay_cache)
    chosen = choose(candidates, rules.margin)
    logger.info(
        "weight decay %g: worst-case losses on a validation part: %s; %d numbers tried, %.1f s%s",
        chosen.weight_decay,
        _in_words(chosen),
        len(candidates),
        time.perf_counter() - begin,
        f" ({kept} of them kept from an earlier run: same data, model and seed)" if kept else "",
    )
    _warn(candidates, chosen, rules.margin)
    choice = {
        "asked": asked,
        "weight_decay": chosen.weight_decay,
        "margin": rules.margin,
        "validation_fraction": rules.validation_fraction,
        **unsettled.fingerprint,
        "curve": [{**candidate._asdict(), "ratios": candidate.ratios} for candidate in candidates],
    }
    return problem.with_weight_decay(chosen.weight_decay), choice


def parts_to_search_on(training_part: TaskTable, rules: WeightDecaySearchParameters, division: Division) -> Parts:
    """The training part, divided into samples to learn from and samples to validate on."""
    try:
        made = validation_parts(training_part, rules.validation_fraction, division, FRACTION)
    except DataError as error:
        raise DataError(f"{error}; a number for problem.weight_decay needs no validation part") from error
    return Parts(made.train, made.held_out)


def _in_words(candidate: Candidate) -> str:
    ratios = [f"{task} {ratio:.2f} times its limit" for task, ratio in candidate.ratios.items()]
    return ", ".join([f"{candidate.priority} {candidate.priority_loss:.4f}", *ratios])


def _warn(candidates: Sequence[Candidate], chosen: Candidate, margin: float) -> None:
    """Say what the chosen weight decay does not achieve."""
    judged = carried_by_any(candidates, margin)
    for task in chosen.thresholds:
        if task not in judged:
            logger.warning(
                "no weight decay that was tried keeps the limit of the %s task on the validation part to within %g %% "
                "and better than a constant guess: %s; see weight_decay_search.grid",
                task,
                100 * margin,
                "the task has no say in the choice" if judged else "the nearest is taken",
            )
    if not judged <= chosen.carried(margin):
        logger.warning(
            "no weight decay that was tried keeps the limits of %s together on the validation part; the nearest is "
            "taken; see weight_decay_search.grid",
            " and ".join(sorted(judged)),
        )
    guess = chosen.guesses[chosen.priority]
    if chosen.priority_loss > GUESSING * guess:
        logger.warning(
            "the worst-case loss of the priority task on the validation part, %.4f, is not clearly below that of a "
            "constant guess, %.4f: more samples or a larger problem.lambda may help",
            chosen.priority_loss,
            guess,
        )
