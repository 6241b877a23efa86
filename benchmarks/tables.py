"""Quality and time on tables, with the default settings, next to scikit-learn on the same rows.

    PYTHONPATH=src:. IDBPD_DATA=/path/to/data python benchmarks/tables.py --splits 0 1 2 --write docs/tables.md
    PYTHONPATH=src:. python benchmarks/tables.py wine diabetes --splits 0 1 2 3 4

Every table is run as `kedro run` runs it, with the defaults of `conf/base` and another seed of the split; nothing is
kept. scikit-learn's models get the raw columns of the same training rows. All are measured on the same test rows by
the same code. Time is that of the processor. For idbpd it has all that a model needs: the choice of the weight decay,
calibration and training. For scikit-learn it is the sum over the tasks. With several splits a cell is the mean, and
the standard deviation over the splits. `--write` puts the tables between the two marks on a page.
"""

import argparse
import contextlib
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import torch
from benchmarks.real_tables import table_of
from benchmarks.table_rivals import measure_rivals
from kedro.framework.project import pipelines
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from kedro.io import DatasetError

from idbpd.datasets.table import TaskTable
from idbpd.experiment.problem import criteria_of

PROJECT = Path(__file__).parents[1]
NAMES = ("adult", "pupils", "breast_cancer", "wine", "digits", "diabetes")  # of benchmarks/real_tables.py
# The models of a run, and the entries of the catalog that they are.
OURS = {
    "constrained": ("weights",),
    "equal weights": ("equal_weights",),
    "each alone": ("single_task_weights", "unconstrained_weights"),
}
OTHERS = ("best weights", "constant guess")  # measured, without a time of their own
BEFORE = ("ingest", "split")  # not part of training
MEASURES = {
    "binary": ("accuracy", "roc_auc", "log_loss"),
    "classes": ("accuracy", "roc_auc", "log_loss"),
    "number": ("mae", "rmse", "r2"),
}
BEGIN, END = "<!-- benchmarks/tables.py writes from here -->", "<!-- to here -->"


class Cell(NamedTuple):
    """What one model gave for one task on one split."""

    task: str
    kind: str
    model: str
    seconds: float | None  # of all tasks
    values: Mapping[str, float]


@contextlib.contextmanager
def project_of_its_own() -> Iterator[Path]:
    """A folder with the project's defaults, whatever `conf/local` says, in which nothing was calibrated before."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        shutil.copytree(PROJECT / "conf", path / "conf", ignore=shutil.ignore_patterns("local"))
        (path / "conf" / "local").mkdir()
        bootstrap_project(PROJECT)  # its code, with the configuration of the other folder
        yield path


def run(table: TaskTable, split_seed: int, seed: int) -> tuple[dict[str, Any], dict[str, float]]:
    """All results of `kedro run` up to the comparison of models, and the processor time of each node."""
    with project_of_its_own() as project:
        session = KedroSession.create(project, runtime_params={"seed": seed, "split": {"seed": split_seed}})
        catalog = session.load_context().catalog
        results: dict[str, Any] = {"source": table}
        seconds: dict[str, float] = {}
        for node in pipelines["__default__"].to_outputs("comparison").nodes:
            inputs = {name: results[name] if name in results else catalog.load(name) for name in node.inputs}
            begin = time.process_time()
            results |= node.run(inputs)
            seconds[node.name] = time.process_time() - begin
    return results, seconds


def measure(table: TaskTable, split_seed: int, seed: int) -> list[Cell]:
    """All models on one split."""
    results, seconds = run(table, split_seed, seed)
    needed = {model: _time_of(outputs, seconds) for model, outputs in OURS.items()}
    comparison = results["comparison"]
    cells = [
        Cell(row["task"], row["kind"], f"idbpd: {row['model']}", needed.get(row["model"]), row)
        for row in comparison[comparison["part"] == "test"].to_dict("records")
        if row["model"] in {*OURS, *OTHERS}
    ]
    parts = {part: results[part] for part in ("train", "test")}
    criteria = criteria_of(results["problem"])
    quality, times = measure_rivals(results["table"], results["rows"], parts, criteria, seed)
    cells += [
        Cell(task, found.kind, f"scikit-learn: {model}", times[model], found.values)
        for model, tasks in quality.items()
        for task, found in tasks.items()
    ]
    return cells


def _time_of(outputs: tuple[str, ...], seconds: Mapping[str, float]) -> float:
    needed = pipelines["__default__"].to_outputs(*outputs).nodes
    return sum(seconds[node.name] for node in needed if node.name not in BEFORE)


def tables(dataset: str, runs: list[list[Cell]]) -> str:
    """The cells of all splits as Markdown, a table per task."""
    lines = [f"### {dataset}", ""]
    first = runs[0]
    for task, kind in dict.fromkeys((cell.task, cell.kind) for cell in first):
        measures = (*MEASURES[kind], "worst_case_loss")
        named = " | ".join(name.replace("_", " ") for name in measures)
        lines += [f"`{task}` ({kind})", "", f"| model | seconds | {named} |", f"|---|{'---|' * (len(measures) + 1)}"]
        for model in dict.fromkeys(cell.model for cell in first if cell.task == task):
            found = [cell for cells in runs for cell in cells if (cell.task, cell.model) == (task, model)]
            times = [cell.seconds for cell in found if cell.seconds is not None]
            values = [_written([float(cell.values[name]) for cell in found]) for name in measures]
            spent = f"{mean(times):.1f}" if times else ""
            lines.append(f"| {model} | {spent} | {' | '.join(values)} |")
        lines.append("")
    return "\n".join(lines)


def _written(values: list[float]) -> str:
    digits = 1 if abs(mean(values)) >= 100 else 2 if abs(mean(values)) >= 10 else 3
    spread = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{spread}"


def write(page: Path, text: str) -> None:
    """Put the tables between the marks on a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{page} has no lines {BEGIN!r} and {END!r} to write between")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Measure every table named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(NAMES)}; all of them if none is named")
    parser.add_argument("--splits", type=int, nargs="+", default=[0], help="seeds of the split")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds of the networks' first weights")
    parser.add_argument("--write", type=Path, help="a page with the two marks")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.tables if name not in NAMES]
    if unknown:
        parser.error(f"no table {unknown[0]!r}; tables are {', '.join(NAMES)}")
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    pages = []
    for name in arguments.tables or NAMES:
        try:
            table = table_of(name)
        except DatasetError as error:
            print(f"{name} is skipped: {error.__cause__ or error}; set IDBPD_DATA to a folder that has its files\n")
            continue
        runs = [measure(table, split, seed) for split in arguments.splits for seed in arguments.seeds]
        pages.append(tables(name, runs))
        print(pages[-1], flush=True)
    if arguments.write:
        splits, seeds = (" ".join(map(str, given)) for given in (arguments.splits, arguments.seeds))
        write(arguments.write, f"Seeds of the split: {splits}; of the networks: {seeds}.\n\n" + "\n".join(pages))


if __name__ == "__main__":
    main()
