"""Every test starts from the same random numbers and computes the same way twice."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import torch

if TYPE_CHECKING:
    from tests.kedro_project import KedroProject

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
    # The same as torch.use_deterministic_algorithms(True), without the seconds in which that imports a compiler.
    torch.set_deterministic_debug_mode("error")
    yield
    torch.set_deterministic_debug_mode("default")
    torch.set_num_threads(threads)


@pytest.fixture
def project(tmp_path: Path) -> "KedroProject":
    from tests.kedro_project import KedroProject  # noqa: PLC0415 - Kedro and MLflow take seconds to import

    return KedroProject.copied_to(tmp_path / "project")
