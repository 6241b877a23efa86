"""The report is one page that loads nothing, and says what is reached, kept and not achieved."""

import math
import re

import pandas as pd
from idbpd.pipelines.evaluation.report import write_report

from idbpd.pipelines.evaluation.groups import COLUMNS
from idbpd.pipelines.evaluation.verdicts import BETTER, GUESS

SUMMARY = pd.DataFrame(
    {
        "task: what": ["priority: worst-case loss", "other: worst-case loss", "other: the same, test"],
        "constrained": ["0.5", "0.6", "0.8"],
        "limit": ["", "0.7000 kept", "0.7000 BROKEN"],
        "no limits": ["0.4", "1.6", "1.7"],
    }
)
RESIDUALS = {"stationarity": 1e-3, "infeasibility": 0.0, "slackness": 2e-8}
CERTIFICATE = {**RESIDUALS, "tasks": {"other": {"threshold": 0.7}}}
OUTCOME = {"status": "CONVERGED", "steps": 2, "seconds": 0.5, "threads": 1, "device": "cpu", "made_with": {"seed": 0}}
HISTORY = pd.DataFrame({"step": [0, 1], "objective": [1.0, 0.5], "constraint": [-0.1, -0.1], **RESIDUALS})
COMPARISON = pd.DataFrame(
    {
        "model": ["constrained", "constrained", "equal weights", "constrained", "constrained"],
        "part": ["train", "test", "test", "train", "test"],
        "task": ["other", "other", "other", "<first>", "<first>"],
        "kind": ["number"] * 3 + ["binary"] * 2,
        "loss_unit": ["variance of the target"] * 3 + ["nats"] * 2,
        "worst_case_loss": [0.6, 0.8, 0.9, 0.5, 0.55],
        "mae": [2.1, 2.3149, 2.5, math.nan, math.nan],
        "accuracy": [math.nan, math.nan, math.nan, 0.9, 0.861],
    }
)
VERDICTS = pd.DataFrame(
    {"about": [GUESS, BETTER], "verdict": ["no better than <a guess>", "equal weights is better in the other task"]}
)
CLOCK = pd.DataFrame({"step": [0, 1], "seconds": [0.2, 0.5]})


NO_GROUPS = pd.DataFrame(columns=COLUMNS)


def _page(verdicts: pd.DataFrame = VERDICTS, groups: pd.DataFrame = NO_GROUPS) -> str:
    return write_report("<yeast>", verdicts, SUMMARY, COMPARISON, groups, CERTIFICATE, OUTCOME, HISTORY, CLOCK)


def test_it_says_what_is_kept_and_what_is_broken() -> None:
    page = _page()
    assert "<h1>&lt;yeast&gt;</h1>" in page
    assert '<p class="verdict kept">other: worst-case loss: 0.6, limit 0.7000: kept</p>' in page
    assert '<p class="verdict broken">other: worst-case loss, test: 0.8, limit 0.7000: broken</p>' in page
    assert "CONVERGED after 2 steps, 0.5 s." in page


def test_the_priority_task_is_named_first_and_sentences_stand_before_the_tables() -> None:
    page = _page()
    first = page.index("<li><b>&lt;first&gt;</b> has priority; it predicts yes or no</li>")
    second = page.index("<li><b>other</b> keeps a limit; it predicts a number</li>")
    warning = page.index('<li class="broken">no better than &lt;a guess&gt;</li>')
    better = page.index('<li class="other">equal weights is better in the other task</li>')
    assert first < second < warning < better < page.index("<table")
    assert page.index("<h3>&lt;first&gt; (binary") < page.index("<h3>other (number, losses in variance of the target)")
    assert "<li class" not in _page(VERDICTS[:0])


def test_every_task_has_the_measures_of_its_kind_next_to_other_models() -> None:
    first, other = (re.findall(r"<t[hd]>(.*?)</t[hd]>", part) for part in _page().split("<h3>")[1:3])
    assert first[:3] == ["measure", "constrained, train", "constrained, test"]
    assert first[3:9] == ["worst-case loss", "0.5000", "0.5500", "accuracy", "90.0%", "86.1%"]
    assert other[:4] == ["measure", "constrained, train", "constrained, test", "equal weights, test"]
    assert other[4:12] == ["worst-case loss", "0.6000", "0.8000", "0.9000", "MAE", "2.1", "2.315", "2.5"]


def test_it_loads_nothing_from_anywhere() -> None:
    page = _page()
    assert re.findall(r'(?:src|href)="([^"]{10})', page) == ["data:image"]
    assert "http" not in page
    assert "<script" not in page


def test_groups_have_a_table_where_there_are_some() -> None:
    assert "Group by group" not in _page()
    values = ["<first>", "<old>, blue", 12, "accuracy", 0.5, 0.6, 0.7, 0.8, 0.91, 0.81, math.nan, 0.5, -0.1, 0.02]
    page = _page(groups=pd.DataFrame([values], columns=COLUMNS))
    table = page[page.index("<h2>Group by group</h2>") : page.index("<h2>The certificate</h2>")]
    assert "<h3>&lt;first&gt;</h3>" in table
    cells = re.findall("<td>(.*?)</td>", table)
    assert cells[:6] == ["&lt;old&gt;, blue", "12", "0.5000", "0.6000", "0.7000", "0.8000"]
    assert cells[6:] == ["91.0%", "81.0%", "", "50.0%", "-0.1000", "0.0200"]
    assert "<th>equal weights, accuracy</th>" in table
