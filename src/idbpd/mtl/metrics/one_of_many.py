"""Measures of probabilities that sum to one over the outputs of a task."""

from idbpd.mtl.metrics.answered import Answered
from idbpd.mtl.metrics.macro import ranking_metrics
from idbpd.mtl.ranking import label_ranking_precision


def measure_classes(answered: Answered) -> dict[str, float]:
    """The measures of a task whose samples have exactly one class each."""
    return {"accuracy": share_of_right_classes(answered), **_of_probabilities(answered)}


def measure_distribution(answered: Answered) -> dict[str, float]:
    """The measures of a task whose samples have any number of labels, with equal shares.

    - ``hit_rate``: how often the first guess is a true label.
    - ``ranking_precision``: label-ranking average precision.

    A sample without any label has nothing to guess. It counts only where samples are ranked for one label.
    """
    relevant = answered.truths > 0
    labelled = relevant.any(dim=-1)
    return {
        "hit_rate": hit_rate(answered),
        "ranking_precision": label_ranking_precision(answered.outputs[labelled], relevant[labelled]).mean().item(),
        **_of_probabilities(answered),
    }


def share_of_right_classes(answered: Answered) -> float:
    """How often the most likely class is the true one."""
    right = answered.answers.argmax(dim=-1) == answered.truths.argmax(dim=-1)
    return right.double().mean().item()


def hit_rate(answered: Answered) -> float:
    """How often the first guess is a true label, of the samples with a label."""
    relevant = answered.truths > 0
    hits = relevant.gather(-1, answered.outputs.argmax(dim=-1, keepdim=True))
    return hits[relevant.any(dim=-1)].double().mean().item()


def _of_probabilities(answered: Answered) -> dict[str, float]:
    labelled = (answered.truths > 0).any(dim=-1)
    truths, answers = answered.truths[labelled], answered.answers.double()[labelled]
    return {
        **ranking_metrics(answered.answers, answered.truths),
        "log_loss": -(truths * answered.probabilities[labelled].log()).sum(dim=-1).mean().item(),
        "brier": (answers - truths).square().sum(dim=-1).mean().item(),
    }
