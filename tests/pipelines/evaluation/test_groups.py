"""The quality of every model, group by group."""

from dataclasses import replace

import pandas as pd
import pytest
import torch
from torch import Tensor

from idbpd.experiment.network import build_network, trained_network
from idbpd.experiment.parameters import SplitParameters
from idbpd.experiment.problem import criteria_of
from idbpd.mtl import Meaning, MultiTaskData, Task, sample_losses
from idbpd.pipelines.evaluation.compared import Assessment
from idbpd.pipelines.evaluation.groups import COLUMNS, MODELS, compare_groups
from tests.pipelines.small_tasks import MODEL, PROBLEM

NAMES = ("female", "male", "nobody here")


def _data(seed: int, *, grouped: bool = True) -> MultiTaskData:
    generator = torch.Generator().manual_seed(seed)
    features, rows = torch.randn(40, 3, generator=generator), torch.arange(40)
    binary = Task("income", (">50K",), rows, (features[:, :1] > 0).float(), Meaning("binary", other="<=50K"))
    number = Task("hours", ("hours",), rows, features[:, 1:2], Meaning("number", center=40.0, scale=10.0))
    if grouped:
        options = {"worst_case": {"groups": "sex"}}
        groups = torch.cat([torch.zeros(10), torch.ones(30)]).long()
        binary = replace(binary, groups=groups, group_names=NAMES, options=options)
    return MultiTaskData(features, (binary, number))


def _weights(train: MultiTaskData, seed: int) -> dict[str, Tensor]:
    return {name: tensor.detach() for name, tensor in build_network(MODEL, train, seed).named_parameters()}


def _compared(train: MultiTaskData, test: MultiTaskData, fraction: float = 0.5) -> tuple[pd.DataFrame, pd.DataFrame]:
    of = [_weights(train, seed) for seed in range(3)]
    alone = {f"hours/{name}": tensor for name, tensor in of[2].items()}
    split = SplitParameters(test_fraction=fraction, seed=0)
    return compare_groups(of[0], of[1], of[2], alone, Assessment(train, test, MODEL, PROBLEM, split))


def test_every_group_has_a_row_even_without_a_sample() -> None:
    train, test = _data(0), _data(1)
    table, worst = _compared(train, test)
    assert list(table.columns) == COLUMNS
    assert list(table["group"]) == list(NAMES)
    assert list(table["rows"]) == [10, 30, 0]
    assert table.loc[2, [column for column in COLUMNS if ": " in column]].isna().all()
    assert list(table["measure"]) == ["accuracy"] * 3
    losses = sample_losses(trained_network(MODEL, train, _weights(train, 0)), test, criteria_of(PROBLEM))["income"]
    assert table.loc[0, "constrained: mean loss"] == pytest.approx(losses[:10].mean().item())
    assert table.loc[1, "constrained: mean loss"] == pytest.approx(losses[10:].mean().item())
    alone = sample_losses(trained_network(MODEL, train, _weights(train, 1)), test, criteria_of(PROBLEM))["income"]
    assert table.loc[0, "each alone: mean loss"] == pytest.approx(alone[:10].mean().item())
    equal = sample_losses(trained_network(MODEL, train, _weights(train, 2)), test, criteria_of(PROBLEM))["income"]
    difference = (losses - equal)[10:].double()
    assert table.loc[1, "constrained - equal weights: mean loss"] == pytest.approx(difference.mean().item(), rel=1e-5)
    error = difference.std().item() / 30**0.5
    assert table.loc[1, "constrained - equal weights: standard error"] == pytest.approx(error, rel=1e-5)
    yes = (test["income"].targets[:10, 0] > 0.5).float()
    says_yes = float(train["income"].targets.mean()) > 0.5
    assert table.loc[0, "constant guess: measure"] == pytest.approx((yes == float(says_yes)).float().mean().item())
    assert list(worst["rows"]) == (["10", "30"] if losses[:10].mean() > losses[10:].mean() else ["30", "10"])
    assert set(MODELS) <= set(worst.columns)


def test_without_a_test_part_it_is_about_the_training_data() -> None:
    train = _data(0)
    table, _ = _compared(train, train, fraction=0.0)
    assert list(table["rows"]) == [10, 30, 0]


def test_without_groups_both_tables_are_empty() -> None:
    table, worst = _compared(_data(0, grouped=False), _data(1, grouped=False))
    assert (len(table), len(worst)) == (0, 0)
    assert list(table.columns) == COLUMNS
