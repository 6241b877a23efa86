import pytest
import torch
from sklearn.metrics import average_precision_score, label_ranking_average_precision_score, roc_auc_score
from torch import Tensor

from idbpd.mtl.ranking import average_precision, label_ranking_precision, roc_auc


def _scores(ties: bool) -> tuple[Tensor, Tensor]:
    scores = torch.randn(50, 6)
    relevant = torch.rand(50, 6) < 0.4
    relevant[torch.arange(50), torch.randint(6, (50,))] = True
    return (scores.round() if ties else scores), relevant


@pytest.mark.parametrize("ties", [False, True])
def test_rankings_are_judged_as_scikit_learn_judges_them(ties: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, relevant = _scores(ties)
    monkeypatch.setattr("idbpd.mtl.ranking.NUMBERS_AT_A_TIME", 36 * 7)
    expected = label_ranking_average_precision_score(relevant.numpy(), scores.numpy())
    assert label_ranking_precision(scores, relevant).mean().item() == pytest.approx(expected, rel=1e-12)
    per_label = average_precision_score(relevant.numpy(), scores.numpy(), average=None)
    torch.testing.assert_close(average_precision(scores, relevant), torch.from_numpy(per_label))
    areas = torch.from_numpy(roc_auc_score(relevant.numpy(), scores.numpy(), average=None))
    torch.testing.assert_close(roc_auc(scores, relevant), areas, rtol=1e-12, atol=0)


def test_unrankable_scores_have_no_precision() -> None:
    scores, relevant = _scores(ties=False)
    relevant[:, 2] = False
    relevant[7] = False
    assert label_ranking_precision(scores, relevant).isnan().nonzero().tolist() == [[7]]
    assert average_precision(scores, relevant).isnan().nonzero().tolist() == [[2]]
    relevant[:, 4] = True
    assert roc_auc(scores, relevant).isnan().nonzero().tolist() == [[2], [4]]


def test_equal_scores_rank_nothing() -> None:
    _, relevant = _scores(ties=False)
    torch.testing.assert_close(roc_auc(torch.zeros(50, 6), relevant), torch.full((6,), 0.5, dtype=torch.float64))
