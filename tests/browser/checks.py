"""What every page has to be, whoever opens it on whatever screen."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.driver import Browser

# Elements that reach beyond the window although no box around them scrolls.
OVERFLOWING = """
const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")].filter((one) =>
  !one.closest(".scroll, pre, svg") && one.getClientRects().length && one.getBoundingClientRect().right > wide + 1
).map((one) => one.outerHTML.slice(0, 120));
"""
# Drawings in which nothing is visible.
EMPTY = """
return [...document.querySelectorAll("svg")].filter((svg) => svg.getClientRects().length).filter((svg) =>
  svg.getBoundingClientRect().width < 200 ||
  ![...svg.querySelectorAll("path, rect, circle")].some((mark) => {
    const frame = mark.getBoundingClientRect();
    return frame.width * frame.height > 0;
  })
).map((svg) => svg.ariaLabel);
"""
# Letters in drawings, in pixels of the screen: the smallest.
LETTERS = """
return Math.min(...[...document.querySelectorAll("svg text")].filter((one) => one.getClientRects().length).map((one) =>
  parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a));
"""
FAULTS = """
const done = arguments[arguments.length - 1];
axe.run(arguments[0], { resultTypes: ["violations"] }).then((found) => done(found.violations
  .filter((fault) => ["serious", "critical"].includes(fault.impact))
  .map((fault) => `${fault.id}: ${fault.nodes.map((node) => node.html.slice(0, 100)).join(" | ")}`)));
"""


def require_axe() -> str:
    """The program that looks for what keeps people out; without it the test is skipped."""
    found = importlib.util.find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core-python is not installed: pip install --editable '.[dev]'")
    return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8")


def printed_words(browser: Browser, folder: Path) -> str:
    """What is on paper, once it is sure that all headings are."""
    reader = shutil.which("pdftotext")
    if reader is None:
        pytest.skip("there is no pdftotext to read the printed page with; on Debian: apt-get install poppler-utils")
    (folder / "page.pdf").write_bytes(browser.printed())
    subprocess.run([reader, "-layout", "page.pdf", "page.txt"], cwd=folder, check=True)
    printed = (folder / "page.txt").read_text(encoding="utf-8")
    headings = browser.run("return [...document.querySelectorAll('h1, h2, h3')].map((one) => one.textContent)")
    words = {word for heading in headings for word in heading.split()} - {"✔", "✘", "?"}
    assert not {word for word in words if word.lstrip("✔✘?") not in printed}  # columns mix their lines
    return printed
