"""The files for schedulers name commands and options that exist, and Airflow, where it is installed, takes the DAG."""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest
import yaml

from idbpd.exit_codes import EXIT_CODES
from idbpd.pipeline_registry import register_pipelines
from tests.kedro_project import PROJECT

DEPLOY = PROJECT / "deploy"
DAG = DEPLOY / "airflow" / "idbpd_retrain_dag.py"


def _unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "systemd" / name)
    return parser


def test_the_command_runs_the_retraining_from_any_folder(tmp_path: Path) -> None:
    """The real shell, with a stand-in for the interpreter that shows how it is called."""
    interpreter = tmp_path / "python"
    interpreter.write_text('#!/bin/sh\necho "$PWD" "$@"\nexit 3\n')
    interpreter.chmod(0o755)
    environment = {**os.environ, "IDBPD_PYTHON": str(interpreter)}
    command = [str(DEPLOY / "retrain"), "--params", "dataset=chd49"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == f"{PROJECT} -m kedro run --pipeline retrain --params dataset=chd49"
    assert done.returncode == EXIT_CODES["rejected"]
    assert "retrain" in register_pipelines()


def test_cron_and_systemd_call_that_command_every_night() -> None:
    (line,) = re.findall(r"^30 2 \* \* \* (.*)$", (DEPLOY / "cron" / "idbpd.cron").read_text(), flags=re.MULTILINE)
    assert '"$PROJECT/deploy/retrain"' in line
    service, timer = _unit("idbpd-retrain.service"), _unit("idbpd-retrain.timer")
    assert service["Service"]["ExecStart"] == f"{service['Service']['WorkingDirectory']}/deploy/retrain"
    assert int(service["Service"]["SuccessExitStatus"]) == EXIT_CODES["rejected"]
    assert timer["Timer"]["OnCalendar"] == "*-*-* 02:30:00"


def test_the_dag_is_the_one_that_kedro_airflow_makes() -> None:
    settings = yaml.safe_load((PROJECT / "conf" / "base" / "airflow.yml").read_text())["retrain"]
    template = jinja2.Template((DEPLOY / "airflow" / "one_task_dag.j2").read_text(), keep_trailing_newline=True)
    assert DAG.read_text() == template.render(package_name="idbpd", pipeline_name="retrain", **settings)
    assert f"REJECTED = {EXIT_CODES['rejected']}" in DAG.read_text()


def test_airflow_takes_the_dag(tmp_path: Path) -> None:
    airflow = os.environ.get("AIRFLOW_PYTHON", sys.executable)
    if subprocess.run([airflow, "-c", "import airflow.sdk"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no Airflow here; AIRFLOW_PYTHON can name the interpreter of an environment that has it")
    check = f"import runpy; dag = runpy.run_path({str(DAG)!r})['dag']; print(dag.dag_id, *dag.task_ids)"
    environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path)}
    done = subprocess.run([airflow, "-c", check], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip().splitlines()[-1:] == ["idbpd_retrain retrain"], done.stderr
