"""How the choice of the weight decay looked."""

from typing import Any

from matplotlib.figure import Figure


def draw_weight_decay_curve(choice: dict[str, Any]) -> Figure:
    """Worst-case losses and hit rates on the validation part over the weight decay, with the limits and the choice.

    A number that was given has no curve: the figure says so.
    """
    curve = choice["curve"]
    if not curve:
        figure = Figure(figsize=(5, 1), layout="constrained")
        figure.text(0.5, 0.5, f"weight decay {choice['weight_decay']:g}: given, not chosen", ha="center", va="center")
        return figure
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    numbers = [point["weight_decay"] for point in curve]
    for at, task in enumerate(curve[0]["worst_case_losses"]):
        losses = [point["worst_case_losses"][task] for point in curve]
        left.plot(numbers, losses, "o-", color=f"C{at}", label=f"{task} task")
        best = min(losses) * (1 + choice["slack"])
        left.axhline(best, color=f"C{at}", linestyle=":", label=f"its best plus {choice['slack']:.0%}")
        if task in curve[0]["thresholds"]:
            limits = [point["thresholds"][task] for point in curve]
            left.plot(numbers, limits, "--", color="black", label="limit on the training data")
        right.plot(numbers, [100 * point["hit_rates"][task] for point in curve], "o-", color=f"C{at}")
    left.set(title="Validation part", ylabel="worst-case loss [nats]", yscale="log")
    right.set(title="Validation part", ylabel="hit rate [%]")
    # Zero has a place on this axis, left of the smallest number that is not.
    smallest = min((number for number in numbers if number > 0), default=1.0)
    for axes in (left, right):
        axes.axvline(choice["weight_decay"], color="C3", linewidth=5, alpha=0.3, label="chosen")
        axes.set_xscale("symlog", linthresh=smallest)
        axes.set_xticks(numbers, [f"{number:g}" for number in numbers], rotation=45)
        axes.minorticks_off()
        axes.set_xlabel("weight decay")
    left.legend()
    return figure
