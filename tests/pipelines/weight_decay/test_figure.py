"""The figure of the search has axes for every measure."""

from idbpd.pipelines.weight_decay.candidate import Candidate
from idbpd.pipelines.weight_decay.figure import draw_weight_decay_curve


def _candidate(weight_decay: float, accuracy: float, error: float) -> Candidate:
    headlines = {"income": {"accuracy": accuracy}, "hours": {"mae": error}, "topics": {"accuracy": accuracy / 2}}
    losses = dict.fromkeys(headlines, 0.5)
    return Candidate(weight_decay, losses, headlines, dict.fromkeys(headlines, 0.7))


def test_measures_are_drawn_by_their_names_each_on_axes_of_its_own() -> None:
    curve = [_candidate(0.0, 0.8, 12.0)._asdict(), _candidate(0.1, 0.9, 9.0)._asdict()]
    left, accuracy, error = draw_weight_decay_curve({"curve": curve, "weight_decay": 0.1}).axes
    assert [axes.get_ylabel() for axes in (left, accuracy, error)] == ["worst-case loss", "accuracy", "mae"]
    drawn = {
        str(line.get_label()): list(line.get_ydata())  # type: ignore[arg-type]
        for axes in (accuracy, error)
        for line in axes.get_lines()
        if line.get_marker() == "o"
    }
    assert drawn == {"income task": [0.8, 0.9], "topics task": [0.4, 0.45], "hours task": [12.0, 9.0]}
