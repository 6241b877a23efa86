"""One look per method and one order, the same in every figure and table."""

from typing import NamedTuple


class Look(NamedTuple):
    """How a method is drawn: told apart by colour on a screen and by dashes in print."""

    label: str
    color: str
    dashes: str | tuple[float, tuple[float, ...]] = "-"
    width: float = 1.3


LOOKS = {
    "idbpd": Look("idbpd (this project)", "#000000", width=2.0),
    "idbpd_paper": Look("iDB-PD, the paper's grid", "#0072b2"),
    "idbpd_theorem2": Look("iDB-PD, Theorem 2", "#56b4e9", "--"),
    "cooper_adam": Look("Cooper with Adam", "#d55e00"),
    "discretization_cooper": Look("discretization, Cooper", "#009e73", "-."),
    "gdma_rho1": Look("GDMA, rho = 1", "#cc79a7"),
    "gdma_rho2": Look("GDMA, rho = 2", "#e69f00", "--"),
    "gdma_rho5": Look("GDMA, rho = 5", "#8c510a", "-."),
    "gdma_rho10": Look("GDMA, rho = 10", "#7f7f7f", (0, (1, 1))),
}
IDBPD = ("idbpd", "idbpd_paper", "idbpd_theorem2")
# Experiment 1 of the paper, with the competitor that it does not have; Experiment 2.
CONSTRAINED = (*IDBPD, "cooper_adam", "discretization_cooper")
WEIGHTED = ("idbpd", "idbpd_paper", "gdma_rho1", "gdma_rho2", "gdma_rho5", "gdma_rho10")
# The paper's two data sets first, then its further three, then the one that comes with the project.
DATASETS = {
    "multi_mnist": "Multi-MNIST",
    "chd49": "CHD49",
    "multi_fashion": "Multi-Fashion",
    "yeast": "Yeast",
    "20ng": "20NG",
    "multi_digits": "multi_digits",
}


def title(dataset: str) -> str:
    """A data set's name as the paper writes it."""
    return DATASETS.get(dataset, dataset)
