"""Every test starts from the same random numbers and computes the same way twice."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import torch

PROJECT = Path(__file__).parents[1]

# The same examples at every run: what passes here passes there.
hypothesis.settings.register_profile("repeatable", derandomize=True)
hypothesis.settings.load_profile("repeatable")

# Nothing that a test does is reported anywhere.
os.environ["DO_NOT_TRACK"] = "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first: workers that share the tests then end at about the same time."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(autouse=True)
def _reproducible() -> Iterator[None]:
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(threads)


def copy_project(target: Path) -> Path:
    """A copy of the project to run in, so that a test leaves the real one's data alone."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "local")
    for folder in ("src", "conf"):
        shutil.copytree(PROJECT / folder, target / folder, ignore=ignored)
    (target / "conf" / "local").mkdir()
    for file in ("pyproject.toml", ".telemetry"):
        shutil.copy(PROJECT / file, target)
    return target


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_project(tmp_path / "project")
