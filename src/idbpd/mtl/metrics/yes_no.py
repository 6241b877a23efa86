"""Measures of questions that are answered with yes or no, each on its own."""

import torch
from torch import Tensor

from idbpd.mtl.metrics.answered import Answered
from idbpd.mtl.metrics.macro import ranking_metrics


def says_yes(answers: Tensor) -> Tensor:
    """Which answers are yes: the probability of it is above one half."""
    return answers > 0.5


def measure_binary(answered: Answered) -> dict[str, float]:
    """The measures of one question; the probability is that of yes.

    Recall is the share of the true yes that are found, precision the share of the said yes that are true, and
    specificity the share of the true no that are found; each is not defined where there is none.
    """
    known, right = known_and_right(answered)
    positive, yes = answered.truths > 0, says_yes(answered.answers)
    return {
        **_measure_questions(answered),
        "recall": right[known & positive].double().mean().item(),
        "precision": right[known & yes].double().mean().item(),
        "specificity": right[known & ~positive].double().mean().item(),
    }


def _measure_questions(answered: Answered) -> dict[str, float]:
    known = ~answered.truths.isnan()
    return {
        "accuracy": share_of_right_answers(answered),
        **ranking_metrics(answered.answers, answered.truths),
        "log_loss": _log_loss(answered, known),
        "brier": (answered.answers.double()[known] - answered.truths[known]).square_().mean().item(),
    }


def share_of_right_answers(answered: Answered) -> float:
    """Of all questions with a known answer."""
    known, right = known_and_right(answered)
    return right[known].double().mean().item()


def _log_loss(answered: Answered, known: Tensor) -> float:
    chances, truths = answered.probabilities[known], answered.truths[known]
    return -torch.where(truths > 0, chances, 1 - chances).log_().mean().item()


def measure_labels(answered: Answered) -> dict[str, float]:
    """The same over all questions with a known answer, and how often all known answers of a sample are right.

    ROC AUC and average precision are means over the labels that some samples have and others have not.
    """
    known, right = known_and_right(answered)
    return {**_measure_questions(answered), "exact_match": (right | ~known).all(dim=-1).double().mean().item()}


def known_and_right(answered: Answered) -> tuple[Tensor, Tensor]:
    """Which truths are known, and which answers are right."""
    return ~answered.truths.isnan(), says_yes(answered.answers) == (answered.truths > 0)
