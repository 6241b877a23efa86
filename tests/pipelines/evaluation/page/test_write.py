"""The page says what was asked and what is reached, shows everything as text, and loads nothing."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from idbpd.experiment.records.node_warnings import NodeWarnings
from idbpd.pipelines.evaluation.groups import COLUMNS
from idbpd.pipelines.evaluation.verdicts import BETTER, BROKEN, GAIN
from tests.pipelines.evaluation.page.made_up import CERTIFICATE, PARAMETERS, STUDIED, STUDY, judged, page

VOID = {"meta", "link", "input", "img"}


class _Reader(HTMLParser):
    """Checks that every element is closed in its turn, and collects texts, tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


def test_the_first_screen_has_the_question_the_verdict_and_the_next_step(tmp_path: Path) -> None:
    said = _read(page(tmp_path)).text
    question = said.index("Make churn <first> as good as it can be for whatever 80 % of the 400 samples counts, while")
    assert said[question:].split(".")[0].endswith("spend is at most 10 % worse than a model made for it alone")
    verdict = said.index("✘ BROKEN A limit is broken on unseen data")
    reason = said.index(
        "spend : worst-case loss 0.8000; the limit is at most 0.7000. With 95 % confidence it is at most"
    )
    step = said.index("What to do next: do not rely on the limit. Allow more: this model would keep about")
    assert "tasks.spend.slack=0.3" in said
    assert question < verdict < reason < step < said.index("Priority and limits on unseen data")


@pytest.mark.parametrize(
    ("changes", "symbol", "advice"),
    [
        ({"verdict": "HOLDS", "worst_case_loss": 0.6, "upper_bound": 0.65}, "✔", "use the model for what was asked"),
        (
            {"verdict": "NOT SHOWN", "worst_case_loss": 0.6, "upper_bound": 0.75, "rows_needed": 230},
            "?",
            "About 230 unseen rows in place of 100 would show it for spend",
        ),
        ({"reference": 0.6}, "✘", "Not even a model made for spend alone keeps it: it reaches 0.6400"),
    ],
)
def test_every_verdict_has_its_symbol_and_its_advice(
    tmp_path: Path, changes: dict[str, object], symbol: str, advice: str
) -> None:
    certificate = judged(**changes)
    said = _read(page(tmp_path, certificate=certificate)).text
    assert f"{symbol} {certificate['held_out']['verdict']}" in said
    assert advice in said


def test_a_limit_in_a_measure_is_shown_in_that_measure(tmp_path: Path) -> None:
    measured = {"name": "mae", "limit": 2.5, "value": 2.3149, "bound": 2.6, "alone": 2.0, "error": 2.3149}
    certificate = judged(verdict="NOT SHOWN", measured=measured, rows_needed=400, alone=None)
    threshold = {"tasks": {"spend": {"limit": {"mae": 2.5}, "slack": None, "least_room": 0.0, "threshold": 0.7}}}
    said = _read(page(tmp_path, certificate=certificate, threshold=threshold)).text
    assert "spend keeps MAE of at most 2.5" in said
    assert "MAE 2.315; the limit is at most 2.5. With 95 % confidence it is at most 2.6" in said


def test_without_unseen_data_it_says_so(tmp_path: Path) -> None:
    certificate = {**CERTIFICATE, "held_out": None}
    study = {
        **STUDY,
        "rows": {"train": 400},
        "tasks": {task: {**one, "upper_bound": None} for task, one in STUDY["tasks"].items()},
    }
    said = _read(page(tmp_path, certificate=certificate, worst_case_study=study)).text
    assert "NOT CHECKED No data were held out" in said
    assert "split.test_fraction=0.2" in said


def test_the_picture_of_a_limit_says_its_numbers_to_those_who_do_not_see_it(tmp_path: Path) -> None:
    labels = [attributes.get("aria-label") or "" for tag, attributes in _read(page(tmp_path)).seen if tag == "svg"]
    assert all(labels)
    (limit,) = [label for label in labels if label.startswith("worst-case loss of spend")]
    assert limit == (
        "worst-case loss of spend: this model 0.8000 with the bound 0.8200; each alone 0.6400; constant guess 9.0000, "
        "limit 0.7000, BROKEN"
    )


def test_it_loads_nothing_from_anywhere(tmp_path: Path) -> None:
    html = page(tmp_path)
    addresses = [
        value
        for _, attributes in _read(html).seen
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data", "srcset") and value is not None
    ]
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    without_names = html.replace("http://www.w3.org/2000/svg", "")
    assert "http" not in without_names
    assert "@import" not in html
    assert "url(" not in html


def test_names_that_people_chose_are_text(tmp_path: Path) -> None:
    html = page(tmp_path)
    reader = _read(html)
    assert "<script>alert(1)</script>" in reader.text
    assert [tag for tag, _ in reader.seen].count("script") == 2  # our own: the times of all steps, and the program
    assert "<west>" in reader.text
    assert "c" * 300 in reader.text
    json.loads(html[html.index('class="moments">') + len('class="moments">') :].split("</script>")[0])


def test_secrets_are_hidden(tmp_path: Path) -> None:
    html = page(tmp_path)
    assert PARAMETERS["model"]["options"]["api_key"] not in html
    assert "model.options.api_key" in html


def test_all_warnings_of_the_run_are_repeated(tmp_path: Path) -> None:
    warnings = NodeWarnings(tmp_path / "warnings")
    warnings.add("settle_weight_decay", "the plan task is no better than a guess", 2.0)
    warnings.add("ingest", "column <b> looks like a leak", 1.0)
    said = _read(page(tmp_path, node_warnings=warnings)).text
    assert "Warnings (3)" in said
    places = [
        said.index(text)
        for text in (
            "on unseen data: this model is not clearly <better>",
            "reading the data: column <b> looks like a leak",
            "choosing the weight decay: the plan task is no better than a guess",
        )
    ]
    assert places == sorted(places)
    nothing = _read(page(tmp_path / "other", verdicts=pd.DataFrame(columns=["about", "verdict"]))).text
    assert "The run gave no warning." in nothing


def test_tables_have_captions_and_headers_with_a_scope(tmp_path: Path) -> None:
    html = page(tmp_path)
    tags = [tag for tag, _ in _read(html).seen]
    assert tags.count("table") == tags.count("caption") > 5
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in _read(html).seen if tag == "th")


def test_what_is_said_of_other_models_stands_under_its_own_heading(tmp_path: Path) -> None:
    sentences = {BROKEN: "no limits breaks it", GAIN: "constrained is better than no limits", BETTER: "weights win"}
    verdicts = pd.DataFrame(list(sentences.items()), columns=["about", "verdict"])
    said = _read(page(tmp_path, verdicts=verdicts)).text
    order = (
        "another model is",
        "weights win",
        "Where this model",
        "this model is better than",
        "limits they",
        "breaks",
    )
    assert re.search(".*".join(order), said, flags=re.DOTALL)
    assert "None of them is better" not in said
    assert "None of them is better" in _read(page(tmp_path / "other", verdicts=verdicts[:2])).text


def test_quality_is_next_to_other_models_and_group_by_group(tmp_path: Path) -> None:
    html = page(tmp_path)
    quality = html[html.index('id="quality"') :]
    first = quality[: quality.index("</table>")]
    assert re.findall(r'<th scope="col">(.*?)</th>', first) == [
        *("measure", "this model, unseen", "this model, training", "equal weights"),
    ]
    cells = re.findall(r"<td>(.*?)</td>", first)
    assert cells == ["0.5500", "0.5000", "<strong>0.5000</strong>", "86.1%", "90.0%", "<strong>87.0%</strong>"]
    assert "Group by group" in quality
    assert "Group by group" not in page(tmp_path, group_quality=pd.DataFrame(columns=COLUMNS))


def test_provenance_has_fingerprint_versions_and_a_command(tmp_path: Path) -> None:
    said = _read(page(tmp_path)).text
    assert "kedro run --params dataset=customers,seed=0" in said
    assert "d" * 64 in said
    assert re.search(r"torch \d+\.\d+", said)
    assert "training.tolerance 0.001" in said


def test_a_long_run_has_few_points_with_the_largest_residuals_and_ends_where_it_ended(tmp_path: Path) -> None:
    steps = range(2001)
    history = pd.DataFrame({"step": steps, "objective": 1.0, "constraint": -0.1, "stationarity": 0.5, "slackness": 0.0})
    history["infeasibility"] = 0.0
    history.loc[1000, "stationarity"] = 77.0
    history.loc[2000, "stationarity"] = 1e-4
    html = page(tmp_path, history=history, clock=pd.DataFrame({"step": steps, "seconds": 0.001 * history["step"]}))
    points = [json.loads(attributes.get("data-points") or "{}") for tag, attributes in _read(html).seen if tag == "svg"]
    (residuals,) = [found["v"]["s1"] for found in points if len(found.get("y", {})) == 3][:1]
    assert len(residuals) <= 200
    assert "77" in residuals
    assert residuals[-1] == "0.0001"


def test_images_are_shown_as_images(tmp_path: Path) -> None:
    sample = {**STUDIED["hardest"][0], "image": "AAAA", "columns": {}}
    tasks = {task: {**one, "hardest": [sample], "standing_out": []} for task, one in STUDY["tasks"].items()}
    html = page(tmp_path, worst_case_study={**STUDY, "content": "images", "tasks": tasks})
    pictures = [attributes for tag, attributes in _read(html).seen if tag == "img"]
    assert [picture["src"] for picture in pictures] == ["data:image/png;base64,AAAA"] * 2
    assert pictures[0]["alt"] == "row 17: true yes, model says no 91%"
    assert "Only the labels of this task are named." in html  # an image of two digits shows one that is not its own


def test_a_run_of_one_step_and_a_loss_that_is_not_finite_can_be_drawn(tmp_path: Path) -> None:
    history = pd.DataFrame(
        {"step": [0], "objective": [float("inf")], "constraint": [0.1], "stationarity": 0.0, "infeasibility": 0.1}
        | {"slackness": [float("nan")]}
    )
    html = page(tmp_path, history=history, clock=pd.DataFrame({"step": [0], "seconds": [0.0]}))
    assert not re.search(r'\s(x1|y1|cx|cy|d)="[^"]*(nan|inf)', html)


def test_the_search_for_a_weight_decay_is_drawn_and_a_given_number_is_a_sentence(tmp_path: Path) -> None:
    points = [(0.001, 0.4), (0.01, 0.3), (0.1, 0.6)]
    curve = [{"weight_decay": number, "ratios": {"spend": ratio}} for number, ratio in points]
    chosen = {"weight_decay": 0.01, "curve": curve, "alone": {"spend": 0.1}, "curves_alone": {"spend": curve}}
    labels = [attributes.get("aria-label") for tag, attributes in _read(page(tmp_path, weight_decay=chosen)).seen]
    assert [label for label in labels if label and label.startswith("Chosen")] == [
        "Chosen: 0.01, with spend 0.30",
        "Chosen: 0.1, with spend 0.60",
    ]
    assert "Weight decay 0.001: given, not chosen." in _read(page(tmp_path)).text
