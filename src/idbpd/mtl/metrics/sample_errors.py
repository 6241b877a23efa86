"""Measures that people set limits in, each as the mean of an error per sample.

A bound of a measure on unseen data needs independent errors whose mean it is. An accuracy of 0.9 is a mean error of
0.1, and each error is 0 or 1. ROC AUC and average precision have no such form: they are about the order of samples.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from torch import Tensor

from idbpd.mtl.kinds import Kind
from idbpd.mtl.metrics.answered import Answered
from idbpd.mtl.metrics.yes_no import known_and_right, says_yes


class ErrorMeasure(NamedTuple):
    """A measure as a mean error: less is better, and the measure follows from it."""

    errors: Callable[[Answered], Tensor]  # one per sample that counts, float64
    is_share: bool  # the measure is the share of right answers: 1 - mean error
    is_root: bool = False  # the measure is the root of the mean error
    is_rate: bool = True  # each error is 0 or 1

    def measure(self, error: float) -> float:
        """The measure of a mean error."""
        if self.is_share:
            return max(0.0, 1 - error)
        return math.sqrt(error) if self.is_root else error

    def error(self, measure: float) -> float:
        """The mean error of a measure."""
        if self.is_share:
            return 1 - measure
        return measure**2 if self.is_root else measure


def _share(errors: Callable[[Answered], Tensor], *, is_rate: bool = True) -> ErrorMeasure:
    return ErrorMeasure(errors, is_share=True, is_rate=is_rate)


def _wrong_answers(answered: Answered) -> Tensor:
    """Yes or no: 1 where the answer is wrong."""
    known, right = known_and_right(answered)
    return (~right[known]).double()


def _missed_positives(answered: Answered) -> Tensor:
    """Of the samples that are positive: 1 where the answer is no."""
    known, right = known_and_right(answered)
    return (~right[known & (answered.truths > 0)]).double()


def _missed_negatives(answered: Answered) -> Tensor:
    """Of the samples that are not positive: 1 where the answer is yes."""
    known, right = known_and_right(answered)
    return (~right[known & (answered.truths == 0)]).double()


def _false_alarms(answered: Answered) -> Tensor:
    """Of the samples whose answer is yes: 1 where that is wrong."""
    known, right = known_and_right(answered)
    return (~right[known & says_yes(answered.answers)]).double()


def _wrong_classes(answered: Answered) -> Tensor:
    return (answered.answers.argmax(dim=-1) != answered.truths.argmax(dim=-1)).double()


def _wrong_labels(answered: Answered) -> Tensor:
    """Wrong answers of each sample, in units of the mean number of known labels: their mean is the share of all."""
    known, right = known_and_right(answered)
    return (known & ~right).sum(dim=-1).double() / known.sum(dim=-1).double().mean()


def _not_all_right(answered: Answered) -> Tensor:
    known, right = known_and_right(answered)
    return (~(right | ~known).all(dim=-1)).double()


def _missed_guesses(answered: Answered) -> Tensor:
    """Of the samples with a label: 1 where the first guess is none of theirs."""
    relevant = answered.truths > 0
    hits = relevant.gather(-1, answered.outputs.argmax(dim=-1, keepdim=True))[:, 0]
    return (~hits[relevant.any(dim=-1)]).double()


def _differences(answered: Answered) -> Tensor:
    """Of a number: the absolute errors, in its own unit."""
    known = ~answered.truths.isnan()
    return answered.scale * (answered.answers.double()[known] - answered.truths[known]).abs()


def _squares(answered: Answered) -> Tensor:
    return _differences(answered) ** 2


SAMPLE_ERRORS: Mapping[Kind, Mapping[str, ErrorMeasure]] = {
    "binary": {
        "accuracy": _share(_wrong_answers),
        "recall": _share(_missed_positives),
        "precision": _share(_false_alarms),
        "specificity": _share(_missed_negatives),
    },
    "classes": {"accuracy": _share(_wrong_classes)},
    "labels": {"accuracy": _share(_wrong_labels, is_rate=False), "exact_match": _share(_not_all_right)},
    "number": {
        "mae": ErrorMeasure(_differences, is_share=False, is_rate=False),
        "rmse": ErrorMeasure(_squares, is_share=False, is_root=True, is_rate=False),
    },
    "distribution": {"hit_rate": _share(_missed_guesses)},
}
