"""How far the champion drifts when every new model is a little worse: 200 nights, with and without the yardstick.

Run it with ``PYTHONPATH=src:. python benchmarks/nightly_drift.py``; it takes some minutes. Models are made up:
the loss of a sample is exponential, times the quality of the model (1 at the start, larger is worse), times noise of
the sample and the model. Test samples are drawn anew every night. The gates are those of
``kedro run --pipeline retrain``.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.mtl import Criterion, CrossEntropy
from idbpd.mtl.worst_cases import Share
from idbpd.pipelines.retraining.comparison import Against, Comparison
from idbpd.pipelines.retraining.gates import Evidence, is_yardstick
from idbpd.pipelines.retraining.gates.not_worse_than_champion import Options, check
from idbpd.pipelines.retraining.paired import Paired, compare

CRITERION = Criterion(CrossEntropy(), Share(0.8))
NIGHTS, ROWS, WORSE = 200, 300, 1.01
NOISE = 0.3  # of each sample and model, as a share of the loss
# Whether a new model is promoted, from what is known of champion and yardstick; and whether it is the next yardstick.
Rule = Callable[[Comparison], tuple[bool, bool]]


class Model(NamedTuple):
    """A made-up model: its number, and its true quality."""

    number: int
    quality: float


def gates(margin: float) -> Rule:
    """The product's own rule."""

    def rule(comparison: Comparison) -> tuple[bool, bool]:
        evidence = Evidence({"held_out": {"tasks": {}}}, {}, {"first": 0.0}, comparison, "first")
        options = Options(margin=margin)
        return all(result.passed for result in check(evidence, options)), is_yardstick(evidence, options)

    return rule


def margin_alone(margin: float) -> Rule:
    """The rule without a memory: at most so much worse than the champion of the night before."""

    def rule(comparison: Comparison) -> tuple[bool, bool]:
        assert comparison.champion is not None
        assert comparison.champion.paired is not None
        return comparison.champion.paired.new <= (1 + margin) * comparison.champion.paired.old, False

    return rule


def paired_test_alone(comparison: Comparison) -> tuple[bool, bool]:
    """The paired test against the champion of the night before, and nothing else."""
    assert comparison.champion is not None
    assert comparison.champion.paired is not None
    return not comparison.champion.paired.is_shown_worse, False


def nights(
    rule: Rule,
    seed: int,
    *,
    of_champion: bool,
    worse: float = WORSE,
    count: int = NIGHTS,
    rows: int = ROWS,
    needs_bounds: bool = True,
) -> list[float]:
    """The true quality of the champion after each night, and that of the start first.

    A new model is ``worse`` times as bad as the champion, or else as the model of the night before.
    """
    random = torch.Generator().manual_seed(seed)
    champion = yardstick = before = Model(0, 1.0)
    qualities = [champion.quality]
    for number in range(1, count + 1):
        new = Model(number, worse * (champion if of_champion else before).quality)
        hardness = torch.empty(rows, dtype=torch.float64).exponential_(generator=random)
        losses = {model.number: _losses(model, hardness, random) for model in {champion, yardstick, new}}
        passed, is_next = rule(
            Comparison(
                _against(champion, new, losses, needs_bounds),
                None if yardstick == champion else _against(yardstick, new, losses, needs_bounds),
            )
        )
        if passed:
            champion, yardstick = new, new if is_next else yardstick
        before = new
        qualities.append(champion.quality)
    return qualities


def noise_of_a_comparison(rows: int = ROWS, repetitions: int = 200) -> float:
    """The standard deviation of the measured ratio of two equally good models."""
    random = torch.Generator().manual_seed(0)
    ratios = []
    for _ in range(repetitions):
        hardness = torch.empty(rows, dtype=torch.float64).exponential_(generator=random)
        one, other = (CRITERION.worst(_losses(Model(0, 1.0), hardness, random)).value for _ in range(2))
        ratios.append((one / other).item())
    return torch.tensor(ratios).std().item()


def _losses(model: Model, hardness: Tensor, random: torch.Generator) -> Tensor:
    noise = torch.randn(len(hardness), generator=random, dtype=torch.float64)
    return model.quality * hardness * (NOISE * noise - NOISE**2 / 2).exp()


def _against(old: Model, new: Model, losses: dict[int, Tensor], needs_bounds: bool) -> Against:
    pair = losses[new.number], losses[old.number]
    if needs_bounds:
        paired = compare(*pair, CRITERION)
    else:
        new_value, old_value = (CRITERION.worst(each).value.item() for each in pair)
        paired = Paired(new_value, old_value, len(pair[0]), None, None)
    return Against(old.number, paired, f"on the same {paired.rows} test rows")


def main(seeds: int = 4, margin: float = 0.05) -> None:
    """Print a table: how much worse the champion is after 200 nights than at the start."""
    torch.set_num_threads(1)  # the tensors are small
    print(f"standard deviation of the measured ratio of two equal models: {noise_of_a_comparison():.3f}")
    print("| a new model is | rule | median, end | largest, end |\n|---|---|---|---|")
    rules: dict[str, Rule] = {
        f"margin {margin:.0%} alone": margin_alone(margin),
        "paired test alone": paired_test_alone,
        "both, and the yardstick": gates(margin),
    }
    for name, rule in rules.items():
        for of_champion in (False, True):
            needs_bounds = name != next(iter(rules))
            ends = torch.tensor(
                [nights(rule, seed, of_champion=of_champion, needs_bounds=needs_bounds)[-1] for seed in range(seeds)]
            )
            what = "1 % worse than " + ("the champion" if of_champion else "the one before")
            print(f"| {what} | {name} | {ends.median() - 1:+.1%} | {ends.max() - 1:+.1%} |", flush=True)


if __name__ == "__main__":
    main()
