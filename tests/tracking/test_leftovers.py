"""What a killed run left is found and cleaned by the next one, whatever that one does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kedro_project import DATABASE, KedroProject

SHORT = "calibration.max_steps=5,training.max_steps=5,model.hidden=4,problem.weight_decay=0.001,comparison.sweep=0.5"
# A process that has opened a run, is writing a result, and dies.
KILLED = """
import os, sys
from pathlib import Path
from idbpd.datasets.partial import partial_path
from idbpd.tracking.journal import Journal
from idbpd.tracking.runs import EXECUTION_VARIABLE, track

data, uri = Path(sys.argv[1]), sys.argv[2]
os.environ["MLFLOW_TRACKING_URI"] = uri
header = {
    "store": uri, "experiment": "idbpd", "artifacts": None, "name": "killed", "tags": {}, "parameters": {}, "started": 1
}
journal = Journal.begin(data / "09_tracking/outbox/20260101T000000-a", header)
os.environ[EXECUTION_VARIABLE] = str(journal.folder)
track({"dataset": "multi_digits"}, "tags", {"begun": "yes"})
models = data / "06_models/multi_digits"
(models / "checkpoints").mkdir(parents=True, exist_ok=True)
partial_path(models / "model").mkdir()
(models / "checkpoints/train-0123456789abcdef.finished").touch()
os.kill(os.getpid(), 9)
"""


def _leave(project: KedroProject) -> None:
    command = [sys.executable, "-W", "ignore", "-c", KILLED, str(project.data)]
    subprocess.run([*command, f"sqlite:///{project.path / DATABASE}"], check=False)
    assert len(_left(project)) == 4


def _left(project: KedroProject) -> list[str]:
    found = [*project.data.rglob(".partial-*"), *project.data.rglob("*.finished"), *project.data.rglob("checkpoints")]
    outbox = project.data / "09_tracking/outbox"
    return sorted(str(path) for path in [*found, *([outbox] if outbox.exists() else [])])


def _of_the_killed(project: KedroProject) -> list[str]:
    _, runs = project.tracked_runs()
    return [run.info.status for run in runs if run.info.run_name in {"killed", "multi_digits"}]


@pytest.mark.slow
def test_an_unchanged_retraining_cleans_up_after_a_killed_one(tracked_project: KedroProject) -> None:
    project = tracked_project
    project.configure("sources.yml", {"multi_digits": {"pairs": 200}})
    project.kedro("run", "--pipeline", "retrain", params=SHORT, exit_code=3)  # rejected: five steps teach nothing
    assert _left(project) == []
    _leave(project)
    assert _of_the_killed(project) == ["RUNNING", "RUNNING"]
    assert "unchanged: " in project.kedro("run", "--pipeline", "retrain", params=SHORT)
    assert _left(project) == []
    assert _of_the_killed(project) == ["KILLED", "KILLED"]


def test_a_run_cleans_the_folders_that_it_writes_to(tracked_project: KedroProject) -> None:
    project = tracked_project
    project.configure("sources.yml", {"multi_digits": {"pairs": 200}})
    folder = project.data / "02_intermediate/multi_digits"
    folder.mkdir(parents=True)
    code = "import os, sys; from pathlib import Path; from idbpd.datasets.partial import partial_path\n"
    code += "partial_path(Path(sys.argv[1])).touch(); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(folder / "table.safetensors")], check=False)
    of_a_living = Path(folder, f".partial-1-{'0' * 8}-table.safetensors")
    of_a_living.touch()
    assert len(list(folder.iterdir())) == 2
    project.kedro("run", "--pipeline", "ingestion")
    assert sorted(path.name for path in folder.iterdir()) == [of_a_living.name, "table.safetensors"]


def test_a_run_that_was_killed_at_its_end_is_not_finished_twice(tracked_project: KedroProject) -> None:
    """The note that its process would have taken away is still there: of another process, which is dead."""
    project = tracked_project
    project.configure("sources.yml", {"multi_digits": {"pairs": 200}})
    first = ("run", "--to-nodes", "split")
    project.kedro(*first)
    (note,) = (project.data / "09_tracking").glob("ending-*.json")
    process, machine = note.name.split("-")[1:3]
    assert process == str(os.getpid())
    project.kedro(*first)  # the process runs: it is no repetition after a kill
    assert [run.info.status for run in project.tracked_runs()[1]] == ["FINISHED"] * 4
    for path in (project.data / "09_tracking").glob("ending-*.json"):
        path.unlink() if path != note else path.rename(path.with_name(f"ending-{2**22 + 1}-{machine}-a.json"))
    project.kedro("run", "--pipeline", "ingestion")  # another command
    project.kedro(*first)
    statuses = [(run.info.run_name, run.info.status) for run in project.tracked_runs()[1]]
    child = "multi_digits idbpd 0 model"
    assert sorted(status for name, status in statuses if name == child) == ["FINISHED", "FINISHED", "KILLED"]
    assert [status for name, status in statuses if name == "ingestion multi_digits"] == ["FINISHED"]
    killed = [run for run in project.tracked_runs()[1] if run.info.status == "KILLED"]
    assert len(killed) == 2
    assert {run.data.tags["repeated_by"] for run in killed} <= {
        run.data.tags["idbpd.key"] for run in project.tracked_runs()[1]
    }


SLOW_END = """
import os, sys, time

class Slow:  # lives until the modules are taken down, after all exit functions
    def __del__(self, open=os.open, flags=os.O_CREAT, sleep=time.sleep, path=os.environ["REACHED"]):
        open(path, flags)
        sleep(20)

sys.slow_end = Slow()
"""


def test_no_kill_can_come_after_the_last_act(tracked_project: KedroProject, tmp_path: Path) -> None:
    """The interpreter is not taken down any more once the note is gone: there is no time in which to be killed."""
    project, reached = tracked_project, tmp_path / "reached"
    project.configure("sources.yml", {"multi_digits": {"pairs": 200}})
    (tmp_path / "sitecustomize.py").write_text(SLOW_END)
    paths = os.pathsep.join([str(project.path / "src"), str(tmp_path)])
    environment = {"PYTHONPATH": paths, "REACHED": str(reached)}
    with project.started("run", "--to-nodes", "split", environment=environment) as process:
        while process.poll() is None and not reached.exists():
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)  # the caller would start the command once more
        output = process.communicate()[0]
    assert (process.returncode, reached.exists()) == (0, False), output
    assert not list((project.data / "09_tracking").glob("ending-*.json"))
    assert [run.info.status for run in project.tracked_runs()[1]] == ["FINISHED"] * 2


def test_a_kill_in_the_exit_functions_is_known_to_the_next_run(tracked_project: KedroProject, tmp_path: Path) -> None:
    project, reached = tracked_project, tmp_path / "reached"
    project.configure("sources.yml", {"multi_digits": {"pairs": 200}})
    with (project.path / "src/idbpd/tracking/hook.py").open("a") as file:
        file.write('if "REACHED" in os.environ:\n    atexit.register(time.sleep, 20)\n')
        file.write('    atexit.register(Path(os.environ["REACHED"]).touch)\n')
    command = ("run", "--to-nodes", "split")
    with project.started(*command, environment={"REACHED": str(reached)}) as process:
        while not reached.exists():
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert [run.info.status for run in project.tracked_runs()[1]] == ["FINISHED"] * 2
    project.kedro_process(*command)
    assert sorted(run.info.status for run in project.tracked_runs()[1]) == ["FINISHED"] * 2 + ["KILLED"] * 2
