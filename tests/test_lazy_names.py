"""Commands that compute nothing import nothing that computes."""

import importlib
import subprocess
import sys

import pytest

from tests.kedro_project import PROJECT

HEAVY = ("torch", "mlflow", "pandas", "sklearn", "matplotlib")


@pytest.mark.parametrize("package", ["idbpd.datasets", "idbpd.tracking"])
def test_every_name_is_found(package: str) -> None:
    module = importlib.import_module(package)
    assert all(getattr(module, name) for name in module.__all__)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Nothing'"):
        module.Nothing  # noqa: B018


@pytest.mark.parametrize(
    "arguments",
    [
        ["info"],
        ["--help"],
        ["run", "--params", "training.max_setps=500"],
        ["run", "--params", "dataset=nothing"],
        ["run", "--pipeline", "trian"],
        ["run", "--params", "problem.lambda=abc"],
        ["run", "--params", "compare.last=1"],  # a block of one pipeline, and one of the last that are checked
    ],
    ids=" ".join,
)
def test_a_command_that_is_refused_imports_no_library_that_computes(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom kedro.framework.cli.cli import main\n"
        f"sys.argv = ['kedro', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('imported:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert result.stdout.endswith("imported: []\n")
