"""The summary fits into the terminal, with as many columns as there is room for."""

import io

import pandas as pd
import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Node, Pipeline
from rich.console import Console

from idbpd.hooks.summary import SummaryHook, fitting_table, table_of

MODELS = ("no limits", "equal weights", "each alone", "best weights", "constant guess")
ROWS = [f"{task}: {what}" for task in ("income", "never_married") for what in ("worst-case loss", "the same, test")]
FRAME = pd.DataFrame(
    {"task: what": ROWS, "constrained": "0.8177", "limit": "0.9664 BROKEN", **dict.fromkeys(MODELS, "1.6095")}
)


def _printed(width: int, frame: pd.DataFrame = FRAME) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(fitting_table("adult", frame, console))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_six_models_fit_into_120_columns_with_short_headers() -> None:
    text = _printed(120)
    assert max(map(len, text.splitlines())) <= 120
    assert text.count("never_married: the same, test") == 1  # no row is wrapped
    assert text.count("1.6095") == len(ROWS) * len(MODELS)
    assert "no room" not in text


def test_few_models_keep_their_names_on_one_line() -> None:
    assert "equal weights" in _printed(120, FRAME.iloc[:, :5])


def test_a_model_is_left_out_and_named_before_the_table_overflows() -> None:
    text = _printed(100)
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("never_married: the same, test") == 1
    assert "no room for: best weights, constant guess; see the report" in text
    assert "limits" in text  # below its first word


def test_on_the_narrowest_terminal_the_own_model_and_its_limit_stay() -> None:
    text = _printed(40)
    assert "0.8177" in text
    assert "BROKEN" in text
    assert "1.6095" not in text


def test_names_with_square_brackets_are_printed_as_they_are() -> None:
    console = Console(width=80, file=io.StringIO(), color_system=None)
    console.print(table_of("t", pd.DataFrame({"task": ["size [cm]"], "[red]": ["[bold]"]})))
    assert isinstance(console.file, io.StringIO)
    for text in ("size [cm]", "[red]", "[bold]"):
        assert text in console.file.getvalue()


def test_a_text_is_printed_as_it_is_and_not_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    line = "train it: kedro run --params " + ",".join(f"tasks.t{at}.slack=[0.{at}]" for at in range(20))
    catalog = DataCatalog({"said": MemoryDataset(line, metadata={"say": True})})
    pipeline = Pipeline([Node(lambda text: text, inputs="anything", outputs="said", name="say")])
    SummaryHook().after_pipeline_run(pipeline, catalog)
    assert line in capsys.readouterr().out.splitlines()
