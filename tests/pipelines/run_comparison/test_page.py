"""The page of a comparison, and what is refused before it is written."""

import pytest

from idbpd.errors import ConfigurationError
from idbpd.pipelines.run_comparison.nodes import compare_runs
from idbpd.pipelines.run_comparison.parameters import CompareParameters
from tests.pipelines.run_comparison.made_up import MadeUpStore, made_up


def _asked(**given: object) -> CompareParameters:
    return CompareParameters.model_validate({"runs": [], "dataset": None, "models": None, "last": 10, **given})


def test_only_what_differs_is_shown_and_names_are_text() -> None:
    first = made_up(loss=0.55, parameters={"seed": 0, "training.tolerance": 1e-3, "compare.runs": "x"})
    second = made_up("b" * 32, parameters={"seed": 3, "training.tolerance": 1e-3, "model.hidden": 7}, steps=9)
    verdict, summary, page = compare_runs(MadeUpStore([first, second]), _asked(dataset="customers"))
    assert verdict.startswith("BEST: B: better than the other one in churn <first> by more than chance")
    assert summary["differs in"].tolist() == ["seed=0", "seed=3, model.hidden=7"]
    assert summary["run"].tolist() == ["A", "B"]
    differing = page[page.index('id="differences"') : page.index('id="training"')]
    assert "model.hidden" in differing
    assert "tolerance" not in differing
    assert "compare.runs" not in differing
    assert "commit" not in differing
    assert "churn &lt;first&gt;" in page
    assert "churn <first>" not in page


def test_versions_have_their_numbers_and_the_champion_is_marked() -> None:
    runs = [made_up(version=3, remark="promoted"), made_up(version=4, is_champion=True, remark="promoted")]
    _, summary, page = compare_runs(MadeUpStore(runs), _asked(models="idbpd-customers"))
    assert summary["run"].tolist() == ["v3", "v4 champion"]
    assert "★ champion" in page
    assert "v3 promoted; v4 promoted" in page
    assert "Comparison of 2 versions of a model" in page


def test_runs_that_cannot_be_compared_have_no_best_one() -> None:
    runs = [made_up(loss=0.4), made_up(samples="others")]
    verdict, _, page = compare_runs(MadeUpStore(runs), _asked(runs=["a", "b"]))
    assert verdict.startswith("NOT COMPARABLE: ")
    assert "nothing here can be compared with it" in page
    assert "the best in bold" not in page


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"^say what to compare, with one of: --params compare\.runs=<id>\+<id>, .*$"),
        ({"dataset": "a", "models": "b"}, "compare.dataset and compare.models cannot both say what to compare"),
        ({"runs": "abc"}, "'compare.runs' = 'abc': one run alone cannot be compared"),
        ({"dataset": "customers"}, "'compare.dataset' = 'customers': it has one finished run only"),
        ({"models": "m"}, "'compare.models' = 'm': it has one version only"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as refused:
        compare_runs(MadeUpStore([made_up()]), _asked(**given))
    assert "\n" not in str(refused.value)
