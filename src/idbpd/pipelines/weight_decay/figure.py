"""The figure of the search for a weight decay."""

from typing import Any

from matplotlib.figure import Figure


def draw_weight_decay_curve(choice: dict[str, Any]) -> Figure:
    """Worst-case losses and known measures on the validation part over the weight decay.

    Every measure has axes of its own: an accuracy and an error in minutes have no common scale. A weight decay that was
    set by hand has no curve: the figure says so.
    """
    curve = choice["curve"]
    if not curve:
        figure = Figure(figsize=(5, 1), layout="constrained")
        figure.text(0.5, 0.5, f"weight decay {choice['weight_decay']:g}: given, not chosen", ha="center", va="center")
        return figure
    measures = {task: next(iter(found)) for task, found in curve[0]["headlines"].items()}
    names = list(dict.fromkeys(measures.values()))
    figure = Figure(figsize=(5.5 * (1 + len(names)), 4), layout="constrained")
    left, *others = figure.subplots(1, 1 + len(names), squeeze=False)[0]
    by_measure = dict(zip(names, others, strict=True))
    # Evenly spaced, as zero has no place on a logarithmic axis.
    places = range(len(curve))
    numbers = [point["weight_decay"] for point in curve]
    for at, (task, measure) in enumerate(measures.items()):
        losses = [point["worst_case_losses"][task] for point in curve]
        left.plot(places, losses, "o-", color=f"C{at}", label=f"{task} task")
        left.axhline(curve[0]["guesses"][task], color=f"C{at}", linestyle=":", label="a constant guess at it")
        values = [point["headlines"][task][measure] for point in curve]
        by_measure[measure].plot(places, values, "o-", color=f"C{at}", label=f"{task} task")
    left.set(title="Worst-case loss on the validation part", ylabel="worst-case loss")
    for measure, axes in by_measure.items():
        name = measure.replace("_", " ")
        axes.set(title=f"{name} on the validation part", ylabel=name)
    for axes in (left, *others):
        axes.axvline(numbers.index(choice["weight_decay"]), color="grey", linewidth=6, alpha=0.3, label="chosen")
        axes.set_xticks(places, [f"{number:g}" for number in numbers])
        axes.set_xlabel("weight decay")
        axes.legend()
    return figure
