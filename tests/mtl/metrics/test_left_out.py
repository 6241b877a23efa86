"""The first measures without a block of samples are those of a table without these samples."""

import pytest
import torch

from idbpd.mtl.kinds import KINDS, Kind
from idbpd.mtl.metrics import HEADLINE, MEASURES, headline_without
from tests.mtl.metrics.test_sample_errors import answered_samples

BLOCKS = 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_left_out_samples_do_not_count(kind: Kind, unknown: bool, ties: bool) -> None:
    answered = answered_samples(kind, unknown and kind == "labels")
    if ties:
        answered = answered._replace(answers=answered.answers.mul(4).round().div(4))
    blocks = torch.arange(len(answered.truths)) % BLOCKS
    found = headline_without(kind, answered, blocks, BLOCKS)
    assert tuple(found) == HEADLINE[kind]
    for block in range(BLOCKS):
        expected = MEASURES[kind](answered.of(blocks != block))
        for name, values in found.items():
            assert values[block] == pytest.approx(expected[name], rel=1e-12), name
