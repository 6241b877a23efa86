"""Choose the weight decay: all tasks together must be best on unseen data.

Without decay, a strong solver learns the noise of the training data. With too much, the network guesses. In between the
worst cases on the validation part are least.
"""

from collections.abc import Callable, Collection, Sequence

from idbpd.experiment.limits.thresholds import GUESSING
from idbpd.pipelines.weight_decay.candidate import Candidate

# Scores that differ by less than this share count as equal,
AS_GOOD = 0.005
# and those that differ by less than so many standard errors. On small validation parts the least score is often luck:
# without this, one of forty runs on small tables ended worse than a constant guess. With a whole standard error, models
# of learnable tasks get worse.
CAUTION = 0.5


def explore(
    grid: Sequence[float], attempt: Callable[[float], Candidate], first: float | None = None
) -> list[Candidate]:
    """Try a grid from ``first`` (None: its middle), first up and then down, each way until it gets worse.

    More decay closes the gap to unseen data, but less is learnt. So results get worse on both sides of the best. Where
    nothing has been better than a constant guess yet, more decay is tried all the same: it ends at such a guess.

    A decay that is too large for a task leaves nothing but such a guess, and so do its neighbours: all are as good. So
    less decay is tried as long as models say no more than a guess.
    """
    numbers = sorted(set(grid))
    middle = len(numbers) // 2 if first is None else numbers.index(first)
    tried = [attempt(numbers[middle])]
    for number in numbers[middle + 1 :]:
        best = least(tried)
        tried.append(attempt(number))
        if least(tried) is best and best.score < 1:
            break
    if least(tried) is not tried[0] and not _says_nothing(tried[0]):
        return tried  # the other way is worse
    for number in numbers[:middle][::-1]:
        best = least(tried)
        tried.append(attempt(number))
        if least(tried) is best and not _says_nothing(tried[-1]):
            break
    return sorted(tried)


def _says_nothing(candidate: Candidate) -> bool:
    """Whether it is as good as a constant guess in all tasks; one that learnt noise is worse."""
    return all(GUESSING <= ratio <= 1 + AS_GOOD for ratio in candidate.ratios.values())


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """Of the candidates that are as good as the one with the least score, the one with the largest decay."""
    best = least(candidates)
    return max(
        (one for one in candidates if one.score <= best.score + CAUTION * one.score_error(best)),
        key=lambda candidate: candidate.weight_decay,
        default=best,
    )


def choose_for_training(candidates: Sequence[Candidate], learnable: Collection[str]) -> Candidate:
    """The choice for all tasks together, of which some limited ones can be learnt alone (``learnable``).

    Such a task counts as a guess where it is worse than one. The search has no limits, and limited tasks have more
    weight in it than in training: there, a rare event learnt so much noise that the best decay was one with which the
    other tasks learnt nothing. A task that cannot be learnt counts in full: its limit is that of a guess, and no model
    that learns noise keeps it on unseen data.
    """
    chosen = choose([one.no_worse_than_guesses(learnable) for one in candidates])
    return next(one for one in candidates if one.weight_decay == chosen.weight_decay)


def least(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the least score; of equal ones the one with the largest decay, the simplest model."""
    score = min(candidate.score for candidate in candidates)
    equal = [candidate for candidate in candidates if candidate.score <= (1 + AS_GOOD) * score]
    return max(equal, key=lambda candidate: candidate.weight_decay)
