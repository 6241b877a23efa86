"""The report of a run: one HTML page that can be sent to somebody, with everything inside."""

import base64
import html
import io
import math
from typing import Any

import pandas as pd

from idbpd.experiment.shown import name_of, written
from idbpd.pipelines.evaluation.figures import draw_kkt_curves
from idbpd.pipelines.evaluation.tables import OWN
from idbpd.pipelines.evaluation.verdicts import GUESS

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.text th, .text td { text-align: left; } .text td:last-child { overflow-wrap: anywhere; } img { max-width: 100%; }
.kept { color: #17692f; } .broken { color: #a01818; } .verdict { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  body { background: #181818; color: #ddd; } th, td { border-color: #444; } img { background: #fff; }
  .kept { color: #6fcf87; } .broken { color: #ff8a80; }
}
"""
KINDS = {
    "binary": "yes or no",
    "classes": "one of several classes",
    "labels": "several labels, each yes or no",
    "number": "a number",
    "distribution": "shares of several labels",
}
MEAN_LOSS = "mean_loss"
KEYS = ("model", "part", "task", "kind", "loss_unit")  # of the comparison; all other columns are measures
MEANING = {
    "stationarity": "how far the weights are from where no step makes the objective better under the constraints",
    "infeasibility": "by how much the worst constraint is violated on the training data",
    "slackness": "how far multiplier and constraint are from one of them being zero",
}


def write_report(
    dataset: str,
    verdicts: pd.DataFrame,
    summary: pd.DataFrame,
    comparison: pd.DataFrame,
    group_quality: pd.DataFrame,
    certificate: dict[str, Any],
    outcome: dict[str, Any],
    history: pd.DataFrame,
    clock: pd.DataFrame,
) -> str:
    """A self-contained HTML page: the result, its certificate, the course of the run, and the settings."""
    solver = f"{outcome['status']} after {outcome['steps']} steps, {outcome['seconds']:.1f} s"
    values = [(name, f"{certificate[name]:.2e}", meaning) for name, meaning in MEANING.items()]
    residuals = pd.DataFrame(values, columns=["residual", "value", "meaning"])
    made_with = {**outcome["made_with"], "threads": outcome["threads"], "device": outcome["device"]}
    settings = pd.DataFrame([(name, str(value)) for name, value in made_with.items()], columns=["setting", "value"])
    figure = _figure(history, clock, certificate, comparison)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(dataset)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{html.escape(dataset)}</h1>
{_tasks(comparison, certificate)}
{_limits(summary)}
{_sentences(verdicts)}
<h2>What was reached</h2>
{_table(summary)}
<h2>Quality of every task</h2>
{_quality(comparison, certificate)}
{_groups(group_quality)}
<h2>The certificate</h2>
<p>Recomputed in float64 from the saved weights. Zero in all three is a point that satisfies the KKT conditions.</p>
{_table(residuals, "text")}
<h2>How it got there</h2>
<p>{html.escape(solver)}.</p>
<img alt="KKT residuals and losses over time" src="data:image/png;base64,{figure}">
<h2>What it was made with</h2>
{_table(settings, "text")}
</body>
</html>
"""


def _tasks(comparison: pd.DataFrame, certificate: dict[str, Any]) -> str:
    """What every task predicts, the priority task first."""
    lines = []
    for task, kind in _ordered(comparison, certificate).items():
        rank = "keeps a limit" if task in certificate["tasks"] else "has priority"
        lines.append(f"<li><b>{html.escape(task)}</b> {rank}; it predicts {KINDS.get(kind, kind)}</li>")
    return "<ul>\n" + "\n".join(lines) + "\n</ul>"


def _ordered(comparison: pd.DataFrame, certificate: dict[str, Any]) -> dict[str, str]:
    """The kinds of the tasks by name, the priority task first."""
    kinds = dict(zip(comparison["task"].astype(str), comparison["kind"], strict=True))
    return {task: kinds[task] for task in sorted(kinds, key=lambda task: task in certificate["tasks"])}


def _limits(summary: pd.DataFrame) -> str:
    """A sentence for every limit: whether it is kept."""
    lines = []
    for what, loss, limit in zip(summary.iloc[:, 0], summary.iloc[:, 1], summary["limit"], strict=True):
        if limit:
            word = "broken" if str(limit).endswith("BROKEN") else "kept"
            measured = what.replace("the same, test", "worst-case loss, test")
            text = f"{measured}: {loss}, limit {str(limit).split()[0]}: {word}"
            lines.append(f'<p class="verdict {word}">{html.escape(text)}</p>')
    return "\n".join(lines)


def _sentences(verdicts: pd.DataFrame) -> str:
    """What the model does not achieve, and where another one is better."""
    lines = [
        f'<li class="{"broken" if about == GUESS else "other"}">{html.escape(sentence)}</li>'
        for about, sentence in verdicts.itertuples(index=False)
    ]
    return "<ul>\n" + "\n".join(lines) + "\n</ul>" if lines else ""


def _quality(comparison: pd.DataFrame, certificate: dict[str, Any]) -> str:
    """A table per task: its measures, those of its kind, on the training part and next to other models."""
    parts = []
    for task, kind in _ordered(comparison, certificate).items():
        rows = comparison[comparison["task"].astype(str) == task]
        unseen = "test" if "test" in set(rows["part"]) else "train"
        rows = rows[(rows["part"] == unseen) | (rows["model"] == OWN)]
        measures = [name for name in rows.columns if name not in KEYS and rows[name].notna().any()]
        table = pd.DataFrame({"measure": [name_of(name) for name in measures]})
        for record in rows.to_dict("records"):
            column = f"{record['model']}, {record['part']}"
            table[column] = [written(name, float(record[name])) for name in measures]
        unit = rows["loss_unit"].fillna("").iloc[0]
        of_losses = f", losses in {unit}" if unit else ""
        parts.append(f"<h3>{html.escape(task)} ({html.escape(kind)}{of_losses})</h3>\n{_table(table)}")
    return "\n".join(parts)


def _groups(group_quality: pd.DataFrame) -> str:
    """A table per task with a worst case over groups: mean loss and first measure of every model."""
    parts = []
    for task, rows in group_quality.groupby("task", sort=False):
        measure = str(rows["measure"].iloc[0])
        table = rows[["group", "rows"]].astype(str)
        for column in rows.columns[rows.columns.str.contains(": ")]:
            model, what = str(column).split(": ")
            shown, name = (measure, name_of(measure)) if what == "measure" else (MEAN_LOSS, what)
            table[f"{model}, {name}"] = ["" if math.isnan(value) else written(shown, value) for value in rows[column]]
        parts.append(f"<h3>{html.escape(str(task))}</h3>\n{_table(table)}")
    return "\n".join(["<h2>Group by group</h2>", *parts]) if parts else ""


def _table(frame: pd.DataFrame, kind: str = "numbers") -> str:
    return frame.fillna("").to_html(index=False, border=0, escape=True, classes=kind)


def _figure(history: pd.DataFrame, clock: pd.DataFrame, certificate: dict[str, Any], comparison: pd.DataFrame) -> str:
    content = io.BytesIO()
    draw_kkt_curves(history, clock, certificate, comparison).savefig(content, format="png", dpi=120)
    return base64.b64encode(content.getvalue()).decode()
