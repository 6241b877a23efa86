"""The figure of the search for a weight decay."""

from typing import Any

from matplotlib.figure import Figure


def draw_weight_decay_curve(choice: dict[str, Any]) -> Figure:
    """Worst-case losses and hit rates on the validation part over the weight decay, with the allowed losses.

    A weight decay that was set by hand has no curve: the figure says so.
    """
    curve = choice["curve"]
    if not curve:
        figure = Figure(figsize=(5, 1), layout="constrained")
        figure.text(0.5, 0.5, f"weight decay {choice['weight_decay']:g}: given, not chosen", ha="center", va="center")
        return figure
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    # Evenly spaced, as zero has no place on a logarithmic axis.
    places = range(len(curve))
    numbers = [point["weight_decay"] for point in curve]
    for at, task in enumerate(curve[0]["worst_case_losses"]):
        losses = [point["worst_case_losses"][task] for point in curve]
        left.plot(places, losses, "o-", color=f"C{at}", label=f"{task} task")
        left.axhline(curve[0]["guesses"][task], color=f"C{at}", linestyle=":", label="a constant guess at it")
        if task in curve[0]["thresholds"]:
            allowed = [(1 + choice["margin"]) * point["thresholds"][task] for point in curve]
            left.plot(places, allowed, "--", color=f"C{at}", label=f"its limit plus {choice['margin']:.0%}")
        right.plot(places, [100 * point["hit_rates"][task] for point in curve], "o-", color=f"C{at}")
    left.set(title="Worst-case loss on the validation part", ylabel="loss [nats]")
    right.set(title="Hit rate on the validation part", ylabel="samples [%]")
    for axes in (left, right):
        axes.axvline(numbers.index(choice["weight_decay"]), color="grey", linewidth=6, alpha=0.3, label="chosen")
        axes.set_xticks(places, [f"{number:g}" for number in numbers])
        axes.set_xlabel("weight decay")
    left.legend()
    return figure
