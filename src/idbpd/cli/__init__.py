"""The commands ``kedro run``, ``models``, ``rollback`` and ``sync``. Kedro finds them in this module."""

import click

from idbpd.cli.model_commands import models, rollback
from idbpd.cli.run_command import run
from idbpd.cli.sync_command import sync

__all__ = ["cli", "run"]

cli = click.Group("idbpd", commands=[run, models, rollback, sync], help="Commands of this project.")
