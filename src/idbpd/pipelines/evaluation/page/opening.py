"""The first screen: what was asked, the verdict, and what to do next."""

import math

from idbpd.experiment.headline import found_of_priority
from idbpd.experiment.limits.thresholds import Promise
from idbpd.experiment.page.judged_limit import NOT_CHECKED, SYMBOLS, Limit, css_of, verdict_heading
from idbpd.experiment.page.markup import Markup, counted, element, joined, listed, name, text
from idbpd.experiment.shown import name_of, written
from idbpd.mtl import is_better
from idbpd.mtl.bounds import Verdict
from idbpd.pipelines.evaluation.compared import ALONE
from idbpd.pipelines.evaluation.page.facts import THIS, Facts

ALL_OF_IT = 0.9  # a larger reserve is hardly a tighter limit
TITLES = {
    Verdict.HOLDS: "Every limit holds on unseen data",
    Verdict.NOT_SHOWN: "The limits are kept, but the unseen rows are too few to show it",
    Verdict.BROKEN: "A limit is broken on unseen data",
    NOT_CHECKED: "No data were held out: nothing is known about unseen data",
}


def asked(facts: Facts) -> Markup:
    """What was asked, in one sentence: task, limits, worst case and data."""
    limits = [joined([name(task), " ", promised(facts, task)]) for task in facts.limited]
    rows = facts.study["rows"]
    checked = f", checked on {counted(rows['test'])} rows that it has not seen" if "test" in rows else ""
    return joined(
        [
            "Make ",
            element("strong", name(facts.priority)),
            f" as good as it can be {_for_whom(facts)}",
            joined([", while ", _enumerated(limits), _beyond(facts)]) if limits else "",
            f". Learnt from {counted(rows['train'])} rows of ",
            element("strong", name(facts.dataset)),
            checked,
            ".",
        ]
    )


def _beyond(facts: Facts) -> str:
    """What is asked of limited tasks within their limits."""
    return ", or better where that costs the first task little" if facts.beyond_limits else ""


def _for_whom(facts: Facts) -> str:
    """Whom the worst case of the priority task protects, in a few words."""
    protected = str(facts.certificate.get("protects", {}).get(facts.priority, "")).partition(": ")[0]
    if not protected:
        return "in the worst case"
    return f"in {protected}" if protected.startswith("the mean") else f"for {protected}"


def promised(facts: Facts, task: str) -> str:
    """What is promised of a task: the end of a sentence that begins with its name."""
    promise = Promise.of_record(facts.threshold["tasks"][task])
    if promise.measure is not None and promise.level is not None:
        less = is_error(promise.measure)
        word = "at most" if less else "at least"
        return f"keeps {name_of(promise.measure)} of {word} {written(promise.measure, promise.level)}"
    if promise.loss is not None:
        return f"keeps a worst-case loss of at most {promise.loss:g}"
    if not promise.slack:
        return "stays as good as a model made for it alone"
    return f"is at most {100 * promise.slack:.3g} % worse than a model made for it alone"


def is_error(measure: str) -> bool:
    """Whether less of a measure is better."""
    return Limit(measure, 0.0, None, None, "", None, None, None).less_is_better


def verdict_box(facts: Facts) -> Markup:
    """The verdict in words, colour and symbol, with its reasons and the next step."""
    kind = css_of(facts.verdict)
    title = TITLES.get(facts.verdict, facts.verdict) if facts.limited else "No task has a limit"
    heading = verdict_heading(kind, facts.verdict, title)
    return element(
        "section",
        heading,
        listed([_priority(facts), *(_reason(facts, task) for task in facts.limited)], "reasons"),
        element("p", element("strong", "What to do next: "), joined(next_steps(facts), " "), class_="next"),
        class_=f"verdict {kind}",
        aria_labelledby="verdict-title",
    )


def _priority(facts: Facts) -> Markup:
    """How good the model is in what matters most."""
    own = facts.models(facts.priority)[THIS]
    known = {measure: value for measure, value in own.items() if not math.isnan(value)}  # others are for other kinds
    found = found_of_priority(facts.held_out, facts.priority, known)
    mark = element("span", element("span", "★ ", aria_hidden="true"), "PRIORITY", class_="mark first")
    return joined([mark, " ", element("strong", name(facts.priority)), f": {found}."])


def _reason(facts: Facts, task: str) -> Markup:
    limit = facts.limit(task)
    assert limit is not None
    what, value = name_of(limit.measure), _shown(limit, limit.value)
    kind = css_of(limit.verdict)
    side = "at most" if limit.less_is_better else "at least"
    words = [
        element("span", element("span", f"{SYMBOLS[kind]} ", aria_hidden="true"), limit.verdict, class_=f"mark {kind}"),
        " ",
        element("strong", name(task)),
        f": {what} {value}; the limit is {side} {_shown(limit, limit.limit)}",
    ]
    if limit.rows is not None:
        bound = f"it is {side} {_shown(limit, limit.bound)}" if limit.bound is not None else "nothing bounds it"
        words.append(f". With {_confidence(facts)} confidence {bound} on data like these {limit.rows} rows")
    return joined([*words, "."])


def next_steps(facts: Facts) -> list[Markup]:
    """What follows from the verdict."""
    worst = [task for task in facts.limited if (limit := facts.limit(task)) and limit.verdict == facts.verdict]
    if facts.verdict == NOT_CHECKED:
        return [text("hold rows out ("), _code("split.test_fraction=0.2"), text(") before you rely on a limit.")]
    if facts.verdict == Verdict.HOLDS:
        return [
            text(
                "use the model for what was asked. The bound is about rows like the unseen ones; when the data change,"
            ),
            _code("kedro run --pipeline retrain"),
            text("trains and checks anew."),
        ]
    if facts.verdict == Verdict.NOT_SHOWN:
        return [joined(["do not promise the limit yet. ", *(_more_rows(facts, task) for task in worst)])]
    return [
        joined(["do not rely on the limit. ", *(_more_room(facts, task) for task in worst)]),
        *(_reserve() if any(_has_reserve(facts, task) for task in worst) else ()),
        text("More rows help, too."),
        _code("kedro run --pipeline frontier"),
        text("shows what each limit costs."),
    ]


def _reserve() -> tuple[Markup, ...]:
    return (
        text("Or give up some of the priority task for it:"),
        _code("calibration.reserve=1"),
        text("trains to the tightest limit that can be kept."),
    )


def _has_reserve(facts: Facts, task: str) -> bool:
    """Whether training could have kept a tighter limit that would have helped."""
    return facts.reserve.get("tasks", {}).get(task, 1.0) < ALL_OF_IT and not _out_of_reach(facts, task)


def _out_of_reach(facts: Facts, task: str) -> bool:
    """Whether even the model made for the task alone breaks the limit."""
    limit, alone = facts.limit(task), facts.models(task).get(ALONE, {})
    return limit is not None and limit.measure in alone and is_better(limit.measure, limit.limit, alone[limit.measure])


def _more_rows(facts: Facts, task: str) -> Markup:
    limit = facts.limit(task)
    if limit is None or limit.rows_needed is None:
        return joined(["For ", name(task), " no number of rows would show it: allow more. "])
    rows = f"about {limit.rows_needed} unseen rows in place of {limit.rows} would show it for "
    return joined([rows[0].upper() + rows[1:], name(task), " if its value stays (a larger ",
                   _code("split.test_fraction"), ", or more data). "])  # fmt: skip


def _more_room(facts: Facts, task: str) -> Markup:
    """The limit that this model would keep, if it is a relative one."""
    limit = facts.limit(task)
    option = Markup(f"tasks.{text(task)}.")
    if limit is None or limit.bound is None:
        return Markup("")
    if _out_of_reach(facts, task):
        alone = written(limit.measure, facts.models(task)[ALONE][limit.measure])
        return joined(["Not even a model made for ", name(task), f" alone keeps it: it reaches {alone}. "])
    if limit.alone:
        slack = -(-100 * (limit.bound / limit.alone - 1) // 5) / 20
        return joined(["Allow more: this model would keep about ", _code(joined([option, f"slack={slack:g}"])), ". "])
    key = "limit" if limit.measure == "worst_case_loss" else f"limit.{limit.measure}"
    return joined(
        ["Allow more: this model would keep about ", _code(joined([option, f"{key}={limit.bound:.3g}"])), ". "]
    )


def _code(content: object) -> Markup:
    return element("code", content)


def _confidence(facts: Facts) -> str:
    assert facts.held_out is not None
    return f"{100 * facts.held_out.get('confidence', 0.95):g} %"


def _shown(limit: Limit, value: float | None) -> str:
    return "not known" if value is None else written(limit.measure, value)


def _enumerated(parts: list[Markup]) -> Markup:
    if len(parts) < 2:
        return joined(parts)
    return joined([joined(parts[:-1], ", "), " and ", parts[-1]])
