import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

PROJECT = Path(__file__).parents[1]

# Nothing that a test does is reported anywhere.
os.environ["DO_NOT_TRACK"] = "true"


@pytest.fixture(autouse=True)
def _deterministic() -> Iterator[None]:
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project to run in, so that a test leaves the real one's data alone."""
    copy = tmp_path / "project"
    for folder in ("src", "conf"):
        shutil.copytree(
            PROJECT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "local")
        )
    (copy / "conf" / "local").mkdir()
    for file in ("pyproject.toml", ".telemetry"):
        shutil.copy(PROJECT / file, copy)
    return copy
