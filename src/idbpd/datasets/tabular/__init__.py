"""Tables of a user's own: CSV and Parquet files with columns of any kind."""

from idbpd.datasets.tabular.dataset import TabularDataset

__all__ = ["TabularDataset"]
