"""Names and addresses of data sets are checked in one place, before anything is read."""

import pytest

from idbpd.errors import ConfigurationError
from idbpd.hooks.sources import check_names, require_source
from tests.hooks.test_bad_input import error_of
from tests.kedro_project import KedroProject

BLOCK = "  type: idbpd.datasets.ComposedDigitsDataset\n  pairs: 200\n  seed: 0\n"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("yes", "True: in sources.yml that is no text (YAML reads yes, no, on, off and numbers as other values)"),
        ("2026", "2026: in sources.yml that is no text"),
        ("3.5", "3.5: in sources.yml that is no text"),
        ("'2026'", "'2026': on the command line it is read as a number or as yes or no, not as a text"),
        ("'yes'", "'yes': on the command line it is read"),
        ("nan", "'nan': on the command line it is read"),
        ("../evil", "'../evil': it has '/' in it; a name has letters, digits, '_', '-' and '.', and begins with a"),
        ("a/b", "'a/b': it has '/' in it"),
        ("my table", "'my table': it has ' ' in it"),
        (".hidden", "'.hidden': it begins with '.'"),
        ("..", "'..': it begins with '.'"),
        ("it's", '"it\'s": it has "\'" in it'),
        ("benchmark", "'benchmark': the folder of that name is for other results"),
        ("x" * 101, f"'{'x' * 101}': it has 101 characters, and at most 100 are possible"),
    ],
)
def test_a_name_that_cannot_be_used_is_one_line_in_every_run(project: KedroProject, written: str, shown: str) -> None:
    project.configure("sources.yml", f"{written}:\n{BLOCK}")
    for parameters in ("", "dataset=chd49"):
        error = error_of(project.kedro("run", params=parameters, exit_code=1))
        assert f"Error: a data set cannot be named {shown}" in error
    assert not project.data.exists()


def test_every_usual_name_is_usable() -> None:
    check_names(["multi_digits", "20ng", "customers-2026.v2", "Größe", "a", "A_1", "x" * 100, "yes_no", "x1e5"])


def test_a_name_with_every_usual_sign_works_to_the_end(tracked_project: KedroProject) -> None:
    project = tracked_project
    project.configure("sources.yml", f"20.Größe_a-b:\n{BLOCK}")
    short = "calibration.max_steps=5,training.max_steps=5,model.hidden=4,problem.weight_decay=0.001"
    project.kedro("run", params=f"dataset=20.Größe_a-b,{short},comparison.sweep=0.5")
    assert (project.data / "08_reporting/20.Größe_a-b/report.html").exists()
    assert {run.data.tags["dataset"] for run in project.tracked_runs()[1] if "dataset" in run.data.tags} == {
        "20.Größe_a-b"
    }
    assert "no model is registered as idbpd-20.Größe_a-b" in project.kedro(
        "models", "--dataset", "20.Größe_a-b", exit_code=1
    )
    assert "cannot be named '../evil'" in project.kedro("models", "--dataset", "../evil", exit_code=1)


def _source(**keys: object) -> dict[str, object]:
    return {"mine": {"type": "idbpd.datasets.TabularDataset", **keys}}


@pytest.mark.parametrize(
    "address",
    [
        "http://ann:hunter2@example.org/table.csv",
        "https://hunter2@example.org/table.csv",
        "ftp://ann:hunter2@example.org/table.csv",
        "simplecache::https://ann:hunter2@example.org/table.csv",
        "https://example.org/table.csv?sv=2026&sig=hunter2",
        "https://example.org/table.csv?X-Amz-Signature=hunter2",
        "https://example.org/table.csv?access_token=hunter2",
        "s3://bucket/table.csv?key=hunter2",
    ],
)
def test_an_address_with_a_secret_is_refused_with_advice(address: str) -> None:
    for block in (
        _source(filepath=address),
        _source(filepath=["a.csv", address]),
        _source(dataset={"filepath": address}),
    ):
        with pytest.raises(ConfigurationError, match=r"add to the data set: credentials: <name") as caught:
            require_source("mine", block, ())
        assert "hunter2" not in str(caught.value)
        assert "the data set 'mine': " in str(caught.value)


def test_other_addresses_are_accepted() -> None:
    for address in (
        "https://example.org/table.csv?format=csv&page=2",
        "abfs://container@account.dfs.core.windows.net/table.csv",
        "sftp://ann@example.org/table.csv",
        "data/a@b:c/table.csv",
    ):
        require_source("mine", _source(filepath=address), ())
    require_source("mine", _source(filepath="https://example.org/t.csv", credentials="store"), {"store"})
    require_source("mine", _source(filepath="https://example.org/t.csv", credentials={"query": {"sig": "x"}}), ())
    with pytest.raises(ConfigurationError, match=r"credentials = 'shop', but conf/local/credentials.yml has no block"):
        require_source("mine", _source(filepath="https://example.org/t.csv", credentials="shop"), {"store"})


def test_a_password_in_an_address_ends_a_run_before_anything_is_written(project: KedroProject) -> None:
    source = {"type": "idbpd.datasets.TabularDataset", "filepath": "http://ann:hunter2@example.org/t.csv"}
    project.configure("sources.yml", {"mine": source})
    error = error_of(project.kedro("run", params="dataset=mine", exit_code=1))
    assert "filepath = 'http://example.org/t.csv' was given with a password or a token in the address" in error
    assert "hunter2" not in error
    assert not project.data.exists()


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            {"task": {"a": "a"}},
            "unknown key 'task'; did you mean 'tasks'? keys are filepath, tasks, labels, group,",
        ),
        ({"seperator": ";"}, "unknown key 'seperator'; keys are filepath, tasks, labels, group,"),
        (
            {"type": "idbpd.datasets.TableDataset"},
            "there is no type 'idbpd.datasets.TableDataset'; did you mean 'idbpd.datasets.TabularDataset'? a table in "
            "a CSV or Parquet file is idbpd.datasets.TabularDataset, an ARFF file idbpd.datasets.ArffDataset",
        ),
    ],
)
def test_a_key_or_type_that_there_is_not_is_refused_with_what_was_meant(block: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        require_source("mine", {"mine": {**_source(filepath="a.csv")["mine"], **block}}, ())  # type: ignore[dict-item]
    assert str(error.value).startswith(f"the data set 'mine': {message}")


def test_a_block_without_its_file_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^the data set 'mine' has no 'filepath'; it has type, tasks$"):
        require_source("mine", _source(tasks={"a": "a"}), ())


def test_a_type_of_another_package_is_left_to_kedro() -> None:
    require_source("mine", {"mine": {"type": "pandas.CSVDataset", "path": "a.csv"}}, ())
