"""Print the results of a run, and where its files are."""

import shlex
from pathlib import Path
from typing import Any

import pandas as pd
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from rich.console import Console
from rich.table import Table

# Catalog metadata.
SHOW = "show"  # print the entry as a table with this title
LOOK = "look"  # print the path of the file after this description
COMMAND = "command"  # print this command with the file as its argument


class SummaryHook:
    """After a successful pipeline, prints the outputs whose catalog metadata ask for it."""

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Print tables first, then commands, then files."""
        # Without a terminal the width is fixed, so that a log file is not wrapped at 80 columns.
        console = Console(width=None if Console().is_terminal else 120)
        outputs = [node_output for node in pipeline.nodes for node_output in node.outputs]
        for name in outputs:
            title = _metadata(catalog, name).get(SHOW)
            if title:
                console.print(_table(title, catalog.load(name)))
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


def _table(title: str, frame: pd.DataFrame) -> Table:
    table = Table(title=title, title_justify="left")
    for position, column in enumerate(frame.columns):
        table.add_column(str(column), justify="left" if position == 0 else "right")
    for row in frame.fillna("").itertuples(index=False):
        table.add_row(*(str(value) for value in row))
    return table
