"""Credentials are planted wherever a user keeps them, and looked for everywhere a run leaves something."""

import json
import logging
import sys
from pathlib import Path

import pytest

from idbpd import redaction
from idbpd.redaction import RedactingFilter, redact, redacted
from tests.kedro_project import KedroProject
from tests.tracking.server import free_port

SHORT = "calibration.max_steps=5,training.max_steps=5,model.hidden=4,problem.weight_decay=0.001"
PLANTED = {
    "in an address": "hunter2-in-the-address",
    "in the credentials file": "hunter2-in-the-file",
    "in a password variable": "hunter2-in-the-password",
    "in a token variable": "hunter2-in-the-token",
    "in a cloud key": "hunter2-in-the-cloud-key",
}


def _files_with(secret: str, folder: Path) -> list[str]:
    ours = {folder / "conf/local/credentials.yml", folder / "conf/local/mlflow.yml"}  # where it was planted
    files = [path for path in folder.rglob("*") if path.is_file() and path not in ours]
    return [str(path) for path in files if secret.encode() in path.read_bytes()]


@pytest.mark.slow
def test_no_planted_secret_is_found_in_store_outbox_files_or_logs(project: KedroProject) -> None:
    """With a server that is away, so that everything waits on disk; then with a store that takes what it gets."""
    project.configure("sources.yml", {"multi_digits": {"pairs": 200}})
    project.configure("credentials.yml", {"storage": {"secret": PLANTED["in the credentials file"]}})
    away = f"http://ann:{PLANTED['in an address']}@127.0.0.1:{free_port()}"
    project.configure("mlflow.yml", {"tracking_uri": away})
    environment = {
        "MLFLOW_TRACKING_PASSWORD": PLANTED["in a password variable"],
        "MLFLOW_TRACKING_TOKEN": PLANTED["in a token variable"],
        "AWS_SECRET_ACCESS_KEY": PLANTED["in a cloud key"],
    }
    output = project.kedro_process("run", params=SHORT, environment=environment)
    assert "the tracking store cannot be reached" in output
    assert list((project.data / "09_tracking/outbox").iterdir())  # there is something to look at
    unknown = "nowhere-" + PLANTED["in a token variable"]
    mistake = project.kedro("run", "--pipeline", unknown, environment=environment, exit_code=1)
    assert "unknown pipeline 'nowhere-***'" in mistake
    (project.path / "conf/local/mlflow.yml").unlink()
    tracked = project.kedro("run", "--pipeline", "ingestion", environment=environment)
    assert (project.data / "09_tracking/mlflow.db").stat().st_size > 0
    for where, secret in PLANTED.items():
        assert secret not in output + mistake + tracked, where
        assert _files_with(secret, project.path) == [], where


NETWORK = """
from torch import nn

class Net(nn.Module):
    def __init__(self, features, classes, token, pin, login, width):
        super().__init__()
        assert token == "hunter2-of-the-network" and pin == "1b" and login == {"password": 987654321}, (token, pin)
        self.shared = nn.Sequential(nn.Linear(features, width), nn.Tanh())
        self.heads = nn.ModuleDict({task: nn.Linear(width, count) for task, count in classes.items()})

    def forward(self, features):
        shared = self.shared(features)
        return {task: head(shared) for task, head in self.heads.items()}
"""
OPTIONS = (
    "model.type=guarded_network.Net,model.options.token=hunter2-of-the-network,model.options.pin=1b,"
    "model.options.login.password=987654321,model.options.width=4"
)


@pytest.mark.slow
def test_the_token_of_a_network_is_given_to_it_and_stands_nowhere(
    tracked_project: KedroProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run is a process of its own, so that the token stands on a command line too."""
    project = tracked_project
    (tmp_path / "guarded_network.py").write_text(NETWORK)
    monkeypatch.syspath_prepend(tmp_path)
    environment = {"PYTHONPATH": f"{project.path / 'src'}:{tmp_path}"}
    project.configure("sources.yml", {"multi_digits": {"pairs": 200}})
    parameters = f"{SHORT.replace('model.hidden=4,', '')},comparison.sweep=0.5,{OPTIONS}"
    retrain = ("run", "--pipeline", "retrain")
    output = project.kedro_process(*retrain, params=parameters, environment=environment, exit_code=3)
    outcome = json.loads((project.data / "07_model_output/multi_digits/outcome.json").read_text())
    assert outcome["made_with"]["model.options"]["width"] == 4
    assert outcome["made_with"]["model.options"]["token"].startswith("*** ")
    _, (parent, child) = project.tracked_runs()
    assert child.data.params["model.options.token"].startswith("*** ")
    assert "model.options.token=***," in parent.data.tags["command"]
    wrong = parameters.replace("width=4", "height=4")  # the message shows the options that were given
    output += project.kedro("run", params=wrong, exit_code=1)
    # The options are known again: a retraining has nothing to do.
    assert "unchanged: " in project.kedro(*retrain, params=parameters)
    other = project.kedro("run", params=parameters.replace("hunter2-of-the-network", "another-one"), exit_code=1)
    assert "AssertionError: ('***'" in other
    for secret in ("hunter2-of-the-network", "987654321", "another-one"):
        assert secret not in output + other
        assert _files_with(secret, project.path) == []


def test_texts_are_redacted_at_any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "abcdef123")
    assert (
        redact("key abcdef123 at ftp://ann:pw@host/x and mail ann@host") == "key *** at ftp://host/x and mail ann@host"
    )
    assert redacted({"a": ["abcdef123", 1.5, None], "b": {"c": "https://t0ken@host"}}) == {
        "a": ["***", 1.5, None],
        "b": {"c": "https://host"},
    }


def test_a_password_of_digits_and_every_telling_name_are_recognised(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DB_PASS", "SIGNING_KEY", "DEPLOY_KEY_2", "GPG_PASSPHRASE"):
        monkeypatch.setenv(name, f"planted as {name}")
        assert redact(f"it is 'planted as {name}'") == "it is '***'"
    monkeypatch.setenv("KEYBOARD", "german")
    monkeypatch.setattr(redaction, "remembered", set())
    redaction.remember_credentials({"storage": {"password": 987654321, "user": None, "secure": True}})
    error = RuntimeError("987654321 does not open it, german")
    redaction.print_redacted(RuntimeError, error, None)
    assert capsys.readouterr().err == "RuntimeError: *** does not open it, german\n"


def test_a_short_value_is_a_word_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "0.1")
    assert redact("lambda = 0.1") == "lambda = 0.1"


def test_a_log_record_with_a_traceback_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PASSWORD", "abcdef123")
    try:
        raise ValueError("refused: abcdef123")
    except ValueError:
        information = sys.exc_info()
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "login as %s failed", ("abcdef123",), information)
    assert RedactingFilter().filter(record)
    text = logging.Formatter().format(record)
    assert "abcdef123" not in text
    assert "login as *** failed" in text
    assert "ValueError: refused: ***" in text
