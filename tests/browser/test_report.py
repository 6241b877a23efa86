"""The report in a real browser: it opens from disk, draws, fits screens and paper, and can be used without a mouse."""

from pathlib import Path

import pytest

from tests.browser.checks import EMPTY, FAULTS, LETTERS, OVERFLOWING, printed_words, require_axe
from tests.browser.conftest import HOSTILE
from tests.browser.driver import ABSENT, BROWSER, DRIVER, Browser

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None or DRIVER is None, reason=ABSENT),
]


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
