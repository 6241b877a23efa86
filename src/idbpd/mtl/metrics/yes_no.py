"""Measures of questions that are answered with yes or no, each on its own."""

import torch
from torch import Tensor

from idbpd.mtl.metrics.answered import Answered
from idbpd.mtl.metrics.macro import ranking_metrics


def says_yes(answers: Tensor) -> Tensor:
    """Which answers are yes: the probability of it is above one half."""
    return answers > 0.5


def measure_binary(answered: Answered) -> dict[str, float]:
    """The measures of one question; the probability is that of yes."""
    known, right = _known_and_right(answered)
    chances, truths = answered.probabilities[known], answered.truths[known]
    log_losses = -torch.where(truths > 0, chances, 1 - chances).log()
    return {
        "accuracy": right[known].double().mean().item(),
        **ranking_metrics(answered.answers, answered.truths),
        "log_loss": log_losses.mean().item(),
        "brier": (answered.answers.double()[known] - truths).square().mean().item(),
    }


def measure_labels(answered: Answered) -> dict[str, float]:
    """The same over all questions with a known answer, and how often all known answers of a sample are right.

    ROC AUC and average precision are means over the labels that some samples have and others have not.
    """
    known, right = _known_and_right(answered)
    return {**measure_binary(answered), "exact_match": (right | ~known).all(dim=-1).double().mean().item()}


def _known_and_right(answered: Answered) -> tuple[Tensor, Tensor]:
    return ~answered.truths.isnan(), says_yes(answered.answers) == (answered.truths > 0)
