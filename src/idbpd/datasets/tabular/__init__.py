"""Tables of a user's own: CSV and Parquet files with columns of any kind."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.datasets.tabular.dataset import TabularDataset

__all__ = ["TabularDataset"]

__getattr__ = names_from(__name__, {"TabularDataset": "dataset"})  # a data frame is read without Kedro
