"""Kedro hooks: checks before a run, and the printed summary after it."""

from idbpd.hooks.checkpoints import CheckpointHook
from idbpd.hooks.compute import ComputeHook
from idbpd.hooks.configuration import ConfigurationHook
from idbpd.hooks.secrets import SecretsHook
from idbpd.hooks.summary import SummaryHook
from idbpd.hooks.warnings import WarningsHook

__all__ = ["CheckpointHook", "ComputeHook", "ConfigurationHook", "SecretsHook", "SummaryHook", "WarningsHook"]
