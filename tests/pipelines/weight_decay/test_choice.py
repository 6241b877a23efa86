"""Which weight decays of a grid are tried, and which is chosen."""

import math

import pytest

from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import choose, explore


def _candidate(weight_decay: float, *ratios: float) -> Candidate:
    names = ("second", "third")[: len(ratios)]
    losses = {name: 0.5 * ratio for name, ratio in zip(names, ratios, strict=True)}
    return Candidate(weight_decay, dict.fromkeys(names, 0.5), {"first": 9.0, **losses}, {}, dict.fromkeys(names, 9.0))


def _priority(candidate: Candidate, loss: float) -> Candidate:
    return candidate._replace(worst_case_losses={**candidate.worst_case_losses, "first": loss})


def test_among_candidates_that_keep_the_limits_the_best_for_the_priority_task_is_chosen() -> None:
    carried = [_candidate(weight_decay, 1.2, 1.0) for weight_decay in (1e-3, 1e-2, 1e-1, 1.0)]
    fits_noise, as_good, best, guesses = map(_priority, carried, (2.1, 1.009, 1.0, 1.1))
    broken = _priority(_candidate(0.0, 1.4, 1.0), 0.5)
    candidates = [broken, fits_noise, as_good, best, guesses]
    assert choose(candidates, 0.3) is as_good  # less than one per cent from the best, with less decay
    assert choose([broken, fits_noise, _priority(as_good, 1.02), best, guesses], 0.3) is best
    assert choose(candidates, 0.5) is broken
    assert choose(candidates[::-1], 0.3) is as_good


def test_among_equally_good_candidates_the_smallest_that_keeps_the_limits_is_chosen() -> None:
    candidates = [_candidate(0.0, 7.0), _candidate(1e-3, 1.4), _candidate(1e-2, 1.2), _candidate(1e-1, 0.9)]
    assert choose(candidates, 0.3).weight_decay == 1e-2
    assert choose(candidates, 0.5).weight_decay == 1e-3
    assert choose(candidates[:2], 0.3).weight_decay == 1e-3  # none is good: the nearest


def _guessing(candidate: Candidate, *tasks: str) -> Candidate:
    return candidate._replace(guesses={**candidate.guesses, **dict.fromkeys(tasks, 0.4)})


def test_a_limit_that_a_guess_keeps_does_not_count() -> None:
    candidates = [_candidate(0.0, 7.0), _candidate(1e-3, 1.4)]
    guesses = _priority(_guessing(_candidate(30.0, 0.9), "second"), 1.0)
    assert choose([*candidates, guesses], 0.3).weight_decay == 1e-3
    assert choose([guesses, _priority(guesses, 2.0)._replace(weight_decay=1.0)], 0.3) is guesses  # nothing is learnt


def test_a_task_whose_limit_never_carries_over_does_not_spoil_the_choice_for_the_others() -> None:
    fits_noise, some, none = _candidate(1e-3, 1.9, 2.8), _candidate(1e-2, 1.2, 2.7), _candidate(1e-1, 1.0, 0.9)
    assert choose([fits_noise, some, _guessing(none, "third")], 0.3) is some
    assert choose([fits_noise, some, _guessing(none, "second")], 0.3) is some  # never both: the nearer one
    assert choose([fits_noise, some, none], 0.3) is none
    worse_than_a_guess = _candidate(1e-3, 1.9, 1.1)._replace(guesses={"second": 9.0, "third": 0.52})
    assert choose([worse_than_a_guess, some], 0.3) is some


def test_a_candidate_that_is_not_a_number_is_never_chosen() -> None:
    nan, zero = _candidate(1e-3, float("nan")), _candidate(1e-2, 1.0)._replace(thresholds={"second": 0.0})
    assert nan.ratios == zero.ratios == {"second": float("inf")}
    finite = _candidate(1e-1, 5.0)
    assert choose([nan, zero, finite], 0.3) is finite
    unknown = _priority(_candidate(1e-3, 1.0), float("nan"))
    assert choose([unknown, _candidate(1e-1, 1.0)], 0.3).weight_decay == 1e-1
    assert choose([unknown], 0.3) is unknown


@pytest.mark.parametrize(
    ("ratios", "losses", "expected"),
    [
        # One number is 2 ** place; the middle of seven has place 3.
        ((9, 9, 1.4, 1.2, 1.1, 1, 1), (1, 1, 1, 1, 1.1, 1.2, 1.3), [2, 3, 4]),  # limits cease below the middle
        ((9, 1, 1, 1, 1, 1, 1), (3, 2, 1, 1.1, 1.2, 1.3, 1.4), [1, 2, 3]),  # the best is below it
        ((9, 9, 9, 9, 1.4, 1.2, 1), (9, 9, 9, 9, 4, 3, 2), [2, 3, 4, 5, 6]),  # the best is the largest
        ((9, 9, 9, 9, 1.2, 1.1, 1), (9, 9, 9, 9, 2, 3, 4), [2, 3, 4, 5]),  # no limit carries over in the middle
        ((9, 8, 7, 6, 5, 4, 3), (1, 1, 1, 1, 1, 1, 1), [2, 3, 4, 5, 6]),  # nor anywhere else
        ((9, 1.2, 2, 3, 4, 5, 6), (1, 1, 1, 1, 1, 1, 1), [0, 1, 2, 3]),  # a limit by hand that too much decay breaks
        ((9, 1.2, 1, None, None, None, None), (2, 1, 1, 1, 1, 1, 1), [0, 1, 2, 3]),  # a guess in the middle
        ((None,) * 7, (1,) * 7, [0, 1, 2, 3, 4, 5, 6]),  # a guess everywhere
    ],
)
def test_a_grid_is_tried_from_its_middle_while_it_can_improve(
    ratios: tuple[float | None, ...], losses: tuple[float, ...], expected: list[int]
) -> None:
    def attempt(number: float) -> Candidate:
        place = round(math.log2(number))
        ratio = ratios[place]
        candidate = _candidate(number, 0.9) if ratio is None else _candidate(number, ratio)
        return _priority(_guessing(candidate, "second") if ratio is None else candidate, losses[place])

    tried = explore([2.0**place for place in reversed(range(7))], attempt, 0.3)
    assert [round(math.log2(candidate.weight_decay)) for candidate in tried] == expected
    everything = [attempt(2.0**place) for place in range(7)]
    assert choose(tried, 0.3) == choose(everything, 0.3)
