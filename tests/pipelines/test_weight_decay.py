"""The weight decay, as a number or as what unseen data speak for."""

import logging
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from idbpd.datasets.table import MultiLabelTable
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.parameters import (
    CalibrationParameters,
    ComputeParameters,
    FeatureParameters,
    ModelParameters,
    ProblemSettings,
    SplitParameters,
    WeightDecaySearchParameters,
)
from idbpd.pipelines.splitting.nodes import split
from idbpd.pipelines.splitting.row_split import split_rows
from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.choice import choose, explore
from idbpd.pipelines.weight_decay.figure import draw_weight_decay_curve
from idbpd.pipelines.weight_decay.nodes import _validation_parts, settle_weight_decay
from idbpd.validation import validated

SPLIT = SplitParameters(test_fraction=0.25, seed=0)
FEATURES = FeatureParameters()
CALIBRATION = CalibrationParameters(slack=0.1, max_steps=60, tolerance=1e-3)
MODEL = ModelParameters(hidden=8)
COMPUTE = ComputeParameters(device="cpu", dtype="float64")
FINGERPRINT = {"data_sha256": "d", "split_sha256": "s"}


def _search(grid: list[float]) -> WeightDecaySearchParameters:
    return WeightDecaySearchParameters(margin=0.3, grid=grid, validation_fraction=0.25, max_steps=60)


def _problem(weight_decay: float | str) -> ProblemSettings:
    return ProblemSettings.model_validate({"lambda": 0.5, "weight_decay": weight_decay})


def _table() -> MultiLabelTable:
    """Four labels, two per task, that follow from two of six features; one sample of twenty has a wrong one."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(400, 6)).astype(np.float32)
    signs = (features[:, :2] > 0) ^ (generator.random((400, 2)) < 0.05)
    labels = np.stack([signs[:, 0], ~signs[:, 0], signs[:, 1], ~signs[:, 1]], axis=1).astype(np.int8)
    return MultiLabelTable(
        features, tuple(f"x{at}" for at in range(6)), labels, tuple("abcd"), groups=np.arange(400) // 8
    )


def _candidate(weight_decay: float, *ratios: float) -> Candidate:
    names = ("second", "third")[: len(ratios)]
    losses = {name: 0.5 * ratio for name, ratio in zip(names, ratios, strict=True)}
    return Candidate(weight_decay, dict.fromkeys(names, 0.5), {"first": 9.0, **losses}, {}, dict.fromkeys(names, 9.0))


def _priority(candidate: Candidate, loss: float) -> Candidate:
    return candidate._replace(worst_case_losses={**candidate.worst_case_losses, "first": loss})


def test_of_those_with_which_limits_carry_over_the_best_for_the_priority_task_is_chosen() -> None:
    carried = [_candidate(weight_decay, 1.2, 1.0) for weight_decay in (1e-3, 1e-2, 1e-1, 1.0)]
    fits_noise, as_good, best, guesses = map(_priority, carried, (2.1, 1.009, 1.0, 1.1))
    broken = _priority(_candidate(0.0, 1.4, 1.0), 0.5)
    candidates = [broken, fits_noise, as_good, best, guesses]
    assert choose(candidates, 0.3) is as_good  # less than one per cent from the best, with less decay
    assert choose([broken, fits_noise, _priority(as_good, 1.02), best, guesses], 0.3) is best
    assert choose(candidates, 0.5) is broken
    assert choose(candidates[::-1], 0.3) is as_good


def test_of_those_that_are_as_good_the_least_with_which_limits_carry_over_is_chosen() -> None:
    candidates = [_candidate(0.0, 7.0), _candidate(1e-3, 1.4), _candidate(1e-2, 1.2), _candidate(1e-1, 0.9)]
    assert choose(candidates, 0.3).weight_decay == 1e-2
    assert choose(candidates, 0.5).weight_decay == 1e-3
    assert choose(candidates[:2], 0.3).weight_decay == 1e-3  # none is good: the nearest


def _guessing(candidate: Candidate, *tasks: str) -> Candidate:
    return candidate._replace(guesses={**candidate.guesses, **dict.fromkeys(tasks, 0.4)})


def test_a_limit_that_a_guess_keeps_counts_for_nothing() -> None:
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


def test_what_is_not_a_number_is_never_chosen() -> None:
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
def test_a_grid_is_tried_from_its_middle_for_as_long_as_it_may_become_better(
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


def test_a_given_number_is_taken_as_it_is() -> None:
    arguments = (SPLIT, FEATURES, CALIBRATION, MODEL, COMPUTE, 0)
    problem, choice = settle_weight_decay(_table(), FINGERPRINT, _problem(3e-3), _search([1.0]), *arguments)
    assert (problem.weight_decay, problem.regularisation) == (3e-3, 0.5)
    asked = {"lambda": 0.5, "loss": "cross_entropy", "worst_case": "penalty", "weight_decay": 3e-3}
    assert choice == {"asked": asked, "weight_decay": 3e-3, "curve": []}
    assert "given" in draw_weight_decay_curve(choice).texts[0].get_text()


def test_auto_tries_what_is_beside_the_choice_and_keeps_it_for_the_next_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    grid = [0.0, 1e-2, 0.1, 30.0]
    arguments = (SPLIT, FEATURES, CALIBRATION, MODEL, COMPUTE, 0)
    problem, choice = settle_weight_decay(_table(), FINGERPRINT, _problem("auto"), _search(grid), *arguments, tmp_path)
    assert "kept from" not in caplog.text
    sorted(tmp_path.iterdir())[0].write_text("{")  # of the three that were tried
    settled = settle_weight_decay(_table(), FINGERPRINT, _problem("auto"), _search(grid), *arguments, tmp_path)
    assert settled == (problem, choice)
    assert "is damaged" in caplog.text
    assert "(2 of them kept from an earlier run: same data, model and seed)" in caplog.text
    assert problem.weight_decay == choice["weight_decay"] == 0.1
    noise_learnt, chosen, nothing_learnt = choice["curve"]  # with less decay than the first nothing was tried
    assert [point["weight_decay"] for point in choice["curve"]] == grid[1:]
    assert noise_learnt["ratios"]["constraint"] > 1.3 >= chosen["ratios"]["constraint"]
    # A guess is as good here as there, and so keeps any limit that it set itself.
    meant = [point["thresholds"]["constraint"] < point["guesses"]["constraint"] for point in choice["curve"]]
    assert meant == [True, True, False]
    assert nothing_learnt["ratios"]["constraint"] == pytest.approx(1 / 1.1, abs=1e-2)
    assert chosen["worst_case_losses"]["constraint"] < nothing_learnt["worst_case_losses"]["constraint"]
    assert choice["split_sha256"] == "s"
    drawn = [line for line in draw_weight_decay_curve(choice).axes[0].get_lines() if line.get_marker() == "o"]
    for line, task in zip(drawn, ("priority", "constraint"), strict=True):
        assert np.asarray(line.get_ydata()).tolist() == [point["worst_case_losses"][task] for point in choice["curve"]]


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_it_is_said_when_a_guess_would_be_better_on_unseen_data(
    weight_decay: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Without weight decay the noise in the labels is learnt; with some of it, what carries over."""
    arguments = (SPLIT, FEATURES, CALIBRATION, MODEL, COMPUTE, 0)
    settle_weight_decay(_table(), FINGERPRINT, _problem("auto"), _search([weight_decay]), *arguments)
    said = "is not clearly below that of a uniform guess, 0.6931" in caplog.text
    assert said == (weight_decay == 0)


def test_limits_that_are_set_by_hand_are_those_that_have_to_carry_over(caplog: pytest.LogCaptureFixture) -> None:
    by_hand = CALIBRATION.model_copy(update={"threshold": 0.2})
    arguments = (SPLIT, FEATURES, by_hand, MODEL, COMPUTE, 0)
    _, choice = settle_weight_decay(_table(), FINGERPRINT, _problem("auto"), _search([1e-2, 0.1]), *arguments)
    assert [point["thresholds"] for point in choice["curve"]] == [{"constraint": 0.2}] * 2
    assert "was tried has the constraint task a limit that holds on a validation part to within 30 %" in caplog.text
    assert "because a guess is worse: the nearest is taken" in caplog.text


def test_validation_sees_the_training_part_alone_and_keeps_groups_together() -> None:
    table = _table()
    train_rows, test_rows = split_rows(table, SPLIT.test_fraction, SPLIT.seed)
    fit, validation = _validation_parts(table, _search([0.0]), SPLIT, FEATURES)
    train, _, _, _ = split(table, SPLIT, FEATURES)
    number = {features.tobytes(): row for row, features in enumerate(table.dense_features(slice(None)))}

    def rows(data: object) -> set[int]:
        return {number[features.numpy().tobytes()] for features in data.features}  # type: ignore[attr-defined]

    assert rows(fit) | rows(validation) == rows(train) == set(train_rows)
    assert not rows(fit) & rows(validation)
    assert not (rows(fit) | rows(validation)) & set(test_rows)
    assert table.groups is not None
    assert not set(table.groups[list(rows(fit))]) & set(table.groups[list(rows(validation))])


def test_what_stands_in_the_way_of_a_validation_part_is_said_with_the_parameter_that_people_set() -> None:
    table = _table()
    two_groups = replace(table, groups=np.arange(400) // 200)
    message = r"200 samples with weight_decay_search.validation_fraction = 0.25: .*; a number for problem.weight_dec"
    with pytest.raises(DataError, match=message):
        _validation_parts(two_groups, _search([0.0]), SPLIT, FEATURES)
    rare = replace(table, groups=None, labels=table.labels * np.array([1, 1, 0, 0], dtype=np.int8))
    rare.labels[split_rows(rare, SPLIT.test_fraction, SPLIT.seed)[0][0], 2:] = 1
    with pytest.raises(
        DataError, match=r"no sample of the (training|validation) part .* another weight_decay_search.valid"
    ):
        _validation_parts(rare, _search([0.0]), SPLIT, FEATURES)


@pytest.mark.parametrize("value", [-1, "often", True, float("nan")])
def test_what_is_neither_a_number_nor_auto_is_refused(value: object) -> None:
    given = {"lambda": 0.1, "weight_decay": value}
    with pytest.raises(ConfigurationError, match=r"'problem.weight_decay' = .* is not valid: choose a number that is"):
        validated("problem", ProblemSettings, given)
