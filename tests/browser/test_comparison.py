"""The page of a comparison in a real browser: it has the design of the report, and keeps what that promises."""

from pathlib import Path

import pytest

from idbpd.pipelines.run_comparison.nodes import compare_runs
from idbpd.pipelines.run_comparison.parameters import CompareParameters
from tests.browser.checks import EMPTY, FAULTS, LETTERS, OVERFLOWING, printed_words, require_axe
from tests.browser.driver import ABSENT, BROWSER, DRIVER, Browser
from tests.pipelines.run_comparison.made_up import MadeUpStore, made_up

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None or DRIVER is None, reason=ABSENT),
]
LONG = "a_rather_long_value_of_a_parameter_" * 6
HOSTILE = '<script>document.title="taken over"</script>'


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten runs that differ in all that can differ, one of them on other samples."""
    runs = [
        made_up(
            f"{at:032x}",
            loss=0.5 + 0.01 * at,
            steps=40 + 30 * at,
            slack=0.1 if at < 5 else 0.2,
            verdict=("HOLDS", "NOT SHOWN", "BROKEN")[at % 3],
            parameters={"seed": at, "model.type": LONG, HOSTILE: at % 2},
            packages={"torch": f"2.{at}"},
        )
        for at in range(9)
    ]
    runs.append(made_up("f" * 32, samples="others", name=HOSTILE))
    asked = CompareParameters(runs=[run.run_id for run in runs], dataset=None, models=None, last=10)
    file = tmp_path_factory.mktemp("comparison") / "comparison.html"
    file.write_text(compare_runs(MadeUpStore(runs), asked)[2], encoding="utf-8")
    return file


def test_it_opens_from_disk_without_a_word_in_the_console(page: Path, browser: Browser) -> None:
    browser.open(page)
    assert browser.said() == []
    assert browser.run("return performance.getEntriesByType('resource').map((one) => one.name)") == []
    assert browser.run("return document.title") == "customers: NOT ALL COMPARABLE"
    assert HOSTILE in browser.run("return document.body.textContent")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_overflows_and_every_chart_shows_something(page: Path, browser: Browser, width: int) -> None:
    browser.open(page, width=width)
    assert browser.run("return document.documentElement.scrollWidth") == width
    assert browser.run(OVERFLOWING) == []
    assert browser.run(EMPTY) == []
    assert browser.run(LETTERS) > 9


def test_curves_end_where_their_runs_end_and_can_be_walked_along_and_hidden(page: Path, browser: Browser) -> None:
    browser.open(page)
    browser.run("""
        const slider = document.getElementById("walk");
        slider.value = slider.max;
        slider.dispatchEvent(new Event("input"));
    """)
    assert browser.run("return document.querySelector('.moment').textContent") == "step 279"
    reading = "return document.querySelector('#training .reading').textContent"
    assert browser.run(reading).startswith("A ended · ")
    assert "I 0.003571" in browser.run(reading)
    browser.run("document.querySelector('[data-axis=seconds]').click()")
    assert browser.run("return document.querySelector('.moment').textContent").endswith(" s")
    browser.run("document.querySelector('#training button[data-series=s9]').click()")
    assert "I 0.0" not in browser.run(reading)
    assert browser.said() == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_no_serious_fault(page: Path, browser: Browser, width: int, dark: bool) -> None:
    axe = require_axe()
    browser.open(page, width=width, dark=dark)
    browser.run(axe)
    assert browser.wait_for(FAULTS, "body") == []


def test_paper_has_all_of_it(page: Path, browser: Browser, tmp_path: Path) -> None:
    browser.open(page, dark=True)
    assert "2.7" in printed_words(browser, tmp_path)  # a version behind a click on the screen
