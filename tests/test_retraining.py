from pathlib import Path

import pytest
from benchmarks.retraining_story import Night, tell


@pytest.mark.slow
def test_a_week_of_retrainings_ends_as_it_should(tmp_path: Path) -> None:
    nights: list[Night] = []
    tell(tmp_path / "project", nights.append)
    assert len(nights) == 7
