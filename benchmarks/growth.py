"""How the cost of an evaluation with both gradients grows with the number of samples and with the width.

    PYTHONPATH=src python benchmarks/growth.py

Made-up data (100 features, two tasks of five labels that see three quarters of the samples each), one thread; the
bare forward pass and the evaluation take turns, the best time of the thread counts. Writes docs/figures/growth.png.
"""

import math
import time
from pathlib import Path

import matplotlib as mpl
import torch
from torch import nn

from idbpd.mtl import CrossEntropy, MultiTaskData, Penalty, RobustMultiTask, Task, same_for_all, seeded_network

mpl.use("Agg")
from matplotlib import pyplot as plt

FEATURES, CLASSES = 100, 5
SAMPLES = (1_000, 3_000, 10_000, 30_000, 100_000, 200_000)
WIDTHS = (10, 30, 100, 300, 1000)
LAMBDAS = (1e-3, 0.1)
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "growth.png"


def made_up(samples: int) -> MultiTaskData:
    """Features at random, and classes that a linear rule with some noise gives."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(samples, FEATURES, generator=generator)
    tasks = []
    for name, begin in (("priority", 0), ("constraint", samples // 4)):
        rows = torch.arange(begin, begin + samples * 3 // 4)
        rule = torch.randn(FEATURES, CLASSES, generator=generator)
        noise = 5 * torch.randn(len(rows), CLASSES, generator=generator)
        targets = nn.functional.one_hot((features[rows] @ rule + noise).argmax(dim=1), CLASSES).float()
        tasks.append(Task(name, tuple(map(str, range(CLASSES))), rows, targets))
    return MultiTaskData(features, tuple(tasks))


def seconds(samples: int, width: int) -> tuple[float, list[float]]:
    """The best time of a forward pass, and of an evaluation with gradients for each lambda."""
    data = made_up(samples)
    network = seeded_network(FEATURES, width, data.classes, seed=0)
    x = nn.utils.parameters_to_vector(network.parameters()).detach()
    problems = [
        RobustMultiTask(
            network,
            data,
            objective="priority",
            thresholds={"constraint": 1.0},
            criteria=same_for_all(CrossEntropy(), Penalty(strength)),
        )
        for strength in LAMBDAS
    ]
    best = [math.inf] * (1 + len(problems))
    for _ in range(max(3, min(30, 300_000 // samples))):
        begin = time.thread_time()
        with torch.no_grad():
            network(data.features)
        best[0] = min(best[0], time.thread_time() - begin)
        for at, problem in enumerate(problems, start=1):
            begin = time.thread_time()
            problem.differentiate(problem.evaluate(x, problem.start(x)))
            best[at] = min(best[at], time.thread_time() - begin)
    return best[0], best[1:]


def main() -> None:
    """Print the table, draw the figure."""
    torch.set_num_threads(1)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    print("| samples | width | forward | " + " | ".join(f"lambda = {s:g}" for s in LAMBDAS) + " |\n|" + "---|" * 5)
    sweeps = {
        "samples (width 100)": [(n, 100) for n in SAMPLES],
        "width (20000 samples)": [(20_000, w) for w in WIDTHS],
    }
    for axis, (label, sweep) in zip(axes, sweeps.items(), strict=True):
        at = [n if label.startswith("samples") else width for n, width in sweep]
        measured = [seconds(*sizes) for sizes in sweep]
        for (n, width), (bare, ours) in zip(sweep, measured, strict=True):
            ratios = " | ".join(f"{s * 1e3:.2f} ms, {s / bare:.2f} x" for s in ours)
            print(f"| {n} | {width} | {bare * 1e3:.2f} ms | {ratios} |", flush=True)
        axis.loglog(at, [bare * 1e3 for bare, _ in measured], "k.--", label="bare forward pass")
        for i, strength in enumerate(LAMBDAS):
            axis.loglog(
                at, [ours[i] * 1e3 for _, ours in measured], "o-", label=f"f, g, gradients: lambda {strength:g}"
            )
        axis.set(xlabel=label, ylabel="milliseconds")
        axis.grid(visible=True, which="major", alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(FIGURE, dpi=110)
    print(f"wrote {FIGURE.relative_to(Path(__file__).parents[1])}")


if __name__ == "__main__":
    main()
