"""The report is one page that loads nothing, and says of every limit whether it is kept."""

import re

import pandas as pd

from idbpd.pipelines.evaluation.report import write_report

SUMMARY = pd.DataFrame(
    {
        "task: what": ["priority: worst-case loss", "other: worst-case loss", "other: the same, test"],
        "constrained": ["0.5", "0.6", "0.8"],
        "limit": ["", "0.7000 kept", "0.7000 BROKEN"],
        "unconstrained": ["0.4", "1.6", "1.7"],
    }
)
RESIDUALS = {"stationarity": 1e-3, "infeasibility": 0.0, "slackness": 2e-8}
CERTIFICATE = {**RESIDUALS, "tasks": {"other": {"threshold": 0.7}}}
OUTCOME = {"status": "CONVERGED", "steps": 2, "seconds": 0.5, "threads": 1, "device": "cpu", "made_with": {"seed": 0}}
HISTORY = pd.DataFrame({"step": [0, 1], "objective": [1.0, 0.5], "constraint": [-0.1, -0.1], **RESIDUALS})
CLOCK = pd.DataFrame({"step": [0, 1], "seconds": [0.2, 0.5]})


def test_it_says_what_is_kept_and_what_is_broken() -> None:
    page = write_report("<yeast>", SUMMARY, CERTIFICATE, OUTCOME, HISTORY, CLOCK)
    assert "<h1>&lt;yeast&gt;</h1>" in page
    assert '<p class="verdict kept">other: worst-case loss: 0.6, limit 0.7000: kept</p>' in page
    assert '<p class="verdict broken">other: worst-case loss, test: 0.8, limit 0.7000: broken</p>' in page
    assert "CONVERGED after 2 steps, 0.5 s." in page


def test_it_loads_nothing_from_anywhere() -> None:
    page = write_report("yeast", SUMMARY, CERTIFICATE, OUTCOME, HISTORY, CLOCK)
    assert re.findall(r'(?:src|href)="([^"]{10})', page) == ["data:image"]
    assert "http" not in page
    assert "<script" not in page
