"""MLflow's own page in a real browser: a run is found in it, its numbers, figures and tables are seen.

One server for all of it: MLflow's application by itself. The command `mlflow ui` serves the same one, and needs several
times as long for what this page does not use (jobs, workers that are started anew).
"""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.browser.driver import ABSENT, BROWSER, DRIVER, Browser
from tests.kedro_project import DATABASE, KedroProject
from tests.tracking.server import free_port, wait_for

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None or DRIVER is None, reason=ABSENT),
]
SERVE = "import sys; from mlflow.server import app; app.run(port=int(sys.argv[1]), threaded=True)"
SAYS = "document.body.innerText.includes(arguments[0])"
# A click on what has just this text.
CLICKED = """((wanted) => {
  const found = [...document.querySelectorAll("li, span, div")].filter((one) => one.innerText === wanted).pop();
  found?.click();
  return Boolean(found);
})(arguments[0])"""
# The address of a figure that has not been seen before.
FIGURE = """[...document.images].filter((one) => one.src.startsWith("blob:") && one.naturalWidth > 500)
  .map((one) => one.src).find((one) => !arguments[0].includes(one))"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of the experiment's page. The server starts while the run is made."""
    folder, port = tmp_path_factory.mktemp("mlflow"), free_port()
    link = folder / "store"  # where the run will be
    store = f"sqlite:///{link / DATABASE}"
    settings = {
        "_MLFLOW_SERVER_FILE_STORE": store,
        "_MLFLOW_SERVER_REGISTRY_STORE": store,
        "_MLFLOW_SERVER_ARTIFACT_ROOT": str(folder),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-c", SERVE, str(port)], env={**os.environ, **settings}, cwd=folder, stdout=log, stderr=log
        ) as process,
    ):
        try:
            project: KedroProject = request.getfixturevalue("project_with_a_run")
            link.symlink_to(project.path, target_is_directory=True)
            wait_for(f"http://127.0.0.1:{port}/health", process)
            _, runs = project.tracked_runs()
            yield f"http://127.0.0.1:{port}/#/experiments/{runs[0].info.experiment_id}/runs"
        finally:
            process.kill()


@pytest.fixture(scope="module")
def run_ids(project_with_a_run: KedroProject) -> dict[str, str]:
    """The ids of the runs by their names."""
    _, runs = project_with_a_run.tracked_runs()
    return {str(run.info.run_name): str(run.info.run_id) for run in runs}


def _open(browser: Browser, address: str, *expected: str) -> None:
    browser.devtools("Emulation.setDeviceMetricsOverride", width=1800, height=950, deviceScaleFactor=1, mobile=False)
    browser.command("url", url=address)
    for text in expected:
        browser.wait_until(SAYS, text)


def test_the_list_has_one_row_per_run_under_a_short_name(page: str, browser: Browser) -> None:
    _open(browser, page, "customers idbpd 0")
    assert "customers idbpd 0 model" not in browser.words()  # behind the row's plus
    assert "__default__" not in browser.words()


def test_a_run_says_what_was_found_in_words_and_a_few_grouped_numbers(
    page: str, browser: Browser, run_ids: dict[str, str]
) -> None:
    address = f"{page}/{run_ids['customers idbpd 0']}"
    _open(browser, address, "PRIORITY: churn on unseen data", "limits/spend", "solver/residual", "test/churn accuracy")


def test_tables_are_shown_and_those_of_several_runs_are_put_side_by_side(
    page: str, browser: Browser, run_ids: dict[str, str]
) -> None:
    _open(browser, f"{page}/{run_ids['customers idbpd 0']}/artifacts", "summary.json")
    _choose(browser, "hardest_samples.json", "model says")
    _choose(browser, "summary.json", "spend: its bound, test")
    _open(browser, f"{page}?compareRunsMode=ARTIFACT", "Table:", "churn: worst-case loss", "constrained")


def test_figures_and_the_report_are_shown(page: str, browser: Browser, run_ids: dict[str, str]) -> None:
    _open(browser, f"{page}/{run_ids['customers idbpd 0 model']}/artifacts", "report.html")
    seen: set[str] = set()
    for figure in ("kkt_curves.png", "loss_distribution.png", "worst_case_weights.png"):
        _choose(browser, figure)
        seen.add(browser.wait_until(FIGURE, list(seen)))
    _choose(browser, "report.html")
    browser.wait_until(
        "[...document.querySelectorAll('iframe')].some((one) => one.getBoundingClientRect().height > 99)"
    )


def _choose(browser: Browser, file: str, *expected: str) -> None:
    """Click on a file in the list of artifacts."""
    browser.wait_until(CLICKED, file)
    for text in expected:
        browser.wait_until(SAYS, text)
