"""The commands ``kedro run``, ``models``, ``register``, ``rollback`` and ``sync``. Kedro finds them in this module."""

import click

from idbpd.cli.model_commands import models, rollback
from idbpd.cli.register_command import register
from idbpd.cli.run_command import run
from idbpd.cli.sync_command import sync

__all__ = ["cli", "run"]

cli = click.Group("idbpd", commands=[run, models, register, rollback, sync], help="Commands of this project.")
