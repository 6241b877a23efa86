"""Curves, profiles, verdicts and the page, from cells whose numbers are known."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from idbpd.datasets import FiguresDataset
from idbpd.experiment.tracked.benchmark_results import BenchmarkCell
from idbpd.pipelines.report.claims import judged
from idbpd.pipelines.report.curves import curve
from idbpd.pipelines.report.figures import draw_figures
from idbpd.pipelines.report.html import write_html
from idbpd.pipelines.report.page import write_page
from idbpd.pipelines.report.parameters import ReportParameters
from idbpd.pipelines.report.profile import profiles
from idbpd.pipelines.report.rivals import standings
from idbpd.pipelines.report.tables import over_seeds, summarise

METHODS = ("idbpd", "idbpd_paper", "idbpd_theorem2", "cooper_adam", "discretization_cooper")
REPORT = ReportParameters(to="somewhere")
GDMA = ("gdma_rho1", "gdma_rho2", "gdma_rho5", "gdma_rho10")


def _cell(  # a run whose violation goes from 1 to ``violation`` and whose objective goes from 2 to ``objective``
    method: str,
    *,
    seed: int = 0,
    setting: str = "paper",
    objective: float = 1.0,
    violation: float = 0.0,
    residual: float = 1e-3,
    seconds: float = 4.0,
) -> BenchmarkCell:
    part = np.linspace(0, 1, 5)
    infeasibility = 1 + part * (violation - 1)
    values = 2 + part * (objective - 2)
    history = pd.DataFrame(
        {
            "step": np.arange(5),
            "seconds": part * seconds,
            "objective": values,
            "infeasibility": infeasibility,
            "feasible_objective": np.where(infeasibility <= 1e-4, values, np.nan),
            "best_stationarity": 1 + part * (residual - 1),
            "best_slackness": 0.0,
            "stationarity": 1 + part * (residual - 1),
        }
    )
    metrics = {
        **{"least_infeasibility": violation, "least_best_residual": max(residual, violation)},
        **{"least_residual": max(residual, violation), "total_seconds": seconds, "total_steps": 4.0},
        **{"total_evaluations": 9.0, "total_gradients": 5.0},
    }
    if violation <= 1e-4:
        metrics |= {"lowest_feasible_objective": objective, "seconds_to_feasible": seconds}
    parameters = {
        **{
            "threshold": "1.5",
            "calibration_steps": "7",
            "budget_seconds": "4",
            "start": "random",
            "tolerance": "1e-05",
        },
        **{"problem.lambda": "0.001", "problem.weight_decay": "0", "machine": "a machine", "measured_at": "2026-01-01"},
        **({} if method == "idbpd" else {"tuning.trials": "3", "tuning.seconds": "6", "options.gamma": "0.1"}),
        **({} if method == "idbpd" else {"tuning.least_infeasibility": "0.25"}),
    }
    tags = {"dataset": "chd49", "setting": setting, "method": method, "seed": str(seed), "status": "MAX_STEPS"}
    return BenchmarkCell(tags, parameters, metrics, history)


def _failed(method: str, seed: int = 0) -> BenchmarkCell:
    tags = {"dataset": "chd49", "setting": "paper", "method": method, "seed": str(seed)}
    return BenchmarkCell({**tags, "status": "FAILED", "error": "ValueError: no luck"}, {}, {}, pd.DataFrame())


@pytest.fixture
def cells() -> list[BenchmarkCell]:
    return [
        *(_cell("idbpd", seed=seed, objective=0.7, seconds=1.0) for seed in (0, 1, 2)),
        *(_cell("idbpd_paper", seed=seed, violation=0.5) for seed in (0, 1, 2)),
        *(_cell("cooper_adam", seed=seed, objective=0.8) for seed in (0, 1, 2)),
        *(_cell("discretization_cooper", seed=seed, violation=0.6) for seed in (0, 1)),
        *(_cell(method, violation=0.4 - 0.1 * at) for at, method in enumerate(GDMA)),
        _failed("discretization_cooper", seed=2),
    ]


def test_a_curve_is_the_median_and_the_range_over_runs() -> None:
    runs = [_cell("idbpd", residual=residual).history for residual in (0.1, 0.2, 0.9)]
    found = curve(runs, "best_stationarity", "step")
    assert (found.at[0], found.at[-1]) == (pytest.approx(1), pytest.approx(4))
    assert (found.low[-1], found.median[-1], found.high[-1]) == pytest.approx((0.1, 0.2, 0.9))
    assert found.median[0] == pytest.approx(1 + 0.25 * (0.2 - 1))  # at step 1


def test_a_run_that_ended_early_keeps_its_last_value() -> None:
    runs = [_cell("idbpd", seconds=1.0, residual=0.1).history, _cell("idbpd", seconds=4.0, residual=0.5).history]
    found = curve(runs, "best_stationarity", "seconds")
    assert found.low[-1] == pytest.approx(0.1)
    assert found.at[-1] == pytest.approx(4.0)


def test_the_median_counts_a_seed_that_was_never_feasible() -> None:
    runs = [_cell("idbpd", seed=0), _cell("idbpd", seed=1, violation=1.0), _cell("idbpd", seed=2, violation=1.0)]
    (row,) = over_seeds(runs).to_dict("records")
    assert (row["feasible"], row["seeds"], row["objective"]) == (1, 3, np.inf)


def test_profile_ratios_are_those_of_dolan_and_more() -> None:
    runs = [_cell("idbpd", seconds=1.0), _cell("cooper_adam", seconds=3.0), _cell("gdma_rho1", violation=0.5)]
    found = profiles([*runs, _failed("gdma_rho2")])
    assert {method: ratio[0] for method, ratio in found["objective"].items()} == {
        "idbpd": 1.0,
        "cooper_adam": pytest.approx(3.0),
        "gdma_rho1": np.inf,
        "gdma_rho2": np.inf,
    }


def test_verdicts_follow_the_numbers(cells: list[BenchmarkCell]) -> None:
    verdicts = {(claim.words, claim.needs[0]): found.get("chd49") for claim, found in judged(cells).items()}
    holds = {words: verdict.holds for (words, _), verdict in verdicts.items() if verdict is not None}
    assert holds["iDB-PD converges in feasibility"] is False
    assert holds["adaptive discretization fails to reduce infeasibility"] is True
    assert holds["adaptive discretization diverges in stationarity"] is False
    assert holds["GDMA requires large weights to approach feasibility"] is True
    assert holds["GDMA with small rho achieves low stationarity, but fails to reduce infeasibility"] is True
    assert holds["GDMA with large rho is unstable"] is False


def test_the_page_says_who_is_ahead_who_failed_and_where_the_paper_stops(cells: list[BenchmarkCell]) -> None:
    page = write_page(cells, REPORT)
    assert "--params report.to=somewhere" in " ".join(page.split())
    assert re.search(r"CHD49 \| paper \| 0\.7000 \| 0\.8000 \(cooper_adam\) \| ahead", page)
    assert "| chd49 | paper | discretization_cooper | 2 | ValueError: no luck |" in page
    assert re.search(r"CHD49 \| paper \| 0\.25 \| 0\.5 \| gamma 0\.1 .*1\.0 s in 3 of 3 runs", page)
    behind = [_cell("idbpd", objective=0.9), _cell("cooper_adam", objective=0.8)]
    assert "0.9000 | 0.8000 (cooper_adam) | **behind**" in write_page(behind, REPORT)


@pytest.mark.parametrize(
    ("ours", "other", "reason"),
    [
        ((0.9, 0.0, 1e-3), (0.8, 0.0, 1e-2), "is 12.50% lower. `idbpd` is nearer to a KKT point"),
        ((0.9, 0.0, 1e-2), (0.8, 0.0, 1e-3), "is 12.50% lower, and its residual too"),
        ((0.9, 0.0, 1e-1), (0.8, 0.05, 1e-3), "at points that violate the limit by at least 5.0e-02"),
        ((0.9, 0.2, 1e-3), (0.8, 0.0, 1e-2), "does not reach the limit (violation 2.0e-01), and `cooper_adam` does"),
    ],
)
def test_the_page_says_why_it_is_not_ahead(
    ours: tuple[float, float, float], other: tuple[float, float, float], reason: str
) -> None:
    cells = [
        _cell(method, objective=objective, violation=violation, residual=residual)
        for method, (objective, violation, residual) in (("idbpd", ours), ("cooper_adam", other))
    ]
    page = write_page(cells, REPORT)
    assert reason in page
    assert "and why:" not in write_page([_cell("idbpd", objective=0.5, residual=1e-4), cells[1]], REPORT)


def test_every_figure_of_the_page_is_drawn_and_always_the_same(cells: list[BenchmarkCell], tmp_path: Path) -> None:
    folder = FiguresDataset(folder=str(tmp_path / "figures"))
    folder.save(draw_figures(cells))
    first = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    assert set(re.findall(r"\(figures/results/(.*?)\)", write_page(cells, REPORT))) == set(first)
    (folder.path / "old.svg").write_text("of an earlier report")
    folder.save(draw_figures(cells))
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == first


def test_the_summary_names_failures(cells: list[BenchmarkCell]) -> None:
    table = summarise(cells).set_index("method")
    assert table.loc["discretization_cooper", "failed"] == "1"
    assert table.loc["idbpd", "feasible"] == "3/3"
    assert table.loc["idbpd_paper", "objective"] == "none"


def test_a_method_that_the_registry_does_not_know_is_drawn_too(cells: list[BenchmarkCell]) -> None:
    figures = draw_figures([*cells, _cell("of_old")])
    drawn = {name: [line.get_label() for line in figure.axes[0].get_lines()] for name, figure in figures.items()}
    assert drawn["profiles.svg"][-1] == drawn["chd49_paper_kkt.svg"][-1] == "of_old"
    assert "of_old" not in drawn["chd49_paper_weights.svg"]


def test_the_figures_show_the_methods_of_the_papers_experiments(cells: list[BenchmarkCell]) -> None:
    figures = draw_figures([*cells, _cell("idbpd_theorem2")])
    drawn = {name: [line.get_label() for line in figure.axes[0].get_lines()] for name, figure in figures.items()}
    own = ["idbpd (this project)", "iDB-PD, the paper's grid"]
    assert drawn["chd49_paper_kkt.svg"] == [
        *own,
        "iDB-PD, Theorem 2",
        "Cooper with Adam",
        "discretization, Cooper",
    ]
    assert drawn["chd49_paper_weights.svg"] == [*own, *(f"GDMA, rho = {rho}" for rho in (1, 2, 5, 10))]


def test_the_best_method_is_better_by_the_sign_test_or_not_at_all() -> None:
    cells = [_cell("idbpd", seed=seed, objective=1.0) for seed in range(6)]
    cells += [_cell("cooper_adam", seed=seed, objective=1.1) for seed in range(6)]
    found = standings(cells)
    assert found is not None
    assert (found.best, found.first, found.problems, found.is_sure) == ("idbpd", 6, 6, True)
    few = standings([cell for cell in cells if int(cell.tags["seed"]) < 4])  # 4 of 4 happen by chance in one of 16
    assert few is not None
    assert not few.is_sure
    assert standings([cell for cell in cells if cell.tags["method"] == "idbpd"]) is None


def test_methods_that_are_first_equally_often_are_not_ranked_by_their_names() -> None:
    cells = [_cell("idbpd", objective=1.0), _cell("cooper_adam", objective=1.1)]
    cells += [_cell("idbpd", setting="x", objective=1.1), _cell("cooper_adam", setting="x", objective=1.0)]
    page = write_html(cells)
    assert "NONE IS AHEAD" in page
    assert "cooper_adam, idbpd: each has the lowest objective in 1 of 2 problems" in page
    assert "best is" not in page


def test_claims_about_methods_that_were_not_run_are_not_on_the_page() -> None:
    cells = [_cell("idbpd"), _cell("cooper_adam")]
    page = write_page(cells, REPORT)
    assert "GDMA" not in page.split("## Over all")[0]
    assert "| not run |" in page  # the paper's own method, above "the same, of this project's solver"
    assert "0 of 0" not in page
    assert "1 problem (" in page


def test_the_html_page_says_who_is_best_and_has_every_place_and_method() -> None:
    cells = [_cell("idbpd", seed=seed, setting=setting, objective=1.0) for seed in (0, 1) for setting in ("paper", "x")]
    cells += [_cell("cooper_adam", seed=0, objective=1.1), _cell("gdma_rho1", seed=0, violation=0.5)]
    page = write_html(cells)
    assert "MOST OFTEN BEST: idbpd" in page
    assert "No method has a lower objective in 4 of 4 problems" in page
    assert page.count('class="walkable"') == 2
    assert all(page.count(method) > 3 for method in ("idbpd", "cooper_adam", "gdma_rho1"))
    assert "ONE METHOD" in write_html(cells[:1])
