"""The report in a real browser: it opens from disk, draws, fits screens and paper, and can be used without a mouse."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.browser.checks import EMPTY, FAULTS, LETTERS, OVERFLOWING, printed_words, require_axe
from tests.browser.driver import ABSENT, BROWSER, DRIVER, Browser
from tests.kedro_project import KedroProject

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None or DRIVER is None, reason=ABSENT),
]
ROWS = 160
HOSTILE = '<script>document.title="taken over"</script>'
LONG = "exported_from_a_warehouse_" * 8
BLOCK: dict[str, Any] = {
    "customers": {
        "type": "idbpd.datasets.TabularDataset",
        "filepath": "data/01_raw/customers.csv",
        "tasks": {
            "churn": {"column": "churned", "worst_case": {"groups": "region"}},
            "spend": {"column": "next_month", "slack": 9.0},
            "a rather long name of a task with a limit": {"column": "next_plan", "limit": {"accuracy": 0.5}},
            "topics": ["sports", "music"],
        },
    }
}
PARAMETERS: dict[str, Any] = {
    "model": {"hidden": 4},
    "problem": {"weight_decay": 0.01},
    "calibration": {"max_steps": 30, "reserve": 0},
    "training": {"max_steps": 30},
    "comparison": {"sweep": []},
}


def _customers() -> pd.DataFrame:
    random = np.random.default_rng(0)
    age, region = random.integers(18, 80, ROWS), random.choice(["north", "south", "west"], ROWS)
    return pd.DataFrame(
        {
            "age": age,
            "region": region,
            HOSTILE: random.normal(size=ROWS),
            LONG: random.normal(size=ROWS),
            "顧客 שלום": random.choice(["ä", "& <b>"], ROWS),
            "churned": np.where(age + 20 * random.normal(size=ROWS) < 40, "yes", "no"),
            "next_month": np.round(5.0 * age + random.normal(0, 10, ROWS), 2),
            "next_plan": np.where(age > 60, "family", np.where(age > 40, "single", "basic")),
            "sports": (region == "south").astype(int),
            "music": (age < 30).astype(int),
        }
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a short run on a table with several tasks, groups, and names that are not made for HTML."""
    project = KedroProject.copied_to(tmp_path_factory.mktemp("browser") / "project")
    (project.data / "01_raw").mkdir(parents=True)
    _customers().to_csv(project.data / "01_raw" / "customers.csv", index=False)
    project.configure("sources.yml", BLOCK)
    project.configure("parameters.yml", PARAMETERS)
    project.configure("mlflow.yml", {"enabled": False})
    project.kedro("run", params="dataset=customers")
    return project.data / "08_reporting" / "customers" / "report.html"


def test_it_opens_from_disk_without_a_word_in_the_console(report: Path, browser: Browser) -> None:
    browser.open(report)
    assert browser.said() == []
    assert browser.run("return performance.getEntriesByType('resource').map((one) => one.name)") == []
    assert browser.run("return document.title").startswith("customers: ")
    assert HOSTILE in browser.run("return document.body.textContent")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_overflows_and_every_chart_shows_something(report: Path, browser: Browser, width: int) -> None:
    browser.open(report, width=width)
    assert browser.run("return document.documentElement.scrollWidth") == width
    assert browser.run(OVERFLOWING) == []
    assert browser.run(EMPTY) == []
    assert browser.run("return document.querySelectorAll('svg').length") > 12
    assert browser.run(LETTERS) > 9


def test_the_verdict_is_on_the_first_screen(report: Path, browser: Browser) -> None:
    browser.open(report)
    assert browser.run("return document.querySelector('.next').getBoundingClientRect().bottom") < 900
    assert browser.run("return document.querySelector('.interval svg').getBoundingClientRect().top") < 900


def test_curves_can_be_walked_along_hidden_and_drawn_over_time(report: Path, browser: Browser) -> None:
    browser.open(report)
    browser.run("""
        const slider = document.getElementById("walk");
        slider.value = 1;
        slider.dispatchEvent(new Event("input"));
    """)
    assert browser.run("return document.querySelector('.moment').textContent").startswith("step 1, ")
    shown = "return [...document.querySelectorAll('#training .reading')].map((one) => one.textContent)"
    readings = browser.run(shown)
    assert len(readings) == 5
    assert all(reading and "at the end" not in reading for reading in readings)
    visible = "return [...document.querySelectorAll('#training svg')].filter((one) => one.getClientRects().length)"
    assert browser.run(f"{visible}.map((one) => one.classList[1])") == ["step"] * 5
    browser.run("document.querySelector('[data-axis=seconds]').click()")
    assert browser.run(f"{visible}.map((one) => one.classList[1])") == ["seconds"] * 5
    series = "#training figure:last-of-type button[data-series=s2]"
    browser.run(f"document.querySelector('{series}').click()")
    assert browser.run(f"return document.querySelector('{series}').ariaPressed") == "false"
    assert browser.run(shown)[-1].count("·") == 1  # two of three residuals
    browser.run("""
        const svg = document.querySelector("#training svg.seconds"), frame = svg.getBoundingClientRect();
        const at = { clientX: frame.right - 12, clientY: frame.top + 50 };
        svg.dispatchEvent(new PointerEvent("pointermove", at));
    """)
    assert browser.run("return document.getElementById('walk').value === document.getElementById('walk').max")
    assert browser.said() == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_no_serious_fault(report: Path, browser: Browser, width: int, dark: bool) -> None:
    axe = require_axe()
    browser.open(report, width=width, dark=dark)
    browser.run(axe)
    assert browser.wait_for(FAULTS, "body") == []
    for kind in ("holds", "unknown", "broken"):  # whatever the verdict of this run is
        browser.run(
            "for (const one of document.querySelectorAll('.verdict, .badge:not(.first)')) {"
            " one.classList.remove('holds', 'unknown', 'broken'); one.classList.add(arguments[0]); }",
            kind,
        )
        assert browser.wait_for(FAULTS, ".verdict") == browser.wait_for(FAULTS, "#limits") == []


def test_paper_has_all_of_it(report: Path, browser: Browser, tmp_path: Path) -> None:
    browser.open(report, dark=True)
    printed = printed_words(browser, tmp_path)
    assert "calibration.max_steps" in printed  # behind a click on the screen
    assert browser.run("return document.querySelector('details').open") is False  # and again afterwards
