"""Priority and limits on unseen data: what was measured, what it is at most, and the limit, next to other models."""

from idbpd.experiment.page.interval_chart import Bar, interval_chart
from idbpd.experiment.page.judged_limit import Limit, badge, css_of
from idbpd.experiment.page.markup import Markup, element, figure, joined, name
from idbpd.experiment.shown import name_of
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.evaluation.page.facts import THIS, Facts


def interval_panel(facts: Facts, task: str) -> Markup:
    """The picture of one task."""
    limit = facts.limit(task)
    measure = WORST_CASE if limit is None else limit.measure
    models = facts.models(task)
    own = models[THIS][measure] if limit is None or limit.value is None else limit.value
    bound = facts.study["tasks"][task]["upper_bound"] if limit is None else limit.bound
    bars = [Bar(THIS, own, bound, "first" if limit is None else css_of(limit.verdict), is_own=True)]
    bars += [Bar(model, found[measure]) for model, found in models.items() if model != THIS]
    return figure(
        _title(task, limit),
        interval_chart(bars, measure, limit, task),
        _caption(facts, task, measure, limit, bound),
        "chart interval",
    )


def _title(task: str, limit: Limit | None) -> Markup:
    if limit is None:
        return joined([name(task), " ", element("span", "has priority", class_="badge first")])
    return joined([name(task), " ", badge(limit.verdict)])


def _caption(facts: Facts, task: str, measure: str, limit: Limit | None, bound: float | None) -> str:
    unit = facts.unit(task) if measure.endswith("_loss") else ""
    less = limit is None or limit.less_is_better
    what = (
        f"{name_of(measure)}{f' in {unit}' if unit else ''} on {facts.where}; {'less' if less else 'more'} is better."
    )
    return what if bound is None else f"{what} The bar ends at the bound of this model."


LEGEND = (
    ("equal weights", "the plain sum of all mean losses"),
    ("no limits", "the priority task alone, then answers for the others from what it learnt"),
    ("each alone", "a model of its own for every task"),
    ("best weights", "the best of a sweep over fixed weights of the tasks"),
    ("constant guess", "the best answer that looks at no column"),
)


def legend(facts: Facts) -> Markup:
    """What the other models are, and what the marks mean."""
    present = {model for task in facts.kinds for model in facts.models(task)}
    terms = [
        element("div", element("dt", model), element("dd", meaning)) for model, meaning in LEGEND if model in present
    ]
    marks = (
        "A cross is a model that breaks the limit; the shaded side of the line is beyond it. " if facts.limited else ""
    )
    note = f"{marks}An arrow is a model far outside. The measured value may be lucky; the bound is what to rely on."
    return element(
        "div",
        element("h3", "The other models"),
        element("dl", *terms, class_="legend"),
        element("p", note, class_="note"),
        class_="chart key-panel",
    )
