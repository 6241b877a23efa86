"""``python -m idbpd``: run the packaged project."""

import sys
from pathlib import Path

from kedro.framework.cli.utils import find_run_command
from kedro.framework.project import configure_project


def main() -> None:
    """Run the project with the options of ``kedro run``."""
    package_name = Path(__file__).parent.name
    configure_project(package_name)
    run = find_run_command(package_name)
    run(prog_name="idbpd", args=sys.argv[1:])


if __name__ == "__main__":
    main()
