"""The report of a run: one HTML page that can be sent to somebody, with everything inside."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from idbpd.experiment.node_warnings import NodeWarnings
from idbpd.pipelines.evaluation.page import (
    choices,
    course,
    intervals,
    losses,
    measures,
    notices,
    opening,
    provenance,
    who,
)
from idbpd.pipelines.evaluation.page.facts import Facts
from idbpd.pipelines.evaluation.page.markup import Markup, element, grid, joined, name
from idbpd.redaction import redacted, without_secrets

CONTENTS = {
    "warnings": "Warnings",
    "others": "Other models",
    "training": "Training",
    "losses": "Losses",
    "who": "Worst case",
    "quality": "Quality",
    "choices": "Choices",
    "provenance": "Provenance",
}


def write_report(
    dataset: str,
    certificate: dict[str, Any],
    threshold: dict[str, Any],
    outcome: dict[str, Any],
    comparison: pd.DataFrame,
    label_quality: pd.DataFrame,
    group_quality: pd.DataFrame,
    verdicts: pd.DataFrame,
    history: pd.DataFrame,
    clock: pd.DataFrame,
    weight_decay: dict[str, Any],
    reserve: dict[str, Any],
    worst_case_study: dict[str, Any],
    node_warnings: NodeWarnings,
    parameters: dict[str, Any],
    project_folder: Path,
) -> str:
    """A page without anything to load: the question, the verdict, how it came about, and where it comes from."""
    facts = Facts(
        dataset=dataset,
        certificate=certificate,
        threshold=threshold,
        outcome=outcome,
        comparison=comparison,
        labels=label_quality,
        groups=group_quality,
        verdicts=verdicts,
        history=history,
        clock=clock,
        weight_decay=weight_decay,
        reserve=reserve,
        study=worst_case_study,
        warnings=node_warnings.all(),
        parameters=redacted(without_secrets(_plain(parameters))),
    )
    return _page(facts, project_folder)


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as plain data; Kedro has those that a node uses as typed objects."""
    return {
        key: value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value
        for key, value in parameters.items()
    }


def _page(facts: Facts, project: Path) -> str:
    now = datetime.now(UTC)
    head = [
        element("p", "Report of a run, ", element("time", f"{now:%Y-%m-%d %H:%M} UTC", datetime=f"{now:%FT%TZ}"),
                class_="note"),
        element("h1", name(facts.dataset)),
        element("p", opening.asked(facts), class_="asked"),
    ]  # fmt: skip
    links = [element("a", title, href=f"#{identifier}") for identifier, title in CONTENTS.items()]
    body = [
        element("header", *head),
        element(
            "main",
            opening.verdict_box(facts),
            _panels(facts),
            element("nav", *links, aria_label="sections"),
            notices.notices(facts),
            measures.others(facts),
            course.course(facts),
            losses.losses(facts),
            who.who(facts),
            measures.quality(facts),
            choices.choices(facts),
            provenance.provenance(facts, project),
        ),
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            element("head", *_meta(facts)),
            element("body", *body, element("script", Markup(_file("report.js")))),
            "</html>\n",
        ]
    )


def _panels(facts: Facts) -> Markup:
    title = element("h2", f"Priority and limits on {facts.where}", id="limits-title")
    panels = [intervals.interval_panel(facts, task) for task in facts.kinds]
    return element(
        "section", title, grid(*panels, intervals.legend(facts)), id="limits", aria_labelledby="limits-title"
    )


def _meta(facts: Facts) -> list[Markup]:
    return [
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        Markup('<link rel="icon" href="data:,">'),
        element("title", joined([facts.dataset, f": {facts.verdict}"])),
        element("style", Markup(_file("report.css"))),
    ]


def _file(name_of_file: str) -> str:
    return files(__package__).joinpath(name_of_file).read_text(encoding="utf-8")
