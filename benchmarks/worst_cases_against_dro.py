"""The exact worst cases of this project next to those of the package ``dro`` (0.4.3), where they overlap.

``dro`` requires CUDA packages through torch, so it is no dependency, and no test needs it. Install it beside the
environment, without its requirements, and run:

    pip install --no-deps --target /tmp/dro dro==0.4.3
    PYTHONPATH=src:. python benchmarks/worst_cases_against_dro.py /tmp/dro

Losses are random. A linear model of ``dro`` has its worst case at given losses if its features are all zero: then the
absolute errors are the absolute targets, whatever its coefficients are.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from idbpd.mtl.worst_cases import (
    ChiSquare,
    GroupMixture,
    KullbackLeibler,
    Penalty,
    Share,
    WorstCase,
    worst_weighting,
)

SAMPLES = 200
SEEDS = 5
LINEAR = {"cvar_dro": "CVaRDRO", "chi2_dro": "Chi2DRO", "kl_dro": "KLDRO", "group_dro": "GroupDRO"}
SMALL = 1e-6  # a smoothing that changes the value by less than the digits that are shown
TOLERANCE = 1e-12  # of dro's bisections, which stop at 0.01 by default: of a sum of weights, or of a divergence


class Theirs(NamedTuple):
    """What dro says: the value, the weights where it gives them, and the losses that this is about."""

    value: float
    weights: Tensor | None
    losses: Tensor


class Case(NamedTuple):
    """A worst case in both packages."""

    name: str
    ours: WorstCase
    source: str  # the class of dro
    theirs: Callable[[Tensor], Theirs]
    convention: str


def main() -> None:
    """Print the table, or why there is none."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("/tmp/dro")
    if not (folder / "dro" / "linear_model").is_dir():
        print(
            f"skipped: the package dro is not in {folder}; install it with: "
            f"pip install --no-deps --target {folder} dro==0.4.3"
        )
        return
    print("| worst case | in dro | value, at most | weights, at most | conventions |\n|---|---|---|---|---|")
    for case in _cases(*_modules(folder)):
        values, weights = [], []
        for seed in range(SEEDS):
            losses = torch.empty(SAMPLES, dtype=torch.float64)
            theirs = case.theirs(losses.exponential_(generator=torch.Generator().manual_seed(seed)))
            ours = worst_weighting(theirs.losses, case.ours)
            values.append(abs(ours.value.item() - theirs.value))
            if theirs.weights is not None:
                weights.append((ours.weights - theirs.weights).abs().sum().item() / 2)
        apart = f"{max(weights):.0e}" if weights else "not given"
        print(f"| `{case.name}` | {case.source} | {max(values):.0e} | {apart} | {case.convention} |", flush=True)


def _modules(folder: Path) -> tuple[ModuleType, ModuleType]:
    """Import linear models and robust losses of dro, without the rest of the package and what that would import."""
    sys.path.append(str(folder))
    for name in ("dro", "dro.linear_model", "dro.neural_model"):
        package = ModuleType(name)
        package.__path__ = [str(folder / name.replace(".", "/"))]
        sys.modules[name] = package
    linear = ModuleType("linear")
    for module, name in LINEAR.items():
        setattr(linear, name, getattr(importlib.import_module(f"dro.linear_model.{module}"), name))
    return linear, importlib.import_module("dro.neural_model.fdro_utils")


def _cases(linear: Any, neural: Any) -> Iterator[Case]:
    """Every overlap."""
    same = "the same"
    for share in (0.2, 0.333):
        theirs = _robust(neural, "cvar", share, 0.0)
        yield Case(f"share: {share}", Share(share, SMALL), "RobustLoss", theirs, f"ours smoothed by {SMALL:g}")
    wide = _robust(neural, "cvar", 0.2, 0.0)
    yield Case("share: 0.2", Share(0.2, 0.1), "RobustLoss", wide, "ours smoothed by 0.1: at most 0.2 below")
    for share in (0.2, 0.333):
        fitted = _fitted(linear.CVaRDRO(1, "lad", False, alpha=share), gives_weights=False)
        yield Case(f"share: {share}", Share(share, SMALL), "CVaRDRO", fitted, f"ours smoothed by {SMALL:g}")
    for radius in (0.1, 0.5):
        yield Case(f"chi2: {radius}", ChiSquare(radius), "RobustLoss", _robust(neural, "chi-square", radius, 0.0), same)
        ball = linear.Chi2DRO(1, "lad", False)
        ball.update({"eps": 2 * radius})
        yield Case(f"chi2: {radius}", ChiSquare(radius), "Chi2DRO", _fitted(ball), "`eps` is twice our radius")
    for radius in (0.1, 0.7):
        fitted = _fitted(linear.KLDRO(1, "lad", False, eps=radius))
        yield Case(f"kl: {radius}", KullbackLeibler(radius), "KLDRO", fitted, same)
    for price in (0.1, 1.0):
        # A ball so large that it has no part in it.
        theirs = _robust(neural, "chi-square", 0.49 * (SAMPLES - 1), price)
        yield Case(f"penalty: {price}", Penalty(price), "RobustLoss", theirs, "`reg` is our price, `size` is large")
    groups = torch.arange(SAMPLES) % 4
    mixture = GroupMixture(groups, ("a", "b", "c", "d"), ("group",), SMALL)
    yield Case("groups", mixture, "GroupDRO", _grouped(linear, groups), f"ours smoothed by {SMALL:g}; at its fit")


def _robust(neural: Any, geometry: str, size: float, reg: float) -> Callable[[Tensor], Theirs]:
    """The robust loss of a network, which takes any losses."""
    loss = neural.RobustLoss(size=size, reg=reg, geometry=geometry, tol=TOLERANCE)

    def theirs(losses: Tensor) -> Theirs:
        return Theirs(loss._compute_robust_loss(losses).item(), loss._compute_optimal_weights(losses), losses)

    return theirs


def _fitted(model: Any, *, gives_weights: bool = True) -> Callable[[Tensor], Theirs]:
    """A linear model of no features. CVaRDRO has equal weights for all samples above a level, which is not exact."""

    def theirs(losses: Tensor) -> Theirs:
        found = model.worst_distribution(np.zeros((len(losses), 1)), losses.numpy())["weight"]
        return Theirs(model.robust_obj, torch.from_numpy(found) if gives_weights else None, losses)

    return theirs


def _grouped(linear: Any, groups: Tensor) -> Callable[[Tensor], Theirs]:
    """A linear model whose groups are a feature, at the coefficient that it finds."""

    def theirs(losses: Tensor) -> Theirs:
        features, model = groups.numpy()[:, None].astype(float), linear.GroupDRO(1, 0, "lad", False)
        model.fit(features, losses.numpy())
        return Theirs(model.robust_loss_, None, torch.from_numpy(model._loss(features, losses.numpy())))

    return theirs


if __name__ == "__main__":
    main()
