"""Bad input ends in one line that names the thing and what would be right, before anything is computed or written."""

import json

import pytest

from idbpd.experiment.records.folders import FolderLock
from tests.kedro_project import KedroProject


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> KedroProject:
    """One project for all commands that leave nothing behind."""
    return KedroProject.copied_to(tmp_path_factory.mktemp("untouched") / "project")


def error_of(output: str) -> str:
    """The one line that says what is wrong."""
    (line,) = [line for line in output.splitlines() if line.startswith("Error: ")]
    assert "Traceback" not in output
    return line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--params dataset=nope", "unknown data set 'nope'; known data sets are"),
        (
            "--params problem.lambda=-1",
            "parameter 'problem.lambda' = -1 is not valid: it must be greater than 0: 0.1 is",
        ),
        (
            "--params problem.lambda=0",
            "'problem.lambda' = 0 is not valid: it must be greater than 0: 0.1 is the default",
        ),
        ("--params calibration.slack=-0.1", "'calibration.slack' = -0.1 is not valid: it must be at least 0: a task"),
        ("--params calibration.threshold=0", "= 0 is not valid: input should be greater than 0"),
        ("--params checkpoint.resume=maybe", "'checkpoint.resume' = 'maybe' is not valid: input should be 'auto' or"),
        ("--params checkpoint.every_steps=0", "'checkpoint.every_steps' = 0 is not valid: input should be greater"),
        (
            "--params problem.weight_decay=-1",
            "'problem.weight_decay' = -1 is not valid: choose a number that is not neg",
        ),
        ("--params problem.weight_decay=often", "'problem.weight_decay' = 'often' is not valid: choose a number that"),
        ("--params weight_decay_search.grid=0.1+a_lot", "'weight_decay_search.grid.1' = 'a_lot' is not valid: input"),
        ("--params model.hidden=0", "parameter 'model.hidden' = 0 is not valid: input should be greater than or equal"),
        ("--params seed=-1", "parameter 'seed' = -1 is not valid"),
        ("--params seed=many", "parameter 'seed' = 'many' is not valid: input should be a valid integer"),
        ("--params problem.lambda=nan", "parameter 'problem.lambda' = 'nan' is not valid: input should be a finite"),
        ("--params training.start=warm", "parameter 'training.start' = 'warm' is not valid: input should be 'calibr"),
        ("--params compute.device=tpu", "parameter 'compute.device' = 'tpu' is not valid: choose auto, cpu"),
        ("--params compute.device=cuda:99", "parameter 'compute.device' = 'cuda:99' is not valid: this machine has"),
        ("--params lambda=0.5", "'lambda'; did you mean 'problem.lambda'? all: kedro show parameters"),
        ("--params trainig.max_steps=5", "'trainig'; did you mean 'training' or 'retrain'? all: kedro show parameters"),
        ("--params training.max_setps=5", "unknown parameter 'training.max_setps'; did you mean 'training.max_steps'?"),
        ("--params tasks.a.slak=0.2", "did you mean 'tasks.a.slack'? all: kedro show parameters tasks"),
        ("--params xyzzy=1", "unknown parameter 'xyzzy'; all: kedro show parameters"),
        ("--params comparison.sweep=0.5+2", "'comparison.sweep.1' = '2' is not valid: input should be less than 1"),
        ("--pipeline trian", "unknown pipeline 'trian'; did you mean 'retrain'? known pipelines are __default__, "),
        ("--params benchmark.datasets=chd49+nope", "unknown data set 'nope'; known data sets are 20ng, chd49, "),
        (
            "--params benchmark.methods=idbpd+adam",
            "'benchmark.methods' = 'idbpd+adam' is not valid: there is no method 'adam'; me",
        ),
        ("--params benchmark.settings=mine", "there is no setting 'mine'; settings are paper, product"),
        ("--params benchmark.seeds=0+0", "'benchmark.seeds' = '0+0' is not valid: each may be named once"),
        ("--params benchmark.seconds=0", "'benchmark.seconds' = 0 is not valid: input should be greater than 0"),
        (
            "--params training.method=discretization_cooper,compute.distributed.processes=2",
            "training.method discretization_cooper needs the worst weights of all samples in one process, and "
            "compute.distributed has 2; set compute.distributed.processes and nodes to 1, or choose a method of idbpd,",
        ),
        ("--env nowhere", "conf/nowhere"),
        ("--pipeline predict", "parameter 'input' is missing; for example: kedro run --pipeline predict"),
        ("--pipeline predict --params input=a.csv,output=b.csv", "cannot read a.csv: no such file or directory"),
        (
            "--pipeline predict --params input=a.xls,output=b.csv",
            "a.xls: a .xls file cannot be read; save the table as .csv",
        ),
        ("--pipeline training", "'calibrated_weights' of an earlier stage does not exist; start with kedro run"),
    ],
)
def test_it_is_named_in_one_line(untouched: KedroProject, arguments: str, message: str) -> None:
    assert message in error_of(untouched.kedro("run", *arguments.split(), exit_code=1))
    assert not untouched.data.exists()


def test_the_benchmark_refuses_ranks(untouched: KedroProject) -> None:
    arguments = ("--pipeline", "benchmark", "--params", "compute.distributed.processes=2")
    message = "the benchmark gives each method the processor time of one process, and compute.distributed has 2; set"
    assert message in error_of(untouched.kedro("run", *arguments, exit_code=1))


def test_a_folder_that_cannot_be_written_to_is_found_before_the_run(project: KedroProject) -> None:
    project.data.mkdir()
    (project.data / "06_models").write_text("a file where a folder should be")
    output = project.kedro("run", exit_code=1)
    assert "Error: cannot write results to" in output
    assert "06_models: Not a directory" in output
    assert [path.name for path in project.data.iterdir()] == ["06_models"]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("parameters.yml", "modle: {hidden: 3}", "unknown parameter 'modle'; did you mean 'model'?"),
        (
            "parameters.yml",
            "seed: 7",
            "'seed' is 7 in a parameters file, but 0 everywhere else; set it in conf/local/g",
        ),
        (
            "parameters.yml",
            "training: {method: cooper_adam}",
            "'training.method' is 'cooper_adam' in a parameters file, but 'idbpd' everywhere else; set it in conf/"
            "local/globals.yml (as 'method') or with --params training.method=cooper_adam",
        ),
        ("globals.yml", "method: cooper", "'training.method' = 'cooper' is not valid: methods are idbpd, idbpd_paper,"),
        (
            "parameters.yml",
            "methods: {cooper_adam: {dual_rate: 0}}",
            "'methods.cooper_adam.dual_rate' = 0 is not valid",
        ),
        ("parameters.yml", "tuning: {seconds: 0}", "parameter 'tuning.seconds' = 0 is not valid"),
        ("parameters.yml", "training: null", "parameter 'training' = None is not valid"),
        ("parameters.yml", "training: {max_steps: [", "conf/local/parameters.yml"),
        ("mlflow.yml", "enabeld: false", "unknown parameter 'mlflow.enabeld'; did you mean 'mlflow.enabled'?"),
        ("mlflow.yml", "tracking_uri: 'nowhere://x'", "cannot track runs in 'nowhere://x'"),
        ("sources.yml", "multi_digits: {type: pandas.CsvDataset, filepath: a.csv}", "the data set 'multi_digits':"),
    ],
)
def test_a_mistake_in_a_file_is_found_too(project: KedroProject, file: str, text: str, message: str) -> None:
    project.configure(file, text)
    assert message in error_of(project.kedro("run", exit_code=1))


def test_a_missing_block_is_named(project: KedroProject) -> None:
    parameters = project.path / "conf" / "base" / "parameters.yml"
    parameters.write_text(parameters.read_text().partition("\ncompute:")[0])
    output = project.kedro("run", exit_code=1)
    assert "Error: parameter 'compute' is missing; one of conf/base/parameters*.yml should have it" in output


def test_two_runs_on_one_data_set_do_not_mix(project: KedroProject) -> None:
    lock = FolderLock(project.data / ".multi_digits.lock", "the other run")
    lock.acquire()
    output = project.kedro("run", exit_code=1)
    assert "Error: another run on the data set 'multi_digits' is going on here" in output
    lock.release()
    lock.acquire()  # the run that was refused has not kept it
    lock.release()


def test_a_run_of_a_later_stage_must_ask_for_the_settled_problem(project: KedroProject) -> None:
    folder = project.data / "06_models" / "multi_digits"
    folder.mkdir(parents=True)
    (folder / "problem.json").write_text('{"lambda": 0.1, "weight_decay": 0.008}')
    asked = {"lambda": None, "loss": "auto", "worst_case": "auto", "beyond_limits": 0.3, "weight_decay": "auto"}
    (folder / "weight_decay.json").write_text(json.dumps({"asked": asked, "weight_decay": 0.008}))
    for name in ("threshold.json", "calibrated_weights.safetensors"):
        (folder / name).touch()
    inputs = project.data / "05_model_input" / "multi_digits"
    inputs.mkdir(parents=True)
    for name in ("train.safetensors", "fingerprint.json"):
        (inputs / name).touch()
    output = project.kedro("run", "--pipeline", "training", params="problem.weight_decay=0.5", exit_code=1)
    assert "'problem' of an earlier stage was made with problem.weight_decay = 'auto', this run has 0.5" in output
