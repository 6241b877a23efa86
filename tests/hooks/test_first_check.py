"""The first check of parameters has the types of the nodes."""

from idbpd.hooks.first_check import TYPES, type_at
from idbpd.hooks.parameter_check import parameter_types
from idbpd.pipeline_registry import register_pipelines

HEAVY = {"methods", "retrain"}  # made of what registries hold, with torch
PLAIN = {"priority", "dataset", "run_id"}  # texts


def test_every_block_is_checked_by_the_type_that_its_nodes_take() -> None:
    types = parameter_types(register_pipelines().values())
    assert {name: type_at(address) for name, address in TYPES.items()} == {
        name: kind for name, kind in types.items() if name not in HEAVY | PLAIN
    }
