"""What the tests in a browser share: one run on a table, its store, and one browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.browser.driver import Browser, started_browser
from tests.kedro_project import DATABASE, KedroProject

ROWS = 160
HOSTILE = '<script>document.title="taken over"</script>'
LONG = "exported_from_a_warehouse_" * 8
BLOCK: dict[str, Any] = {
    "customers": {
        "type": "idbpd.datasets.TabularDataset",
        "filepath": "data/01_raw/customers.csv",
        "tasks": {
            "churn": {"column": "churned", "worst_case": {"groups": "region"}},
            "spend": {"column": "next_month", "slack": 9.0},
            "a rather long name of a task with a limit": {"column": "next_plan", "limit": {"accuracy": 0.5}},
            "topics": ["sports", "music"],
        },
    }
}
PARAMETERS: dict[str, Any] = {
    "model": {"hidden": 4},
    "problem": {"weight_decay": 0.01},
    "calibration": {"max_steps": 30, "reserve": 0},
    "training": {"max_steps": 30},
    "comparison": {"sweep": []},
}


def customers() -> pd.DataFrame:
    random = np.random.default_rng(0)
    age, region = random.integers(18, 80, ROWS), random.choice(["north", "south", "west"], ROWS)
    return pd.DataFrame(
        {
            "age": age,
            "region": region,
            HOSTILE: random.normal(size=ROWS),
            LONG: random.normal(size=ROWS),
            "顧客 שלום": random.choice(["ä", "& <b>"], ROWS),
            "churned": np.where(age + 20 * random.normal(size=ROWS) < 40, "yes", "no"),
            "next_month": np.round(5.0 * age + random.normal(0, 10, ROWS), 2),
            "next_plan": np.where(age > 60, "family", np.where(age > 40, "single", "basic")),
            "sports": (region == "south").astype(int),
            "music": (age < 30).astype(int),
        }
    )


@pytest.fixture(scope="session")
def project_with_a_run(tmp_path_factory: pytest.TempPathFactory, database: Path) -> KedroProject:
    """A short tracked run on a table with several tasks, groups, and names that are not made for HTML."""
    project = KedroProject.copied_to(tmp_path_factory.mktemp("browser") / "project")
    for folder in (project.data / "01_raw", (project.path / DATABASE).parent):
        folder.mkdir(parents=True)
    shutil.copy(database, project.path / DATABASE)
    customers().to_csv(project.data / "01_raw" / "customers.csv", index=False)
    project.configure("sources.yml", BLOCK)
    project.configure("parameters.yml", PARAMETERS)
    project.kedro("run", params="dataset=customers")
    return project


@pytest.fixture(scope="session")
def report(project_with_a_run: KedroProject) -> Path:
    """The report of that run."""
    return project_with_a_run.data / "08_reporting" / "customers" / "report.html"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with started_browser() as window:
        yield window
