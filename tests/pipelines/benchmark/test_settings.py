"""The benchmark's settings are the ones that `kedro run` has."""

from typing import Any

import pytest
import yaml

from tests.kedro_project import PROJECT


def _parameters(environment: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((PROJECT / "conf" / environment / "parameters.yml").read_text())
    return content


@pytest.mark.parametrize("block", ["split", "features", "problem", "calibration"])
def test_the_papers_setting_is_that_of_its_environment(block: str) -> None:
    changes = _parameters("base")["benchmark"]["changes"]["paper"]
    assert changes[block] == _parameters("paper")[block]


def test_the_products_setting_has_the_default_lambda() -> None:
    base = _parameters("base")
    assert base["benchmark"]["changes"]["product"]["problem"]["lambda"] == base["problem"]["lambda"]
