"""What a node warns of is kept by node, also over runs that begin later."""

import logging
from pathlib import Path

from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Node, Pipeline
from kedro.runner import SequentialRunner, ThreadRunner
from pluggy import PluginManager

from idbpd.experiment.records.node_warnings import BEFORE, NodeWarnings
from idbpd.hooks.warnings import ENTRY, WarningsHook

logger = logging.getLogger("idbpd.somewhere")
SAID = {"first": "what first says", "second": "token=geheim-123 is what second says"}


def _first(_: NodeWarnings) -> int:
    logger.warning(SAID["first"])
    logger.info("nothing to worry about")
    return 1


def _second(_: int) -> int:
    logger.warning(SAID["second"])
    logger.warning(SAID["second"])
    return 2


PIPELINE = Pipeline(
    [
        Node(_first, inputs=ENTRY, outputs="one", name="first"),
        Node(_second, inputs="one", outputs="two", name="second"),
    ]
)


def _run(pipeline: Pipeline, folder: Path, runner: SequentialRunner | ThreadRunner) -> list[tuple[str, str]]:
    store, hook = NodeWarnings(folder), WarningsHook()
    catalog = DataCatalog({ENTRY: MemoryDataset(store, copy_mode="assign"), "one": MemoryDataset(1)})
    hooks = _registered(hook)
    hook.before_pipeline_run(PIPELINE, catalog)
    runner.run(pipeline, catalog, hooks)
    hook.after_pipeline_run()
    logger.warning("after the run")
    return [(warning.node, warning.message) for warning in store.all()]


def _registered(hook: WarningsHook) -> PluginManager:
    from kedro.framework.hooks.manager import _create_hook_manager  # noqa: PLC0415

    manager = _create_hook_manager()
    manager.register(hook)
    return manager


def test_every_warning_is_kept_once_with_its_node_and_without_secrets(tmp_path: Path) -> None:
    for runner in (SequentialRunner(), ThreadRunner()):
        found = _run(PIPELINE, tmp_path / type(runner).__name__, runner)
        assert found == [("first", SAID["first"]), ("second", "token=*** is what second says")]


def test_a_node_that_runs_again_forgets_what_it_said_and_others_do_not(tmp_path: Path) -> None:
    NodeWarnings(tmp_path).add("second", "of an earlier run", 1.0)
    NodeWarnings(tmp_path).add("first", "of an earlier run", 1.0)
    later = PIPELINE.only_nodes("second")
    assert _run(later, tmp_path, SequentialRunner()) == [
        ("first", "of an earlier run"),
        ("second", "token=*** is what second says"),
    ]


def test_a_pipeline_without_a_report_leaves_the_folder_alone(tmp_path: Path) -> None:
    hook = WarningsHook()
    hook.before_pipeline_run(Pipeline([]), DataCatalog())
    logger.warning("somewhere else")
    assert not list(tmp_path.iterdir())


def test_what_is_said_before_the_first_node_is_kept_unless_a_node_says_it_again(tmp_path: Path) -> None:
    store, hook = NodeWarnings(tmp_path), WarningsHook()
    store.add(BEFORE, "of an earlier run", 1.0)
    catalog = DataCatalog({ENTRY: MemoryDataset(store, copy_mode="assign")})
    hook.before_pipeline_run(PIPELINE, catalog)
    logger.warning("the store was half made")
    logger.warning(SAID["first"])
    SequentialRunner().run(PIPELINE, catalog, _registered(hook))
    hook.after_pipeline_run()
    assert [(warning.node, warning.message) for warning in store.all()] == [
        (BEFORE, "the store was half made"),
        ("first", SAID["first"]),
        ("second", "token=*** is what second says"),
    ]
