"""Choose the weight decay: limits must carry over to unseen data, and the priority task must be best there.

Without decay, a strong solver keeps any limit on the training data and none elsewhere. With too much, the network
guesses, and the limit is one that guessing keeps. In between, the gap to unseen data closes as the decay grows. Among
the numbers whose gap is within the user's margin, and whose limits mean more than a guess, the one with the least
worst-case loss of the priority task on the validation part is chosen.
"""

from collections.abc import Callable, Sequence, Set

from idbpd.pipelines.weight_decay.candidate import Candidate

# Worst-case losses on the validation part that differ by less than this share count as equal.
AS_GOOD = 0.01


def explore(grid: Sequence[float], attempt: Callable[[float], Candidate], margin: float) -> list[Candidate]:
    """Try a grid from its middle, first down and then up, each way until it cannot become better.

    More decay closes the gap to unseen data, but less is learnt. So results get worse on both sides of the best.
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
    """Whether a weight decay below the last one, the smallest so far, is worth a try."""
    if choose(tried, margin) is tried[-1]:
        return True
    # A task that is hard to learn needs less decay.
    return not carried_by_any(tried, margin) and tried[-1].learnt < set(tried[-1].thresholds)


def carried_by_any(candidates: Sequence[Candidate], margin: float) -> set[str]:
    """The constraint tasks whose limits carry over with at least one candidate: the choice is made by these."""
    return set[str]().union(*(candidate.carried(margin) for candidate in candidates))


def choose(candidates: Sequence[Candidate], margin: float) -> Candidate:
    """The best candidate for the priority task on the validation part, among those whose limits carry over.

    A limit that carries over with no candidate has no say: it would only spoil the choice for the others. Of equally
    good candidates the smallest weight decay is taken: its limits are the tightest. Where no candidate carries over all
    limits that count, it is the one that comes nearest, among those with which most tasks are learnt.
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
