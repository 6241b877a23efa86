"""The benchmark's settings are the ones that `kedro run` has."""

from typing import Any

import pytest
import yaml

from idbpd.baselines import METHODS
from idbpd.errors import ConfigurationError
from idbpd.pipelines.benchmark.parameters import BenchmarkParameters
from idbpd.validation import validated
from tests.kedro_project import PROJECT


def _parameters(environment: str) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for file in (PROJECT / "conf" / environment).glob("parameters*.yml"):
        content |= yaml.safe_load(file.read_text())
    return content


@pytest.mark.parametrize("block", ["split", "features", "problem", "calibration"])
def test_the_papers_setting_is_that_of_its_environment(block: str) -> None:
    changes = _parameters("base")["benchmark"]["changes"]["paper"]
    assert changes[block] == _parameters("paper")[block]


def test_all_methods_are_those_of_the_registry_in_its_order() -> None:
    given = _parameters("base")["benchmark"]
    assert BenchmarkParameters(**given).methods == list(METHODS)
    assert BenchmarkParameters(**{**given, "methods": "idbpd+gdma_rho2"}).methods == ["idbpd", "gdma_rho2"]
    with pytest.raises(ConfigurationError, match=r"there is no method 'alls'; methods are idbpd"):
        validated("benchmark", BenchmarkParameters, {**given, "methods": "alls"})
