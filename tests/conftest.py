"""Every test starts with the same random seed and computes deterministically."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import torch

if TYPE_CHECKING:
    from tests.kedro_project import KedroProject

# Hypothesis draws the same examples on every machine.
hypothesis.settings.register_profile("repeatable", derandomize=True)
hypothesis.settings.load_profile("repeatable")

# Compiled code is kept, also where the environment says otherwise. Without it every worker, and every process that a
# test starts, would compile the program and the asserts of the tests anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Kedro and MLflow send no usage data.
os.environ["DO_NOT_TRACK"] = "true"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that parallel workers finish at about the same time; keep groups together."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if not getattr(config.option, "loadgroup", False):
        return
    # pytest-xdist 3.8 marks groups in an attribute that pytest 9.2 no longer reads, so that `--dist loadgroup` groups
    # nothing and every worker prepares the shared runs anew (github.com/pytest-dev/pytest-xdist/issues/1386).
    for item in items:
        group = item.get_closest_marker("xdist_group")
        if group is not None:
            item._id = type(item._id).parse(f"{item.nodeid}@{group.args[0]}")


@pytest.fixture(autouse=True)
def _reproducible() -> Iterator[None]:
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    # The same as torch.use_deterministic_algorithms(True), without the seconds in which that imports a compiler.
    torch.set_deterministic_debug_mode("error")
    yield
    torch.set_deterministic_debug_mode("default")
    torch.set_num_threads(threads)


@pytest.fixture
def project(tmp_path: Path) -> "KedroProject":
    from tests.kedro_project import KedroProject  # noqa: PLC0415 - Kedro and MLflow take seconds to import

    return KedroProject.copied_to(tmp_path / "project")


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite store with its tables and nothing in them: MLflow takes a second to make one."""
    from idbpd.tracking.store import DATABASE, open_store  # noqa: PLC0415 - MLflow takes seconds to import

    folder = tmp_path_factory.mktemp("database")
    open_store(None, folder, "nothing")
    return folder / DATABASE


@pytest.fixture
def tracked_project(tmp_path: Path, database: Path) -> "KedroProject":
    """A project whose store has its tables already."""
    from tests.kedro_project import KedroProject  # noqa: PLC0415 - Kedro and MLflow take seconds to import

    return KedroProject.copied_to(tmp_path / "project", database)
