"""``kedro run``, killed in each of its long stages and started again: the same results, to the last bit."""

import hashlib
import json
import signal
import time
from pathlib import Path

import pytest

from tests.kedro_project import KedroProject

PARAMETERS = ",".join(
    (
        "calibration.max_steps=100,calibration.tolerance=1e-12",
        "training.max_steps=100,training.tolerance=1e-12",
        "model.hidden=6,problem.weight_decay=1e-3,checkpoint.every_steps=4,compute.threads=1",
    )
)
# Which stage is killed, and how many seconds after its first checkpoint.
KILLS = (
    ("calibrating_constraint", 0.2),
    ("sweep_0.5", 0.1),
    ("train_unconstrained", 0.1),
)
RESULTS = (
    "06_models/multi_digits/weights.safetensors",
    "06_models/multi_digits/unconstrained_weights.safetensors",
    "06_models/multi_digits/calibrated_weights.safetensors",
    "06_models/multi_digits/single_task_weights.safetensors",
    "06_models/multi_digits/fixed_weights.safetensors",
    "06_models/multi_digits/sweep.json",
    "07_model_output/multi_digits/history.parquet",
    "08_reporting/multi_digits/certificate.json",
    "08_reporting/multi_digits/quality.json",
)


def _kill(project: KedroProject, stage: str, delay: float) -> None:
    """Start a run, and kill it so many seconds after it has written a checkpoint of that stage."""
    folder = project.data / "06_models/multi_digits/checkpoints"
    before = {path: path.stat().st_mtime_ns for path in folder.glob(f"{stage}-*.state")}
    with project.started("run", params=PARAMETERS) as process:
        while all(before.get(path) == path.stat().st_mtime_ns for path in folder.glob(f"{stage}-*.state")):
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.002)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


def _hashes(project: KedroProject) -> dict[str, str]:
    return {name: hashlib.sha256((project.data / name).read_bytes()).hexdigest() for name in RESULTS}


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_bits(tmp_path: Path) -> None:
    whole, killed = (KedroProject.copied_to(tmp_path / name) for name in ("whole", "killed"))
    for project in (whole, killed):
        project.configure("mlflow.yml", "enabled: false\n")
    whole.kedro("run", params=PARAMETERS)
    for stage, delay in KILLS:
        _kill(killed, stage, delay)
    output = killed.kedro("run", params=PARAMETERS)
    assert "kept from" in output  # calibration
    assert "train_constrained is done: step 100 after" in output
    assert "sweep_0.5 is done: step 50 after" in output
    assert "train_unconstrained goes on: step" in output
    assert _hashes(killed) == _hashes(whole)
    outcomes = [
        json.loads((project.data / "07_model_output/multi_digits/outcome.json").read_text())
        for project in (whole, killed)
    ]
    assert {**outcomes[0], "seconds": 0} == {**outcomes[1], "seconds": 0}
    # Checkpoints are deleted after success.
    assert not (killed.data / "06_models/multi_digits/checkpoints").exists()
