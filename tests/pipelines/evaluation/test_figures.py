"""Histograms show something however losses are spread, and every loss has its unit."""

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from idbpd.pipelines.evaluation.figures import draw_kkt_curves, draw_losses_by_task
from idbpd.pipelines.evaluation.loss_bins import loss_bins

GENERATOR = np.random.default_rng(0)
SPREAD = np.exp(3 * GENERATOR.normal(size=500))
OUTLIER = np.append(GENERATOR.random(499), 1e4)


@pytest.mark.parametrize("losses", [SPREAD, OUTLIER, np.append(SPREAD, [0.0, 1e-300])], ids=["spread", "outlier", "0"])
def test_losses_over_decades_fill_many_bins(losses: NDArray[np.float64]) -> None:
    bins = loss_bins(losses)
    counts, _ = np.histogram(bins.placed(losses), bins.edges)
    assert bins.scale == "log"
    assert counts.sum() == len(losses)
    assert (counts > 0).sum() >= 10
    assert counts.max() < len(losses) / 2


@pytest.mark.parametrize(
    ("losses", "scale"),
    [
        (np.linspace(0.1, 2, 100), "linear"),
        (np.zeros(5), "linear"),
        (np.array([np.nan, np.inf, 0.5, 0.6]), "linear"),
        (np.array([0.0, 0.0, 0.0, 3.0]), "log"),
        (np.full(4, 1e-30), "linear"),
    ],
)
def test_every_finite_loss_has_a_bin(losses: NDArray[np.float64], scale: str) -> None:
    bins = loss_bins(losses)
    counts, _ = np.histogram(bins.placed(losses), bins.edges)
    assert bins.scale == scale
    assert (np.diff(bins.edges) > 0).all()
    assert counts.sum() == np.isfinite(losses).sum()


def test_a_histogram_shows_all_samples_of_both_parts_in_the_unit_of_the_loss() -> None:
    losses = {
        "train": {"hours": torch.from_numpy(SPREAD), "income": torch.from_numpy(OUTLIER[:499])},
        "test": {"hours": torch.from_numpy(SPREAD[:40]), "income": torch.from_numpy(OUTLIER[:30])},
    }
    worst = {part: {"hours": 9.0, "income": 0.8} for part in losses}
    units = {"hours": "variance of the target", "income": "nats"}
    figure = draw_losses_by_task(losses, worst, {"hours": 8.0}, units)
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert labels == ["loss of a sample [variance of the target]", "loss of a sample [nats]"]
    assert [axes.get_xscale() for axes in figure.axes] == ["log", "linear"]
    assert [axes.get_ylim()[0] for axes in figure.axes] == [pytest.approx(50 / 500), pytest.approx(50 / 499)]
    assert [len(axes.patches) for axes in figure.axes] == [2, 2]
    figure.canvas.draw()


def _curves(units: dict[str, str]) -> Figure:
    columns = {"stationarity": 1e-3, "infeasibility": 0.0, "slackness": 1e-8, "constraint": -0.1, "objective": 0.5}
    history = pd.DataFrame({"step": [0, 1], **{name: [value] * 2 for name, value in columns.items()}})
    clock = pd.DataFrame({"step": [0, 1], "seconds": [0.2, 0.5]})
    comparison = pd.DataFrame({"task": list(units), "loss_unit": list(units.values())})
    return draw_kkt_curves(history, clock, {"tasks": {"other": {"threshold": 0.7}}}, comparison)


def test_curves_of_one_unit_share_it_and_curves_of_several_say_their_own() -> None:
    same, mixed, unknown = (
        _curves({"first": "nats", "other": unit}).axes[2] for unit in ("nats", "variance of the target", "")
    )
    assert (same.get_ylabel(), mixed.get_ylabel(), unknown.get_ylabel()) == ("loss [nats]", "loss", "loss")
    assert [line.get_label() for line in same.get_lines()][:2] == ["objective f", "worst-case loss,\nother task"]
    assert [line.get_label() for line in mixed.get_lines()][:2] == [
        "objective f [nats]",
        "worst-case loss,\nother task [variance of the target]",
    ]


NEARLY_EQUAL = 0.6931 + 1e-4 * GENERATOR.normal(size=500)


def test_bars_are_seen_next_to_a_limit_that_is_far_above_all_losses() -> None:
    """As of a task that is learnt perfectly: its limit is a hundred times the largest loss."""
    losses = {part: {"easy": torch.tensor([6e-5, 7e-5, 9e-5])} for part in ("train", "test")}
    figure = draw_losses_by_task(
        losses, {"train": {"easy": 8e-5}, "test": {"easy": 8e-5}}, {"easy": 7e-3}, {"easy": ""}
    )
    (axes,) = figure.axes
    figure.canvas.draw()
    assert axes.get_xlim()[1] < 1e-4
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()][-1] == "threshold r = 0.007, far right"


@pytest.mark.parametrize(
    "losses", [NEARLY_EQUAL, np.full(30, 0.6931), np.full(3, -0.2)], ids=["nearly", "equal", "below"]
)
def test_losses_that_are_all_the_same_are_in_the_middle_of_the_axis(losses: NDArray[np.float64]) -> None:
    """From zero they would be a line at the right end, which looks like nothing."""
    bins = loss_bins(losses)
    counts, edges = np.histogram(bins.placed(losses), bins.edges)
    assert counts.sum() == len(losses)
    middle = (np.median(losses) - edges[0]) / (edges[-1] - edges[0])
    assert 0.3 < middle < 0.7
    if np.ptp(losses) > 0:
        assert (counts > 0).sum() > 10


def test_a_limit_that_is_near_is_on_the_axis_and_a_far_one_is_not() -> None:
    bins = loss_bins(NEARLY_EQUAL, [0.694, 0.75])
    assert 0.694 < bins.edges[-1] < 0.7


def test_few_samples_have_few_bins() -> None:
    assert len(loss_bins(np.linspace(0, 1, 20)).edges) == 13
    assert len(loss_bins(np.linspace(0, 1, 5000)).edges) == 51
