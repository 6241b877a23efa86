"""Where there is no terminal, a run says now and then that it works, on what, and how long that can take."""

import logging
import time

import pytest
from kedro.pipeline import Node, Pipeline

from idbpd import activity
from idbpd.hooks.heartbeat import HeartbeatHook
from idbpd.terminal import TerminalBar


def _nothing(x: int) -> int:
    return x


def test_a_line_says_what_is_done_and_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "idbpd")
    pipeline = Pipeline([Node(_nothing, "a", "b", name="train_constrained"), Node(_nothing, "b", "c", name="compare")])
    hook = HeartbeatHook(seconds=0.02)
    hook.before_pipeline_run(pipeline)
    hook.before_node_run(pipeline.nodes[0])
    with TerminalBar("training", 3000):
        activity.progress(10)
        time.sleep(0.1)
    hook.after_pipeline_run()
    lines = [record.getMessage() for record in caplog.records]
    start = "working for 0 s: train constrained (1 of 2 stages): training, step 10 of at most 3000 (at most "
    assert any(line.startswith(start) and line.endswith(" more)") for line in lines)
    assert activity.innermost() is None
    count = len(caplog.records)
    time.sleep(0.06)
    assert len(caplog.records) == count  # it has ended
