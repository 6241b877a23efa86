"""How often each bound of `idbpd.mtl.bounds` is at least the truth, on losses whose worst case is known.

    PYTHONPATH=src:. python benchmarks/coverage.py

Prints the tables of docs/bounds.md. The confidence is 95 % everywhere. A cell has one number per size of the test
part: percent of the repetitions, or the median of the bound as a multiple of the truth.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

import torch
from benchmarks.coverage_truth import (
    CAP,
    DISTRIBUTIONS,
    HELD_BACK,
    PAIRS,
    WORST_CASES,
    Distribution,
    best_dual,
    check_penalties,
    draw,
    draw_pairs,
    true_value,
)
from benchmarks.coverage_variants import SortedDraws, basic, bias_corrected, percentile
from torch import Tensor

from idbpd.mtl import WorstCase, worst_weighting
from idbpd.mtl.bounds import capped_worst_case_upper, clopper_pearson_lower, empirical_bernstein_upper
from idbpd.mtl.bounds.bootstrap import LEAST_CARRIERS, ratio_upper
from idbpd.mtl.bounds.jackknife import pseudo_values, random_blocks, value_with_another_loss
from idbpd.mtl.bounds.studentised import studentised_upper
from idbpd.mtl.worst_cases import worst_values_of_draws

CONFIDENCE = 0.95
SIZES = (100, 300, 1000, 3000)
SIZES_OF_VARIANTS = (100, 300, 1000)
TRAINING = 4  # so many times as many samples are in the training part
CORRELATION = 0.9
RATIOS_MEASURED = 20  # a ratio is found by some seventy bounds: its median comes from fewer repetitions


def bounds_of_one_model(repetitions: int) -> Iterator[str]:
    """The bound in use, and next to it the variants that were considered."""
    yield _row("losses, worst case", "percentile", "basic", "BCa", "studentised", "one more")
    yield _line(6)
    in_use = ["", _row("losses, worst case", "in use", "no bound", "in use / truth"), _line(4)]
    pools = {n: SortedDraws(n, _generator(n)) for n in SIZES_OF_VARIANTS}
    for name, distribution in DISTRIBUTIONS.items():
        for case, worst_case in WORST_CASES.items():
            truth = true_value(distribution, worst_case)
            covered: list[list[float]] = [[] for _ in range(6)]
            unknown, factors = [], []
            for n in SIZES:
                losses = distribution(draw((repetitions, n), _generator(n))).sort(descending=True).values
                pseudo = torch.stack([_pseudo_values(row, worst_case, i) for i, row in enumerate(losses)])
                if n in pools:
                    bounds = [_variants(row, worst_case, pseudo[i], pools[n].of(i)) for i, row in enumerate(losses)]
                    for cell, variant in zip(covered[:3], torch.tensor(bounds).T, strict=True):
                        cell.append(_share(variant >= truth))
                    plain = studentised_upper(pseudo, confidence=CONFIDENCE, one_more=False)
                    covered[3].append(_share(plain >= truth))
                    one_more = studentised_upper(pseudo, confidence=CONFIDENCE)
                    covered[4].append(_share(one_more >= truth))
                bound, too_few = _in_use(distribution, losses, worst_case, pseudo)
                covered[5].append(_share(too_few | (bound >= truth)))
                unknown.append(_share(too_few))
                factors.append(bound.median().item() / truth)
            yield _row(f"{name}, {case}", *map(_percents, covered[:5]))
            in_use.append(_row(f"{name}, {case}", _percents(covered[5]), _percents(unknown), _factors(factors)))
    yield from in_use


def held_back_distributions(repetitions: int) -> Iterator[str]:
    """The bound in use on losses that had no part in its choice."""
    yield _row("losses, worst case", "in use", "no bound", "in use / truth")
    yield _line(4)
    for name, distribution in HELD_BACK.items():
        for case, worst_case in WORST_CASES.items():
            truth = true_value(distribution, worst_case)
            covered, unknown, factors = [], [], []
            for n in SIZES:
                losses = distribution(draw((repetitions, n), _generator(n))).sort(descending=True).values
                pseudo = torch.stack([_pseudo_values(row, worst_case, i) for i, row in enumerate(losses)])
                bound, too_few = _in_use(distribution, losses, worst_case, pseudo)
                covered.append(_share(too_few | (bound >= truth)))
                unknown.append(_share(too_few))
                factors.append(bound.median().item() / truth)
            yield _row(f"{name}, {case}", _percents(covered), _percents(unknown), _factors(factors))


def bounds_of_two_models(repetitions: int) -> Iterator[str]:
    """The paired bound where the true ratio is all that the limit allows; and an unpaired one, for its width."""
    yield _row("losses, worst case", "true ratio", "one more", "in use", "no bound", "in use / ratio")
    yield _line(6)
    for name, (distribution, reference) in PAIRS.items():
        for case, worst_case in WORST_CASES.items():
            truth = true_value(distribution, worst_case) / true_value(reference, worst_case)
            test_alone, covered, unknown, factors = [], [], [], []
            for n in SIZES:
                pairs = [
                    _pair(distribution, reference, worst_case, truth, *draw_pairs(n, TRAINING * n, CORRELATION, seed))
                    for seed in range(repetitions)
                ]
                ours, theirs, more, more_of_theirs, carriers = (torch.stack(each) for each in zip(*pairs, strict=True))
                too_few = carriers < LEAST_CARRIERS
                # The bound of the ratio is at least the true one just where the bound of this difference is positive.
                values, at_least = ours - truth * theirs, more - truth * more_of_theirs
                test_alone.append(_share(studentised_upper(values, confidence=CONFIDENCE) >= 0))
                covers = studentised_upper(values, confidence=CONFIDENCE, at_least=at_least) >= 0
                covered.append(_share(too_few | covers))
                unknown.append(_share(too_few))
                some = slice(RATIOS_MEASURED)
                ratio = ratio_upper(
                    ours[some], theirs[some], confidence=CONFIDENCE, at_least=(more[some], more_of_theirs[some])
                )
                factors.append(ratio.median().item() / truth)
            cells = (_percents(test_alone), _percents(covered), _percents(unknown), _factors(factors))
            yield _row(f"{name}, {case}", f"{truth:.2f}", *cells)


def bounds_for_every_size(repetitions: int) -> Iterator[str]:
    """The bounds of bounded losses: clipped at the cap, with the level from four times as many training losses."""
    yield _row("losses, worst case", "covered", "bound / truth", "truth of the clipped / of all")
    yield _line(4)
    for name, distribution in DISTRIBUTIONS.items():
        for case, worst_case in WORST_CASES.items():
            truth = true_value(distribution, worst_case, CAP[name])
            covered, factors = [], []
            for n in SIZES:
                generator = _generator(n)
                losses, training = (distribution(draw((repetitions, k * n), generator)) for k in (1, TRAINING))
                dual = best_dual(worst_case)
                if dual is None:
                    clipped = losses.clamp(max=CAP[name])
                    bound = empirical_bernstein_upper(clipped, 0.0, CAP[name], CONFIDENCE)
                else:
                    levels = dual.best_level(training.clamp(max=CAP[name])).tolist()
                    rows = zip(losses, levels, strict=True)
                    bounds = [
                        capped_worst_case_upper(row, dual, level, cap=CAP[name], confidence=CONFIDENCE)
                        for row, level in rows
                    ]
                    bound = torch.stack(bounds)
                covered.append(_share(bound >= truth))
                factors.append(bound.median().item() / truth)
            of_all = truth / true_value(distribution, worst_case)
            yield _row(f"{name}, {case}", _percents(covered), _factors(factors), f"{of_all:.2f}")


def bounds_of_rates(repetitions: int) -> Iterator[str]:
    """The lower bound of a rate, against that of the normal approximation."""
    yield _row("true rate", "Clopper-Pearson", "normal", "rate minus the bound, in points")
    yield _line(4)
    for rate in (0.5, 0.9, 0.99):
        exact, normal, width = [], [], []
        for n in SIZES:
            hits = (draw((repetitions, n), _generator(n)) <= rate).sum(dim=1)
            lower = {k: clopper_pearson_lower(k, n, CONFIDENCE) for k in set(hits.tolist())}
            bounds = torch.tensor([lower[k] for k in hits.tolist()])
            share = hits / n
            exact.append(_share(bounds <= rate))
            normal.append(_share(share - 1.645 * (share * (1 - share) / n).sqrt() <= rate))
            width.append(100 * (rate - bounds.median().item()))
        yield _row(f"{rate:g}", _percents(exact), _percents(normal), " ".join(f"{points:.1f}" for points in width))


def _pseudo_values(losses: Tensor, worst_case: WorstCase, seed: int) -> Tensor:
    return pseudo_values(losses, worst_case, random_blocks(len(losses), seed=seed))


def _in_use(distribution: Distribution, losses: Tensor, worst_case: WorstCase, pseudo: Tensor) -> tuple[Tensor, Tensor]:
    """The bound of every repetition, and whether too few samples carry the worst case for one."""
    repetitions, n = losses.shape
    largest = distribution(draw((repetitions, TRAINING * n), _generator(n + 1))).amax(dim=1)
    at_least = _larger(losses, worst_case, pseudo, largest)
    bound = studentised_upper(pseudo, confidence=CONFIDENCE, at_least=at_least)
    return bound, _carriers(losses, worst_case) < LEAST_CARRIERS


def _larger(losses: Tensor, worst_case: WorstCase, pseudo: Tensor, largest: Tensor) -> Tensor:
    """The pseudo-value of a loss as large as the largest seen; losses are in descending order."""
    values = []
    for seed, row in enumerate(losses):
        loss = max(largest[seed].item(), row[0].item())
        blocks = random_blocks(len(row), seed=seed)
        values.append(value_with_another_loss(row, worst_case, blocks, pseudo[seed], 0, loss))
    return torch.stack(values)


def _pair(
    distribution: Distribution,
    reference: Distribution,
    worst_case: WorstCase,
    truth: float,
    test: tuple[Tensor, Tensor],
    training: tuple[Tensor, Tensor],
) -> tuple[Tensor, ...]:
    """Pseudo-values of both models, those of the most extreme pair of the training part, and the fewest carriers."""
    both = (distribution(test[0]), reference(test[1]))
    elsewhere = (distribution(training[0]), reference(training[1]))
    sample, extreme = (int((one - truth * other).argmax()) for one, other in (both, elsewhere))
    blocks = random_blocks(len(both[0]))
    values, more, carriers = [], [], []
    for losses, others in zip(both, elsewhere, strict=True):
        # The worst cases of this benchmark want descending losses; the blocks go with their samples.
        ordered, places = losses.sort(descending=True)
        values.append(pseudo_values(ordered, worst_case, blocks[places]))
        changed = losses.clone()
        changed[sample] = others[extreme]
        effect = worst_weighting(changed.sort(descending=True).values, worst_case).value
        effect = effect - worst_weighting(ordered, worst_case).value
        more.append(values[-1][blocks[sample]] + len(values[-1]) * effect)
        carriers.append(_carriers(ordered, worst_case))
    return (*values, *more, torch.minimum(*carriers))


def _variants(losses: Tensor, worst_case: WorstCase, pseudo: Tensor, draws: Tensor) -> tuple[float, float, float]:
    values = worst_values_of_draws(losses, draws, worst_case)
    measured = worst_weighting(losses, worst_case).value.item()
    return (
        percentile(values, CONFIDENCE),
        basic(values, measured, CONFIDENCE),
        bias_corrected(values, measured, pseudo, CONFIDENCE),
    )


def _carriers(losses: Tensor, worst_case: WorstCase) -> Tensor:
    return 1 / (worst_case.maximiser(losses) ** 2).sum(dim=-1)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _share(covered: Tensor) -> float:
    return covered.double().mean().item()


def _percents(shares: Sequence[float]) -> str:
    return " ".join(f"{100 * share:.0f}" for share in shares)


def _factors(factors: Sequence[float]) -> str:
    return " ".join(f"{factor:.2f}" for factor in factors)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _line(columns: int) -> str:
    return "|" + "---|" * columns


TABLES: dict[str, Callable[[int], Iterator[str]]] = {
    "one model": bounds_of_one_model,
    "held back": held_back_distributions,
    "two models": bounds_of_two_models,
    "every size": bounds_for_every_size,
    "rates": bounds_of_rates,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="How often each bound is at least the truth.")
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    check_penalties()
    for name in arguments.tables:
        begin = time.perf_counter()
        print(f"\n{name}, n = {', '.join(map(str, SIZES))}\n")
        for line in TABLES[name](arguments.repetitions):
            print(line, flush=True)
        print(f"\n{time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
