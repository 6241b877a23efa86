"""How methods and data sets are called and drawn, the same in every figure and table."""

from collections.abc import Iterable

from idbpd.baselines import METHODS, Look

# The paper's two data sets first, then its further three, then the one that comes with the project.
DATASETS = {
    "multi_mnist": "Multi-MNIST",
    "chd49": "CHD49",
    "multi_fashion": "Multi-Fashion",
    "yeast": "Yeast",
    "20ng": "20NG",
    "multi_digits": "multi_digits",
}
GREY = "#999999"


def look_of(method: str) -> Look:
    """As the registry of methods says; in grey under its name where it says nothing."""
    entry = METHODS.get(method)
    return entry.look if entry is not None and entry.look is not None else Look(method, GREY, ":")


def methods_in(figure: str, measured: Iterable[str]) -> list[str]:
    """The measured methods that belong into a figure, in the registry's order.

    A method that the registry does not know was measured by another version of the project. It is drawn with the KKT
    residuals, after all others.
    """
    found = set(measured)
    known = [name for name, entry in METHODS.items() if name in found and figure in entry.figures]
    return known + (sorted(found - set(METHODS)) if figure == "kkt" else [])


def title(dataset: str) -> str:
    """A data set's name as the paper writes it."""
    return DATASETS.get(dataset, dataset)
