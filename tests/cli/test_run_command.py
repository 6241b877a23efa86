"""What ``kedro run --help`` says beside Kedro's own text."""

import re

from idbpd.cli.run_command import EPILOGUE
from idbpd.hooks.configuration import SET_ON_COMMAND_LINE, TOP_LEVEL
from idbpd.hooks.parameter_check import parameter_types
from idbpd.pipeline_registry import register_pipelines
from tests.kedro_project import KedroProject


def test_the_help_ends_with_what_is_most_often_set(project: KedroProject) -> None:
    output = project.kedro("run", "--help")
    for line in EPILOGUE.replace("\b", "").splitlines():
        assert line in output  # not wrapped
        assert len(line) <= 78
    for name in ("dataset=", "priority=", "tasks.upsell.slack=", "tasks.upsell.limit=", "tasks.spend.loss=huber"):
        assert f"  --params {name}" in output


def test_every_pipeline_and_parameter_that_the_help_names_exists() -> None:
    registered = register_pipelines()
    named = re.findall(r"--pipeline (\w+)", EPILOGUE)
    assert {"predict", "retrain", "benchmark", "report"} <= set(named) <= set(registered)
    known = {**TOP_LEVEL, **SET_ON_COMMAND_LINE, **parameter_types(registered.values())}
    given = [pair for text in re.findall(r"--params (\S+)", EPILOGUE) for pair in text.split(",")]
    assert len(given) >= 8
    assert {pair.split("=")[0].split(".")[0] for pair in given} <= set(known)
