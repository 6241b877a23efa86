"""Quality next to other models: in sentences, by task, by label and by group."""

import math

import pandas as pd

from idbpd.experiment.page.markup import Markup, details, element, joined, listed, name, section, table
from idbpd.experiment.shown import name_of, written
from idbpd.mtl import is_better
from idbpd.pipelines.evaluation.page.facts import KINDS, THIS, Facts
from idbpd.pipelines.evaluation.tables import OWN
from idbpd.pipelines.evaluation.verdicts import BETTER, BROKEN, GAIN

KEYS = ("model", "part", "task", "kind", "loss_unit")  # of the comparison; all other columns are measures
MEAN_LOSS = "mean_loss"
PART_NAMES = {"train": "training", "test": "unseen"}
LABEL_MEASURES = ("samples", "mean_loss", "hit_rate", "average_precision")


def others(facts: Facts) -> Markup:
    """Where other models are better or worse, and which limits they break."""
    said: dict[str, list[str]] = {BETTER: [], GAIN: [], BROKEN: []}
    for about, sentence in facts.verdicts.itertuples(index=False):
        if about in said:
            said[about].append(str(sentence).replace(OWN, THIS, 1) if about == GAIN else str(sentence))
    titles = {
        BETTER: "Where another model is better",
        GAIN: "Where this model is better",
        BROKEN: "Which limits they break",
    }
    parts: list[object] = []
    if not said[BETTER]:
        parts.append(element("p", f"None of them is better on {facts.where}, beyond chance."))
    for about, sentences in said.items():
        if sentences:
            parts += [element("h3", titles[about]), listed(sentences)]
    return section("others", "Next to other models", *parts)


def quality(facts: Facts) -> Markup:
    """All measures."""
    return section(
        "quality",
        "Quality",
        *(_of_task(facts, task, kind) for task, kind in facts.kinds.items()),
        _groups(facts),
    )


def _of_task(facts: Facts, task: str, kind: str) -> Markup:
    unit = facts.unit(task)
    title = joined([name(task), element("span", f" {KINDS.get(kind, kind)}{f', losses in {unit}' if unit else ''}",
                                        class_="note")])  # fmt: skip
    return element("article", element("h3", title), _measures(facts, task), _labels(facts, task), class_="task")


def _measures(facts: Facts, task: str) -> Markup:
    models = facts.models(task)
    on_train = facts.models(task, "train")[THIS]
    columns = {f"{THIS}, {PART_NAMES[facts.part]}": models[THIS]}
    if facts.part != "train":
        columns[f"{THIS}, training"] = on_train
    columns |= {model: found for model, found in models.items() if model != THIS}
    measures = [
        key for key in on_train if key not in KEYS and any(_known(found.get(key)) for found in columns.values())
    ]
    rows = [
        (name_of(measure), *(_cell(measure, found, list(models.values())) for found in columns.values()))
        for measure in measures
    ]
    caption = f"All measures, on {facts.where} unless the column says otherwise; the best in bold"
    return table(caption, ["measure", *columns], rows)


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _cell(measure: str, found: dict[str, float], compared: list[dict[str, float]]) -> object:
    value = found.get(measure, math.nan)
    if not _known(value):
        return ""
    shown = written(measure, value)
    best = not any(is_better(measure, other.get(measure, math.nan), value) for other in compared)
    return element("strong", shown) if best and found in compared else shown


def _labels(facts: Facts, task: str) -> Markup:
    rows = facts.labels
    rows = rows[(rows["task"].astype(str) == task) & (rows["part"] == facts.part) & (rows["model"] == OWN)]
    if rows.empty:
        return Markup("")
    body = [
        (
            name(label),
            str(samples),
            *(_number(measure, value) for measure, value in zip(LABEL_MEASURES[1:], rest, strict=True)),
        )
        for label, samples, *rest in rows[["label", *LABEL_MEASURES]].itertuples(index=False)
    ]
    header = ["label", "samples with it", "mean loss of these", "recognised", "average precision"]
    shown = table(joined([f"Label by label, {THIS} on {facts.where}: ", name(task)]), header, body)
    return shown if len(body) <= 12 else details(f"{len(body)} labels one by one", shown)


def _number(measure: str, value: float) -> str:
    return "" if math.isnan(value) else written(measure, value)


def _groups(facts: Facts) -> Markup:
    parts = []
    for task, rows in facts.groups.groupby("task", sort=False):
        parts.append(_group_table(str(task), rows, facts.where))
    return joined([element("h3", "Group by group"), *parts]) if parts else Markup("")


def _group_table(task: str, rows: pd.DataFrame, where: str) -> Markup:
    measure = str(rows["measure"].iloc[0])
    columns = [str(column) for column in rows.columns if ": " in str(column)]
    header: list[object] = ["group", "rows"]
    forms = []
    for column in columns:
        model, what = column.replace(OWN, THIS).split(": ")
        forms.append(measure if what == "measure" else MEAN_LOSS)
        header.append(f"{model}, {name_of(measure) if what == 'measure' else what}")
    body = [
        (
            name(record["group"]),
            str(record["rows"]),
            *(_number(form, float(record[column])) for column, form in zip(columns, forms, strict=True)),
        )
        for record in rows.to_dict("records")
    ]
    return table(joined([f"Groups on {where}: ", name(task)]), header, body)
