"""Digests tell parts of the data apart."""

from dataclasses import replace

from idbpd.experiment.splitting.fingerprint import parts_sha256
from idbpd.mtl import MultiTaskData
from tests.pipelines.small_tasks import small_tasks


def test_parts_are_told_apart_by_all_that_is_learnt_from() -> None:
    data = small_tasks(2)
    first, second = data.tasks
    others = [
        MultiTaskData(2 * data.table, data.tasks),
        MultiTaskData(data.features, (first, replace(second, targets=1 - second.targets))),
        MultiTaskData(data.features, (first, replace(second, rows=second.rows.flip(0)))),
        MultiTaskData(data.features, (first, replace(second, options={"loss": "brier"}))),
    ]
    assert len({parts_sha256(fit) for fit in (data, *others)}) == 5
    # A limit does not decide what is learnt.
    limited = MultiTaskData(data.features, (first, replace(second, options={"limit": 0.5})))
    assert parts_sha256(limited) == parts_sha256(data)
    assert parts_sha256(data, data) != parts_sha256(data)
