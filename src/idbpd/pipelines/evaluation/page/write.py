"""The report of a run: one HTML page that can be sent to somebody, with everything inside."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from idbpd.experiment.page.document import contents, document
from idbpd.experiment.page.document import opening as opening_of_page
from idbpd.experiment.page.markup import Markup, element, grid, joined, name
from idbpd.experiment.records.node_warnings import NodeWarnings
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
    return document(
        joined([facts.dataset, f": {facts.verdict}"]),
        opening_of_page("Report of a run", name(facts.dataset), opening.asked(facts)),
        element(
            "main",
            opening.verdict_box(facts),
            _panels(facts),
            contents(CONTENTS),
            notices.notices(facts),
            measures.others(facts),
            course.course(facts),
            losses.losses(facts),
            who.who(facts),
            measures.quality(facts),
            choices.choices(facts),
            provenance.provenance(facts, project),
        ),
    )


def _panels(facts: Facts) -> Markup:
    title = element("h2", f"Priority and limits on {facts.where}", id="limits-title")
    panels = [intervals.interval_panel(facts, task) for task in facts.kinds]
    return element(
        "section", title, grid(*panels, intervals.legend(facts)), id="limits", aria_labelledby="limits-title"
    )
