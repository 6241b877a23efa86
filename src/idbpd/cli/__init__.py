"""The commands ``kedro run``, ``models``, ``register``, ``rollback``, ``show`` and ``sync``. Kedro finds them here."""

from typing import TYPE_CHECKING

from kedro.framework.cli.utils import LazyGroup

import idbpd.process_end  # is to be imported first
import idbpd.settings  # noqa: F401 - turns telemetry off before any plugin is loaded
from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.cli.run_command import run

__all__ = ["cli", "run"]

# A command is imported when it is called: `kedro models` needs MLflow, and `kedro --version` does not.
cli = LazyGroup(
    "idbpd",
    lazy_subcommands={
        "models": "idbpd.cli.model_commands.models",
        "register": "idbpd.cli.register_command.register",
        "rollback": "idbpd.cli.model_commands.rollback",
        "run": "idbpd.cli.run_command.run",
        "show": "idbpd.cli.show_command.show",
        "sync": "idbpd.cli.sync_command.sync",
    },
    help="Commands of this project.",
)
__getattr__ = names_from(__name__, {"run": "run_command"})  # of the packaged project: python -m idbpd
