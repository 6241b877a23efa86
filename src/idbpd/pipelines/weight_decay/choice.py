"""The weight decay with which limits carry over to unseen data, and with which the priority task is best there.

Without decay a strong solver keeps any limit on the training data and none elsewhere; with too much of it the network
guesses, and the limit is one that guessing keeps. In between, the gap closes as the decay grows. Of the numbers at
which it is within a margin that the user states, and at which limits mean something, the one is looked for with which
the worst case of the priority task is least on samples that were not learnt from.
"""

from collections.abc import Callable, Sequence, Set

from idbpd.pipelines.weight_decay.candidate import Candidate

# Worst-case losses on a validation part that differ by a smaller share than this are as good as each other.
AS_GOOD = 0.01


def explore(grid: Sequence[float], attempt: Callable[[float], Candidate], margin: float) -> list[Candidate]:
    """Try a grid from its middle, first down and then up, each way for as long as it may still become better.

    More decay closes the gap to unseen data and leaves less to be learnt, so that both ways get worse beyond the best.
    """
    numbers = sorted(set(grid))
    middle = len(numbers) // 2
    tried = [attempt(numbers[middle])]
    for number in reversed(numbers[:middle]):
        if not _less_may_be_better(tried, margin):
            break
        tried.append(attempt(number))
    tried.sort(key=lambda candidate: candidate.weight_decay)
    for number in numbers[middle + 1 :]:
        if carried_by_any(tried, margin) and choose(tried, margin) is not tried[-1]:
            break
        tried.append(attempt(number))
    return tried


def _less_may_be_better(tried: Sequence[Candidate], margin: float) -> bool:
    """Whether a weight decay below the last, which is the least so far, is worth a try."""
    if choose(tried, margin) is tried[-1]:
        return True
    # What is hard to learn is learnt with less decay.
    return not carried_by_any(tried, margin) and tried[-1].learnt < set(tried[-1].thresholds)


def carried_by_any(candidates: Sequence[Candidate], margin: float) -> set[str]:
    """The constraint tasks that a weight decay can be chosen by: with one at least, their limits carry over."""
    return set[str]().union(*(candidate.carried(margin) for candidate in candidates))


def choose(candidates: Sequence[Candidate], margin: float) -> Candidate:
    """Of those with which the limits carry over, the one that is best for the priority task on the validation part.

    A limit that carries over with none of them has no say: it would only spoil the choice for the others. Where
    several candidates are as good, it is the least of them: its limits are the tightest. Where they carry over with one
    candidate each but never together, or none does, it is the one that comes nearest, of those with which most is
    learnt.
    """
    judged = carried_by_any(candidates, margin)
    good = [candidate for candidate in candidates if judged and judged <= candidate.carried(margin)]
    if not good and any(candidate.learnt for candidate in candidates):
        return min(candidates, key=lambda candidate: _distance(candidate, judged or set(candidate.thresholds)))
    good = good or list(candidates)  # a guess everywhere: the priority task alone decides
    allowed = (1 + AS_GOOD) * min(candidate.priority_loss for candidate in good)
    as_good = [candidate for candidate in good if candidate.priority_loss <= allowed]
    return min(as_good, key=lambda candidate: candidate.weight_decay)


def _distance(candidate: Candidate, tasks: Set[str]) -> tuple[int, float]:
    """How many of the tasks are not learnt, and how far the limits of the others are exceeded."""
    learnt = tasks & candidate.learnt
    return len(tasks) - len(learnt), max((candidate.ratios[task] for task in learnt), default=0.0)
