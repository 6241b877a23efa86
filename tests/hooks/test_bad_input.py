"""Bad input ends in one line that names the thing and what would be right, before anything is computed or written."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kedro.framework.startup import bootstrap_project

from idbpd.cli import cli


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> "Run":
    monkeypatch.chdir(project)
    # The command turns to the project's own logging, which belongs to the whole process.
    monkeypatch.setenv("KEDRO_LOGGING_CONFIG", "left alone")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return Run(project)


class Run:
    def __init__(self, project: Path) -> None:
        self.project = project

    def __call__(self, *arguments: str) -> Result:
        return CliRunner().invoke(cli, ["run", *arguments], obj=bootstrap_project(self.project))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--params dataset=nope", "unknown data set 'nope'; known data sets are"),
        ("--params problem.lambda=-1", "parameter 'problem.lambda' = -1 is not valid: input should be greater than 0"),
        ("--params model.hidden=0", "parameter 'model.hidden' = 0 is not valid: input should be greater than or equal"),
        ("--params seed=-1", "parameter 'seed' = -1 is not valid"),
        ("--params seed=many", "parameter 'seed' = 'many' is not valid: input should be a valid integer"),
        ("--params problem.lambda=nan", "parameter 'problem.lambda' = 'nan' is not valid: input should be a finite"),
        ("--params training.start=warm", "parameter 'training.start' = 'warm' is not valid: input should be 'calibr"),
        ("--params compute.device=tpu", "parameter 'compute.device' = 'tpu' is not valid: choose auto, cpu"),
        ("--params compute.device=cuda:99", "parameter 'compute.device' = 'cuda:99' is not valid: this machine has"),
        ("--params lambda=0.5", "unknown parameter 'lambda'; did you mean 'problem.lambda'? valid parameters are"),
        ("--params trainig.max_steps=5", "unknown parameter 'trainig'; did you mean 'training'? valid parameters are"),
        ("--params training.max_setps=5", "unknown parameter 'training.max_setps'; did you mean 'training.max_steps'?"),
        ("--pipeline trian", "unknown pipeline 'trian'; known pipelines are __default__, "),
        ("--env nowhere", "conf/nowhere"),
    ],
)
def test_it_is_named_in_one_line(run: Run, arguments: str, message: str) -> None:
    result = run(*arguments.split())
    assert result.exit_code != 0
    errors = [line for line in result.output.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in result.output
    assert not (run.project / "data").exists()


def test_a_folder_that_cannot_be_written_to_is_found_before_the_run(run: Run) -> None:
    (run.project / "data").mkdir()
    (run.project / "data" / "06_models").write_text("a file where a folder should be")
    result = run()
    assert result.exit_code != 0
    assert "Error: cannot write results to" in result.output
    assert "06_models: Not a directory" in result.output
    assert [path.name for path in (run.project / "data").iterdir()] == ["06_models"]


def test_a_misspelt_key_in_a_file_is_found_too(run: Run) -> None:
    (run.project / "conf" / "local" / "parameters.yml").write_text("modle:\n  hidden: 3\n")
    result = run()
    assert "Error: unknown parameter 'modle'; did you mean 'model'?" in result.output
