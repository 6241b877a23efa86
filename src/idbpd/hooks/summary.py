"""The last thing a person sees: what came out, and where to look."""

import shlex
from pathlib import Path
from typing import Any

import pandas as pd
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from rich.console import Console
from rich.table import Table

SHOW = "show"  # catalog metadata: print this data set as a table, under this title
LOOK = "look"  # catalog metadata: name this file to the reader, in these words
COMMAND = "command"  # catalog metadata: print this command with the file as its argument


class SummaryHook:
    """Prints what the catalog's entries ask to be shown, once the pipeline that made them has ended well."""

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Tables first, then files."""
        # The width is fixed where there is no terminal to ask, so that a log file is not folded at 80 columns.
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
    """The path as somebody in this working directory would type it."""
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
