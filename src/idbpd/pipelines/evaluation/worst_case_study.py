"""Who the worst case is made of: losses, weights, groups, columns that stand out, and the hardest samples."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.limits.held_out import BOOTSTRAP_SEED, CONFIDENCE
from idbpd.mtl import Criterion, Task
from idbpd.mtl.bounds import worst_case_bound
from idbpd.mtl.quality import task_logits
from idbpd.mtl.worst_cases import GroupMixture
from idbpd.pipelines.evaluation.compared import Assessment
from idbpd.pipelines.evaluation.loss_bins import loss_bins
from idbpd.pipelines.evaluation.parameters import EvaluationParameters
from idbpd.pipelines.evaluation.sample_words import answer_in_words, pictured, raw_columns, truth_in_words
from idbpd.pipelines.evaluation.standing import standing_of
from idbpd.pipelines.evaluation.standing_out import standing_out

# Where the worst case weights more than this share of the samples above average, the hardest are looked at instead.
MOST = 0.25
HARDEST_SHARE = 0.1
POINTS = 60  # of the curve of weights


class Measured(NamedTuple):
    """A task on one part of the data: its samples, what the model says of them, and what it loses."""

    task: Task
    logits: Tensor
    losses: Tensor  # float64
    criterion: Criterion


def study_worst_case(
    table: TaskTable,
    rows: dict[str, Tensor],
    encoding: dict[str, Any],
    weights: dict[str, Tensor],
    certificate: dict[str, Any],
    evaluation: EvaluationParameters,
    assessment: Assessment,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the report shows of single samples, as plain data, and what later comparisons need, without any sample.

    Both are about the test part, or else about the training part.
    """
    network, criteria, parts = assessment.network(weights), assessment.criteria, assessment.parts
    train, judged = assessment.train, assessment.judged
    with torch.no_grad():  # not around the network's construction, which checks that it can be trained
        measured = {
            part: {
                task.name: Measured(
                    task, logits, criteria(task).loss.values(logits, task.targets).double(), criteria(task)
                )
                for task, logits in task_logits(network, data)
            }
            for part, data in parts.items()
        }
    where = Where(table, rows[judged].numpy(), encoding, evaluation.hardest_samples)
    found, standing = {}, {}
    for task in train.tasks:
        of_parts = {part: by_task[task.name] for part, by_task in measured.items()}
        here, name = of_parts[judged], task.name
        bound = _bound(of_parts) if name == train.priority.name and judged == "test" else None
        standing[name] = standing_of(here.task, here.logits, here.criterion, where.of(here.task), bound)
        found[name] = {
            "samples": {part: len(one.losses) for part, one in of_parts.items()},
            "histogram": _histogram(of_parts, _limit(certificate, name)),
            "upper_bound": bound,
            **_made_of(here, where),
        }
    study = {
        "part": judged,
        "rows": {part: len(data.features) for part, data in parts.items()},
        "columns": len(table.feature_names),
        "content": table.content,
        "tasks": found,
    }
    return study, {"part": judged, "tasks": standing}


class Where(NamedTuple):
    """Where samples come from: the table, and its rows in the part that is looked at."""

    table: TaskTable
    rows: NDArray[np.int64]
    encoding: dict[str, Any]
    hardest: int  # samples to show

    def of(self, task: Task) -> NDArray[np.int64]:
        """The rows of the table that the samples of a task are."""
        found: NDArray[np.int64] = self.rows[task.rows.numpy()]
        return found


def _limit(certificate: dict[str, Any], task: str) -> float | None:
    record = certificate["tasks"].get(task)
    return None if record is None else float(record["threshold"])


def _bound(parts: dict[str, Measured]) -> float | None:
    """What the worst case of the priority task is at most on unseen data; a limit has its bound in the certificate."""
    test = parts["test"]
    found = worst_case_bound(
        test.losses,
        test.criterion.worst_case,
        training=parts["train"].losses,
        confidence=CONFIDENCE,
        seed=BOOTSTRAP_SEED,
    )
    return found.bound if math.isfinite(found.bound) else None


def _histogram(parts: dict[str, Measured], limit: float | None) -> dict[str, Any]:
    losses = {part: one.losses.numpy() for part, one in parts.items()}
    worst = {part: one.criterion.worst(one.losses).value.item() for part, one in parts.items()}
    bins = loss_bins(np.concatenate(list(losses.values())), [*worst.values(), *([] if limit is None else [limit])])
    counts = {part: np.histogram(bins.placed(values), bins.edges)[0].tolist() for part, values in losses.items()}
    return {"scale": bins.scale, "edges": bins.edges.tolist(), "counts": counts, "worst_case": worst, "limit": limit}


def _made_of(here: Measured, where: Where) -> dict[str, Any]:
    losses = here.losses.nan_to_num(posinf=torch.finfo(torch.float64).max)
    weights = here.criterion.worst(here.losses).weights.nan_to_num()
    shares = len(weights) * weights  # 1 is an equal share
    above = shares > 1 + 1e-9
    order = losses.argsort(descending=True, stable=True)
    by_weight = 0 < int(above.sum()) <= MOST * len(above)
    if not by_weight:
        above = torch.zeros_like(above)
        above[order[: math.ceil(HARDEST_SHARE * len(order))]] = True
    members, rows = above.numpy(), where.of(here.task)
    columns = []
    if where.table.content == "table":
        worst_case = here.criterion.worst_case
        grouped_by = worst_case.columns if isinstance(worst_case, GroupMixture) else ()
        columns = list(standing_out(where.table, rows, members, where.encoding, grouped_by))
    return {
        "weighted": int((shares > 0).sum()),
        "curve": _curve(shares),
        "looked_at": {"by": "weight" if by_weight else "loss", "members": int(members.sum()), "of": len(members)},
        "standing_out": columns,
        "groups": list(_groups(here, weights)),
        "hardest": list(_hardest(here, order, shares, where, [column["column"] for column in columns])),
    }


def _curve(shares: Tensor) -> list[list[float]]:
    """Which share of the weight the samples with the most of it have: pairs of shares in per cent."""
    total = shares.sort(descending=True).values.cumsum(0) / max(shares.sum().item(), 1e-300)
    at = np.unique(np.linspace(0, len(total), min(POINTS, len(total)) + 1).round().astype(int))[1:]
    return [[0.0, 0.0], *([100 * float(n) / len(total), 100 * total[n - 1].item()] for n in at)]


def _groups(here: Measured, weights: Tensor) -> Iterator[dict[str, Any]]:
    if here.task.groups is None:
        return
    for at, name in enumerate(here.task.group_names):
        members = here.task.groups.cpu() == at
        if members.any():
            yield {
                "group": name,
                "samples": int(members.sum()),
                "share": members.double().mean().item(),
                "weight": weights[members].sum().item(),
                "mean_loss": here.losses[members].mean().item(),
            }


def _hardest(here: Measured, order: Tensor, shares: Tensor, where: Where, first: list[str]) -> Iterator[dict[str, Any]]:
    answers = here.criterion.loss.answers(here.logits)
    chosen = order[: where.hardest].tolist()
    rows = [int(where.rows[here.task.rows[at]]) for at in chosen]
    columns = raw_columns(where.table, rows, first)
    for place, (at, row) in enumerate(zip(chosen, rows, strict=True)):
        yield {
            "row": row + 1,
            "loss": here.losses[at].item(),
            "weight": shares[at].item(),
            "truth": truth_in_words(here.task, here.task.targets[at]),
            "answer": answer_in_words(here.task, answers[at]),
            "group": None if here.task.groups is None else here.task.group_names[int(here.task.groups[at])],
            "image": pictured(where.table, row),
            "columns": columns[place],
        }
