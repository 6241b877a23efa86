from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from benchmarks.retraining_story import Ended, Night, tell

from tests.kedro_project import KedroProject


def _run(folder: Path, arguments: Sequence[str], variables: Mapping[str, str]) -> Ended:
    result = KedroProject(folder).invoke(*arguments, environment=variables)
    return Ended(result.exit_code, result.output)


@pytest.mark.slow
def test_a_week_of_retrainings_ends_as_it_should(tmp_path: Path) -> None:
    nights: list[Night] = []
    tell(tmp_path / "project", nights.append, _run)
    assert len(nights) == 7
