"""The number of threads is what was asked for, whatever OpenMP was told by the environment."""

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import cast

import pytest
import torch
from kedro.framework.context import KedroContext

from idbpd.experiment.machine.computing import computing, threads_for
from idbpd.experiment.machine.thread_team import is_dynamic, most_threads, set_dynamic
from idbpd.hooks.compute import ComputeHook

ASK = """
from idbpd.experiment.machine.computing import computing
from idbpd.experiment.machine.thread_team import is_dynamic
import torch
before = is_dynamic()
with computing({threads!r}, deterministic=True):
    print(before, is_dynamic(), torch.get_num_threads())
assert is_dynamic() == before
"""


@pytest.mark.parametrize(
    ("threads", "environment", "told"),
    [
        (2, {"OMP_DYNAMIC": "true"}, "True False 2"),
        ("auto", {"OMP_DYNAMIC": "true", "OMP_NUM_THREADS": "2"}, "True False 2"),
        # Fewer threads than asked for are what the run says that it had.
        (2, {"OMP_THREAD_LIMIT": "1"}, "False False 1"),
    ],
)
def test_the_load_of_the_machine_has_no_say(threads: int | str, environment: dict[str, str], told: str) -> None:
    if most_threads() is None:
        pytest.skip("torch has no OpenMP library of its own here")
    done = subprocess.run(
        [sys.executable, "-c", ASK.format(threads=threads)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == told


def test_afterwards_all_is_as_before() -> None:
    if most_threads() is None:
        pytest.skip("torch has no OpenMP library of its own here")
    before = torch.get_num_threads(), is_dynamic()
    try:
        set_dynamic(dynamic=True)
        with computing(1, deterministic=False):
            assert (torch.get_num_threads(), is_dynamic()) == (1, False)
        assert (torch.get_num_threads(), is_dynamic()) == (before[0], True)
    finally:
        set_dynamic(dynamic=before[1])


def test_products_of_float32_are_not_rounded_to_fewer_bits() -> None:
    """Torch's own default rounds convolutions on CUDA to TF32; a person may have asked for more of it."""
    places = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [place.allow_tf32 for place in places]
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        with computing(1, deterministic=False):
            assert [place.allow_tf32 for place in places] == [False, False]
            # torch.export asks for these settings, and fails where they were made in two ways.
            torch.export.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),))
        assert [place.allow_tf32 for place in places] == [True, before[1]]
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before[0]


def test_only_large_features_are_worth_all_threads() -> None:
    small, large = (SimpleNamespace(features=torch.empty(rows, 1000, device="meta")) for rows in (9_999, 10_000))
    assert threads_for(["a parameter", small, None], 8) == 1
    assert threads_for([small, large], 8) == 8


def test_a_run_has_the_threads_that_its_data_are_worth() -> None:
    before, hook = torch.get_num_threads(), ComputeHook()
    large = SimpleNamespace(features=torch.empty(10_000, 1000, device="meta"))
    loader = {"parameters": {"compute": {"threads": "auto", "deterministic": False}}}
    try:
        torch.set_num_threads(2)
        hook.after_context_created(cast("KedroContext", SimpleNamespace(config_loader=loader)))
        hook.before_pipeline_run()
        counts = []
        for inputs in ({"train": large}, {"seed": 0}, {"seed": 0, "train": large}):
            hook.before_node_run(inputs)
            counts.append(torch.get_num_threads())
        hook.after_pipeline_run()
        assert (counts, torch.get_num_threads()) == ([2, 1, 2], 2)
    finally:
        torch.set_num_threads(before)
