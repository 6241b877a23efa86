"""Every test starts with the same random seed and computes deterministically."""

import os
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

# Kedro and MLflow send no usage data.
os.environ["DO_NOT_TRACK"] = "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that parallel workers finish at about the same time."""
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
