"""Which weight decays of a grid are tried, and which is chosen."""

import math

import pytest

from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import choose, choose_for_training, explore


def _candidate(weight_decay: float, *losses: float) -> Candidate:
    names = ("first", "second")[: len(losses)]
    return Candidate(weight_decay, dict(zip(names, losses, strict=True)), {}, {"first": 2.0, "second": 0.5})


def test_tasks_count_the_same_whatever_the_size_of_their_losses() -> None:
    assert _candidate(0.1, 1.0, 0.25).score == pytest.approx(0.5)
    good_at_the_large, good_at_both = _candidate(0.0, 0.8, 0.5), _candidate(0.1, 1.0, 0.25)
    assert choose([good_at_the_large, good_at_both]) is good_at_both


def test_tasks_count_in_the_score_as_much_as_they_are_said_to() -> None:
    at_first, at_second = _candidate(0.0, 0.8, 0.5), _candidate(0.1, 1.0, 0.25)
    counts = {"first": 1.0, "second": 0.1}
    assert at_first._replace(counts=counts).score == pytest.approx((0.4 + 0.1) / 1.1)
    assert choose([one._replace(counts=counts) for one in (at_first, at_second)]).weight_decay == 0.0
    noisy = {"first": [0.0, 0.0], "second": [-1.0, 1.0]}  # all chance is in the second task
    other = at_second._replace(pseudo_values={"first": [0.0, 0.0], "second": [0.0, 0.0]})
    errors = [at_first._replace(counts=at, pseudo_values=noisy).score_error(other) for at in ({}, counts)]
    assert errors[0] > 0
    assert errors[1] == pytest.approx(errors[0] * 2 * 0.1 / 1.1)


def test_of_equally_good_numbers_the_largest_is_chosen() -> None:
    candidates = [_candidate(at, loss) for at, loss in ((0.0, 1.5), (0.01, 1.0), (0.1, 1.004), (1.0, 1.2))]
    assert choose(candidates).weight_decay == 0.1
    assert choose(candidates[::-1]).weight_decay == 0.1


def test_of_numbers_that_only_chance_tells_apart_the_largest_is_chosen() -> None:
    # Both have the same mean difference of 0.1; only in the second case do all samples agree on it.
    small = _candidate(0.01, 1.0)._replace(pseudo_values={"first": [0.0, 2.0, 0.0, 2.0]})
    by_chance = _candidate(0.1, 1.1)._replace(pseudo_values={"first": [2.1, 0.1, 2.1, 0.1]})
    for_sure = _candidate(0.1, 1.1)._replace(pseudo_values={"first": [0.1, 2.1, 0.1, 2.1]})
    assert choose([small, by_chance]) is by_chance
    assert choose([small, for_sure]) is small


def test_what_is_better_only_by_chance_does_not_end_a_search() -> None:
    # A search goes on to less decay as long as the score falls, however little is known of it.
    noisy = {"first": [-30.0, 30.0]}
    losses = {0.0: 1.3, 0.001: 1.1, 0.01: 1.2, 0.1: 1.4}
    found = explore(list(losses), lambda n: _candidate(n, losses[n])._replace(pseudo_values=noisy), first=0.01)
    assert [candidate.weight_decay for candidate in found] == [0.0, 0.001, 0.01, 0.1]


def test_a_loss_that_is_not_a_number_is_never_chosen() -> None:
    known = _candidate(0.0, 1.9)
    assert choose([_candidate(1.0, math.nan), known]) is known
    assert choose([_candidate(1.0, math.inf), known]) is known
    assert choose([_candidate(0.0, math.nan), _candidate(1.0, math.nan)]).weight_decay == 1.0


@pytest.mark.parametrize(
    ("best", "tried"),
    [
        (0.1, [0.01, 0.1, 1.0]),  # first up, then down, each until it gets worse
        (0.01, [0.001, 0.01, 0.1, 1.0]),
        (0.0, [0.0, 0.001, 0.01, 0.1, 1.0]),
        (1.0, [0.1, 1.0, 10.0]),  # where up is better, down is not tried
        (10.0, [0.1, 1.0, 10.0]),
    ],
)
def test_a_grid_is_tried_from_its_middle_as_long_as_it_gets_better(best: float, tried: list[float]) -> None:
    grid = [0.0, 0.001, 0.01, 0.1, 1.0, 10.0]

    def attempt(weight_decay: float) -> Candidate:
        return _candidate(weight_decay, 1 + abs(grid.index(weight_decay) - grid.index(best)) / 10)

    found = explore([*grid, 0.1], attempt)
    assert [candidate.weight_decay for candidate in found] == tried
    assert choose(found).weight_decay == best


def test_a_search_can_begin_elsewhere() -> None:
    losses = {0.0: 1.3, 0.001: 1.2, 0.01: 1.1, 0.1: 1.4}
    found = explore(list(losses), lambda number: _candidate(number, losses[number]), first=0.001)
    assert [candidate.weight_decay for candidate in found] == [0.001, 0.01, 0.1]


def test_more_decay_is_tried_until_something_is_better_than_a_guess() -> None:
    losses = {0.0: 2.6, 0.01: 2.4, 0.1: 2.5, 1.0: 2.3, 10.0: 1.99}  # a guess has 2
    found = explore(list(losses), lambda number: _candidate(number, losses[number]), first=0.01)
    assert choose(found).weight_decay == 10.0


def test_less_decay_is_tried_while_models_say_no_more_than_a_guess() -> None:
    # Every decay from 0.1 on leaves a guess of 2: a search that begins there has no slope to follow.
    losses = {0.0: 2.4, 0.001: 1.5, 0.01: 1.2, 0.1: 1.999, 1.0: 2.0, 10.0: 2.0}
    found = explore(list(losses), lambda number: _candidate(number, losses[number]), first=1.0)
    assert choose(found).weight_decay == 0.01
    assert [candidate.weight_decay for candidate in found] == [0.001, 0.01, 0.1, 1.0, 10.0]


def test_less_decay_is_not_tried_where_it_learns_noise() -> None:
    losses = {0.0: 3.0, 0.001: 2.6, 0.01: 2.2, 0.1: 2.0, 1.0: 2.0}
    found = explore(list(losses), lambda number: _candidate(number, losses[number]), first=0.1)
    assert choose(found).weight_decay == 1.0
    assert [candidate.weight_decay for candidate in found] == [0.01, 0.1, 1.0]


def test_a_task_that_can_be_learnt_alone_counts_as_a_guess_where_it_is_worse() -> None:
    # The second task learns noise with any decay under which the first one learns; a guess has 2 and 0.5.
    learnt, guessed = _candidate(0.01, 0.8, 0.9), _candidate(0.3, 1.8, 0.5)
    assert choose_for_training([learnt, guessed], {"second"}) is learnt
    assert choose_for_training([learnt, guessed], set()) is guessed
    unknown = _candidate(0.3, 0.8, math.nan)
    assert choose_for_training([learnt, unknown], {"second"}) is learnt


def test_chance_in_what_counts_as_a_guess_does_not_count() -> None:
    small, large = _candidate(0.01, 0.8, 0.9), _candidate(0.1, 1.0, 0.8)
    noisy = [
        one._replace(pseudo_values={"first": [0.0, 0.0], "second": [-at, at]}) for at, one in ((0, small), (9, large))
    ]
    assert choose_for_training(noisy, {"second"}) is noisy[0]
    assert choose_for_training(noisy, set()) is noisy[1]


def test_chance_in_a_guess_does_not_count_against_a_model_that_counts_as_one() -> None:
    # Only the smaller decay is worse than a guess in the second task, and only the larger one's chance is left.
    small, large = _candidate(0.01, 0.8, 0.9), _candidate(0.1, 1.4, 0.49)
    noisy = [one._replace(pseudo_values={"first": [0.0, 0.0], "second": [-9.0, 9.0]}) for one in (small, large)]
    assert choose_for_training(noisy, {"second"}) is noisy[0]
