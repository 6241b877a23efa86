"""The page of results, in Markdown."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from idbpd.experiment.tracked.benchmark_results import BenchmarkCell
from idbpd.pipelines.report import words
from idbpd.pipelines.report.claims import FEASIBLE, PAPER, THE_SAME, Claim, Verdict, judged
from idbpd.pipelines.report.figures import EXPERIMENTS
from idbpd.pipelines.report.looks import title
from idbpd.pipelines.report.parameters import ReportParameters
from idbpd.pipelines.report.places import ordered, places
from idbpd.pipelines.report.profile import TESTS, profiles
from idbpd.pipelines.report.tables import over_seeds, shown

FIGURES = PurePosixPath("figures/results")
OURS = "idbpd"
LEVEL, BEHIND = "level", "**behind**"
COMMIT = "mlflow.source.git.commit"
WIDTH = 119


def write_page(cells: list[BenchmarkCell], report: ReportParameters) -> str:
    """All sections, from what was tracked."""
    table = over_seeds(cells)
    where = places(table)
    sections = [
        words.OPENING.format(count=len(cells), to=report.to),
        _ahead(table, where),
        _claims(cells),
        _paper_grid(cells, table),
        _profiles(cells),
        *(_place(table, dataset, setting) for dataset, setting in where),
        _how(cells),
        _failures(cells),
    ]
    return _wrapped("\n\n".join(section for section in sections if section)) + "\n"


def _wrapped(text: str) -> str:
    """Break lines that are longer than `WIDTH`; a row of a table has to stay one line."""
    lines = []
    for line in text.split("\n"):
        indent = "  " if line.startswith("- ") else ""
        fits = len(line) <= WIDTH or line.startswith("|")
        lines += [line] if fits else textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(lines)


def _ahead(table: pd.DataFrame, where: Iterable[tuple[str, str]]) -> str:
    rows, reasons = [], []
    for dataset, setting in where:
        here = table[(table["dataset"] == dataset) & (table["setting"] == setting)].set_index("method")
        if OURS not in here.index or len(here) < 2:
            continue
        others = here.drop(OURS)
        row = [title(dataset), setting]
        for quantity, form in (("objective", "{:.4f}"), ("residual", "{:.1e}")):
            values = others[quantity].fillna(np.inf)
            best, rival = float(values.min()), str(values.idxmin())
            mine = float(here[quantity].to_dict()[OURS])
            order = _order(mine, best)
            row += [_text(mine, form), f"{_text(best, form)} ({rival})" if np.isfinite(best) else "none", order]
            if order in (LEVEL, BEHIND):
                reasons.append(f"- {title(dataset)}, {setting}: {_reason(here, quantity, rival)}")
        rows.append(row)
    header = ["data set", "setting", "objective", "best of the others", "", "worst residual", "best of the others", ""]
    text = words.AHEAD.format(feasible=FEASIBLE, table=_markdown(header, rows))
    return f"{text}\n\n{words.NOT_AHEAD}\n\n" + "\n".join(reasons) if reasons else text


def _reason(here: pd.DataFrame, quantity: str, rival: str) -> str:
    """Why another method is ahead of ours, from the numbers of both."""
    own, other = (here.loc[method] for method in (OURS, rival))
    if quantity == "residual":
        if own["feasible"] > other["feasible"]:
            return words.RESIDUAL_OF_THE_INFEASIBLE.format(
                rival=rival, violation=other["infeasibility"], feasible=own["feasible"], seeds=own["seeds"]
            )
        return words.SMALLER_RESIDUAL.format(rival=rival)
    if not np.isfinite(own["objective"]):
        return words.NEVER_FEASIBLE.format(violation=own["infeasibility"], rival=rival)
    share = own["objective"] / other["objective"] - 1
    form = words.OTHER_KKT_POINT if own["residual"] <= other["residual"] else words.NOT_THERE_YET
    return form.format(rival=rival, share=share, own=own["residual"], other=other["residual"])


def _order(mine: float, best: float) -> str:
    if not np.isfinite(mine):
        return BEHIND if np.isfinite(best) else "nobody"
    if mine <= best:
        return "ahead"
    # Smaller differences in objective or residual do not count.
    return LEVEL if mine - best <= max(1e-4, 1e-3 * abs(best)) else BEHIND


def _claims(cells: Sequence[BenchmarkCell]) -> str:
    found = judged(cells)
    datasets = ordered({dataset for verdicts in found.values() for dataset in verdicts})
    if not datasets:
        return ""
    rows = []
    for claim in _measured(found):
        verdicts = found[claim]
        cells_of = [
            f"{'yes' if verdicts[name].holds else '**no**'}: {verdicts[name].number}" if name in verdicts else ""
            for name in datasets
        ]
        holds = sum(verdict.holds for verdict in verdicts.values())
        summary = f"{holds} of {len(verdicts)}" if verdicts else "not run"
        rows.append([claim.source, f"{claim.words}<br>*{claim.rule}*", summary, *cells_of])
    header = ["", "the paper's words (in short), *and the rule*", "holds on", *(title(name) for name in datasets)]
    return words.CLAIMS.format(setting=PAPER, table=_markdown(header, rows))


def _measured(found: Mapping[Claim, Mapping[str, Verdict]]) -> list[Claim]:
    """The claims whose methods were run, and those that the next one is "the same" as."""
    claims = list(found)
    following = [*claims[1:], None]
    return [
        claim
        for claim, below in zip(claims, following, strict=True)
        if found[claim] or (below is not None and below.words == THE_SAME and found[below])
    ]


def _paper_grid(cells: Sequence[BenchmarkCell], table: pd.DataFrame) -> str:
    rows = []
    for dataset, setting in places(table):
        here = [cell for cell in cells if (cell.tags["dataset"], cell.tags["setting"]) == (dataset, setting)]
        paper = [cell for cell in here if cell.tags["method"] == "idbpd_paper" and not cell.failed]
        own = [cell for cell in here if cell.tags["method"] == OURS and not cell.failed]
        theorem = [cell for cell in here if cell.tags["method"] == "idbpd_theorem2" and not cell.failed]
        if not paper or min(cell.metrics["least_infeasibility"] for cell in paper) <= FEASIBLE:
            continue
        grid = float(paper[0].parameters.get("tuning.least_infeasibility", "nan"))
        reached = [cell.metrics["seconds_to_feasible"] for cell in own if "seconds_to_feasible" in cell.metrics]
        takes = (
            f"{np.median(reached):.1f} s in {len(reached)} of {len(own)} runs" if reached else "did not reach it either"
        )
        rows.append(
            [
                title(dataset),
                setting,
                _text(grid, "{:.2g}"),
                _median_of(paper, "least_infeasibility"),
                _options(paper[0]),
                _median_of(theorem, "least_infeasibility"),
                takes,
            ]
        )
    if not rows:
        return ""
    header = [
        "data set",
        "setting",
        "best of the grid's trials",
        "its winner, full time",
        "the winner",
        "Theorem 2",
        "`idbpd`",
    ]
    return words.PAPER_GRID.format(feasible=FEASIBLE, table=_markdown(header, rows))


def _profiles(cells: Sequence[BenchmarkCell]) -> str:
    parts = []
    for setting in dict.fromkeys(cell.tags["setting"] for cell in cells):
        found = profiles([cell for cell in cells if cell.tags["setting"] == setting])
        methods = list(next(iter(found.values())))
        problems = len(next(iter(found["objective"].values())))
        rows = []
        for method in methods:
            row = [f"`{method}`"]
            for test in TESTS:
                ratios = found[test][method]
                row += [f"{np.isfinite(ratios).mean():.0%}", f"{(ratios == 1).mean():.0%}"]
            rows.append(row)
        header = ["", *(text for test in TESTS.values() for text in (f"{test}: solved", "fastest"))]
        parts.append(
            f"Setting `{setting}`, {problems} problem{'' if problems == 1 else 's'} (data sets x seeds):\n\n"
            + _markdown(header, rows)
        )
    return words.PROFILES.format(figure=FIGURES / "profiles.svg", tables="\n\n".join(parts))


def _place(table: pd.DataFrame, dataset: str, setting: str) -> str:
    here = table[(table["dataset"] == dataset) & (table["setting"] == setting)]
    frame = shown(here)
    pictures = "\n\n".join(
        f"![{title(dataset)}, {setting}]({FIGURES}/{dataset}_{setting}_{experiment}.svg)" for experiment in EXPERIMENTS
    )
    rows = [[f"`{row[0]}`", *row[1:]] for row in frame.itertuples(index=False, name=None)]
    return f"## {title(dataset)}, {setting}\n\n" + _markdown(list(frame.columns), rows) + f"\n\n{pictures}"


def _how(cells: Sequence[BenchmarkCell]) -> str:
    good = [cell for cell in cells if not cell.failed]
    if not good:
        return ""
    rows = []
    for dataset, setting in places(over_seeds(cells)):
        here = [cell for cell in good if (cell.tags["dataset"], cell.tags["setting"]) == (dataset, setting)]
        if not here:
            continue
        of = here[0].parameters
        thresholds = {cell.tags["seed"]: cell.parameters["threshold"] for cell in here}
        tuned = sorted({cell.tags["method"]: cell for cell in here if "tuning.trials" in cell.parameters}.items())
        seconds = sum(float(cell.parameters["tuning.seconds"]) for _, cell in tuned)
        rows.append(
            [
                title(dataset),
                setting,
                of["problem.lambda"],
                of["problem.weight_decay"],
                of["start"],
                ", ".join(_short(value) for value in thresholds.values()),
                of["calibration_steps"],
                of["budget_seconds"],
                f"{sum(float(cell.parameters['tuning.trials']) for _, cell in tuned):.0f} in {seconds:.0f} s",
                "; ".join(f"{method}: {_options(cell)}" for method, cell in tuned),
            ]
        )
    header = ["data set", "setting", "lambda", "weight decay", "start", "threshold r by seed", "calibration steps"]
    header += ["seconds per cell", "trials", "options chosen"]
    return words.HOW.format(
        machine=good[0].parameters["machine"],
        when=max(cell.parameters["measured_at"] for cell in good)[:10],
        commit=_commit(good),
        tolerance=good[0].parameters["tolerance"],
        table=_markdown(header, rows),
    )


def _commit(cells: Sequence[BenchmarkCell]) -> str:
    """The commits that were run, as far as they were tracked."""
    found = {
        cell.tags.get(COMMIT, "unknown")[:10] + (" with changes" if cell.tags.get("git.dirty") == "true" else "")
        for cell in cells
    }
    return ", ".join(sorted(found))


def _failures(cells: Sequence[BenchmarkCell]) -> str:
    lost = [cell for cell in cells if cell.failed]
    if not lost:
        return ""
    rows = [
        [*(cell.tags[name] for name in ("dataset", "setting", "method", "seed")), cell.tags["error"]] for cell in lost
    ]
    return "## Failed\n\n" + _markdown(["data set", "setting", "method", "seed", "why"], rows)


def _options(cell: BenchmarkCell) -> str:
    chosen = {
        name.removeprefix("options."): value for name, value in cell.parameters.items() if name.startswith("options.")
    }
    return ", ".join(f"{name} {value}" for name, value in chosen.items()) or "none"


def _median_of(cells: Sequence[BenchmarkCell], metric: str) -> str:
    return f"{np.median([cell.metrics[metric] for cell in cells]):.2g}" if cells else ""


def _short(value: str) -> str:
    try:
        return f"{float(value):.4f}"
    except ValueError:
        return value  # several thresholds


def _text(value: float, form: str) -> str:
    return form.format(value) if np.isfinite(value) else "none"


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(entry).replace("|", "\\|") for entry in line) + " |" for line in lines)
