"""Print the results of a run, and where its files are."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

# Catalog metadata.
LEAD = "lead"  # print the entry, a text, before everything else
SHOW = "show"  # print the entry as a table with this title
FIT = "fit"  # columns at the right that do not fit into the terminal are left out of that table, and named
SAY = "say"  # print the entry as it is: it is a text
LOOK = "look"  # print the path of the file after this description
COMMAND = "command"  # print this command with the file as its argument

LONG = 30  # a column with more characters than this holds sentences, which are read from the left


class SummaryHook:
    """After a successful pipeline, prints the outputs whose catalog metadata ask for it."""

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Print the verdict first, then tables, then texts, then commands, then files."""
        # Without a terminal the width is fixed, so that a log file is not wrapped at 80 columns.
        console = Console(width=None if Console().is_terminal else 120)
        outputs = [node_output for node in pipeline.nodes for node_output in node.outputs]
        for name in outputs:
            if _metadata(catalog, name).get(LEAD):
                console.print(catalog.load(name), soft_wrap=True, highlight=False, markup=False, style="bold")
        for name in outputs:
            metadata = _metadata(catalog, name)
            frame = catalog.load(name) if metadata.get(SHOW) else pd.DataFrame()
            if len(frame):
                title = metadata[SHOW]
                console.print(fitting_table(title, frame, console) if metadata.get(FIT) else table_of(title, frame))
        for name in outputs:
            if _metadata(catalog, name).get(SAY):
                console.print(catalog.load(name), soft_wrap=True, highlight=False, markup=False)
        for name in outputs:
            command, path = _metadata(catalog, name).get(COMMAND), getattr(catalog[name], "path", None)
            if command and path:
                line = f"{command} {shlex.quote(str(_shown(path)))}"
                console.print(line, soft_wrap=True, highlight=False, markup=False)
        for name in outputs:
            description, path = _metadata(catalog, name).get(LOOK), getattr(catalog[name], "path", None)
            if description and path:
                console.print(f"{description}: {_shown(path)}", soft_wrap=True, highlight=False, markup=False)


def _shown(path: Path) -> Path:
    """The path relative to the working directory, if it is inside."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _metadata(catalog: DataCatalog, name: str) -> dict[str, Any]:
    return getattr(catalog[name], "metadata", None) or {}


def fitting_table(title: str, frame: pd.DataFrame, console: Console) -> Table:
    """The table in one line per row: with the names of columns in several lines, and without the last ones if need be.

    The first three columns stay: what a row is about, the value, and its limit.
    """
    short = frame.rename(columns={name: str(name).replace(" ", "\n") for name in frame.columns[1:]})
    candidates = [frame, *(short.iloc[:, :count] for count in range(short.shape[1], 2, -1))]
    tables = (table_of(title, candidate, list(frame.columns[candidate.shape[1] :])) for candidate in candidates)
    unlimited = console.options.update_width(10_000)
    return next(
        (table for table in tables if Measurement.get(console, unlimited, table).maximum <= console.width),
        table_of(title, candidates[-1], list(frame.columns[3:])),
    )


def table_of(title: str, frame: pd.DataFrame, left_out: Sequence[str] = ()) -> Table:
    """A frame as a table, which names the columns that were left out."""
    caption = f"no room for: {', '.join(left_out)}; see the report" if left_out else None
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for position, column in enumerate(frame.columns):
        is_text = position == 0 or frame[column].astype(str).str.len().max() > LONG
        table.add_column(escape(str(column)), justify="left" if is_text else "right")
    for row in frame.fillna("").itertuples(index=False):
        table.add_row(*(escape(str(value)) for value in row))  # a name may have square brackets
    return table
