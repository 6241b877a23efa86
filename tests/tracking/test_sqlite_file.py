"""The SQLite file of a local store: killed while it is made, made by several at once, and found half-made."""

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mlflow import MlflowClient

from idbpd.errors import ConfigurationError
from idbpd.tracking import sqlite_file
from idbpd.tracking.store import DATABASE, open_store

# Opens a store, and dies by SIGKILL just after the statement of this number, or that has this text.
KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import event
from sqlalchemy.engine import Engine
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from idbpd.tracking.store import open_store

done = 0

def killed_at(moment):
    def count(connection, cursor, statement, *_):
        global done
        done += 1
        if done == moment or (isinstance(moment, str) and moment in statement):
            os.kill(os.getpid(), signal.SIGKILL)
    event.listen(Engine, "after_cursor_execute", count)

def in_a_child(function):
    child = os.fork()
    if not child:
        function()
        os._exit(0)
    return os.waitpid(child, 0)[1]
"""
MIDDLE = "CREATE TABLE _alembic_tmp_latest_metrics"


def _python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED + code, *arguments], capture_output=True, text=True, check=False
    )


def _half_made(path: Path) -> None:
    """What MLflow leaves of its database when it is killed while it makes one in place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    code = f"killed_at({MIDDLE!r}); SqlAlchemyStore('sqlite:///' + sys.argv[1], 'artifacts')"
    assert _python(code, str(path)).returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_a_store_that_works(tmp_path: Path) -> None:
    code = f"""
for moment in (1, 2, 40, {MIDDLE!r}, 300, "INSERT INTO experiments"):
    folder = Path(sys.argv[1]) / str(moment).replace(" ", "-")
    killed = in_a_child(lambda: (killed_at(moment), open_store(None, folder, "test")))
    again = in_a_child(lambda: open_store(None, folder, "test"))
    print(moment, killed, again, sorted(path.name for path in folder.iterdir()))
"""
    output = _python(code, str(tmp_path)).stdout.splitlines()
    assert len(output) == 6
    for line in output:
        assert line.endswith(f" {int(signal.SIGKILL)} 0 ['{DATABASE}']"), output


@pytest.mark.slow
def test_several_processes_make_one_store(tmp_path: Path) -> None:
    code = """
while not Path(sys.argv[1], "go").exists(): pass
open_store(None, Path(sys.argv[1]), "test")
"""
    command = [sys.executable, "-W", "ignore", "-c", KILLED + code, str(tmp_path)]
    together = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    (tmp_path / "go").touch()
    assert [process.communicate()[1] for process in together] == [""] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["go", DATABASE]
    names = [experiment.name for experiment in MlflowClient(f"sqlite:///{tmp_path / DATABASE}").search_experiments()]
    assert sorted(names) == ["Default", "test"]


def test_a_half_made_store_is_set_aside_with_a_sentence_that_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite_file, "QUIET_SECONDS", 0.0)
    _half_made(tmp_path / DATABASE)
    useless = _python("SqlAlchemyStore('sqlite:///' + sys.argv[1], 'artifacts')", str(tmp_path / DATABASE))
    assert "_alembic_tmp_latest_metrics already exists" in useless.stderr  # why it has to go
    store = open_store(None, tmp_path, "test")
    assert MlflowClient(store.uri).get_experiment_by_name("test") is not None
    (aside,) = tmp_path.glob(f"{DATABASE}.half-made-*")
    (line,) = [record.getMessage() for record in caplog.records if "half-made" in record.getMessage()]
    assert f"{tmp_path / DATABASE} was not made to its end" in line
    assert f"set aside as {aside.name}" in line
    assert sorted(path.name for path in tmp_path.iterdir()) == [DATABASE, aside.name]


def test_a_store_that_somebody_makes_right_now_is_waited_for(
    tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tables are there already when the second look is taken."""
    path = tmp_path / DATABASE
    path.touch()

    def finished_meanwhile(seconds: float) -> None:
        _copy(database, tmp_path / "whole").replace(path)

    monkeypatch.setattr(time, "sleep", finished_meanwhile)
    sqlite_file.make_whole(path, "artifacts")
    assert [entry.name for entry in tmp_path.iterdir()] == [DATABASE]
    assert path.read_bytes() == database.read_bytes()


def _copy(source: Path, target: Path) -> Path:
    target.write_bytes(source.read_bytes())
    return target


def test_what_is_no_half_made_store_is_left_alone(tmp_path: Path, database: Path) -> None:
    text = tmp_path / "text" / DATABASE
    text.parent.mkdir()
    text.write_text("my notes" * 100)
    with pytest.raises(ConfigurationError, match="file is not a database"):
        open_store(None, text.parent, "test")
    assert text.read_text() == "my notes" * 100
    old = _copy(database, tmp_path / DATABASE)  # of another version of MLflow: it has experiments, and perhaps runs
    with sqlite3.connect(old) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '451aebb31d03'")
    connection.close()
    with pytest.raises(ConfigurationError, match="out-of-date database schema"):
        open_store(None, tmp_path, "test")
    assert not list(tmp_path.glob("*half-made*"))
