"""Kedro hooks: what is checked before a run begins, and what a person sees when it ends."""

from idbpd.hooks.checkpoints import CheckpointHook
from idbpd.hooks.compute import ComputeHook
from idbpd.hooks.configuration import ConfigurationHook
from idbpd.hooks.summary import SummaryHook

__all__ = ["CheckpointHook", "ComputeHook", "ConfigurationHook", "SummaryHook"]
