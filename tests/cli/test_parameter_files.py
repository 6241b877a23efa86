"""The names in the files of parameters, by which a mistyped one is refused at once."""

from pathlib import Path

import pytest
import yaml
from kedro.framework.project import pipelines
from kedro.framework.startup import bootstrap_project

from idbpd.cli.parameter_files import CHANGES, check_given
from idbpd.errors import ConfigurationError
from idbpd.hooks.configuration import SET_ON_COMMAND_LINE, TOP_LEVEL
from idbpd.hooks.parameter_check import parameter_types
from idbpd.validation import parameter_names
from tests.kedro_project import PROJECT

CONF = PROJECT / "conf"


def test_the_files_name_every_parameter_that_a_node_takes_and_no_other() -> None:
    bootstrap_project(PROJECT)
    typed = parameter_names({**TOP_LEVEL, **SET_ON_COMMAND_LINE, **parameter_types(pipelines.values())})
    written: dict[str, object] = {}
    for path in (CONF / "base").glob("parameters*.yml"):
        written |= yaml.safe_load(path.read_text())
    assert sorted(typed) == sorted(_names(written, ""))


def _names(block: dict[str, object], name: str) -> list[str]:
    names = []
    for key, value in block.items():
        full = f"{name}{key}"
        names += [full, *(_names(value, f"{full}.") if isinstance(value, dict) and full != CHANGES else [])]
    return names


@pytest.mark.parametrize(
    "given",
    [
        {"seed": 1, "training": {"max_steps": 5}},
        {"tasks": {"any": {"slack": 0.1}}, "model": {"options": {"depth": 3}}},  # empty in the files
        {"problem": {"worst_case": {"share": 0.2}}},  # a value in the files
        {"methods": {"mine": {"rate": 1}}, "retrain": {"mine": 1}},  # an extension of the program
        {"dataset": "multi_digits"},
        {"dataset": 5},  # the types know that it must be a text
    ],
)
def test_what_could_be_right_is_left_to_the_types(given: dict[str, object]) -> None:
    check_given(given, CONF, None)


def test_files_of_the_environment_count_too(tmp_path: Path) -> None:
    for env, text in (("base", "seed: 1"), ("mine", "extra: {a: 1}")):
        (tmp_path / env).mkdir()
        (tmp_path / env / "parameters.yml").write_text(text)
    check_given({"extra": {"a": 2}}, tmp_path, "mine")
    with pytest.raises(ConfigurationError, match="unknown parameter 'extra'"):
        check_given({"extra": {"a": 2}}, tmp_path, "other")
    with pytest.raises(ConfigurationError, match=r"unknown parameter 'extra\.b'; all: kedro show parameters extra"):
        check_given({"extra": {"b": 2}}, tmp_path, "mine")


def test_a_configuration_that_is_in_no_folder_is_left_to_kedro(tmp_path: Path) -> None:
    check_given({"anything": 1}, tmp_path / "conf.tar.gz", None)
