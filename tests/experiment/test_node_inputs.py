"""A node function with a bundle is, for Kedro, a function with the fields of the bundle."""

import inspect
import pickle
from dataclasses import dataclass

import pytest
from kedro.io import DataCatalog
from kedro.pipeline import Node, Pipeline
from kedro.runner import SequentialRunner

from idbpd.experiment.node_inputs import Bundle, Unbundled
from idbpd.experiment.parameters import ModelParameters, Seed
from idbpd.hooks.parameter_check import parameter_types


@dataclass(frozen=True)
class Settings(Bundle):
    model: ModelParameters
    seed: Seed


def describe(name: str, settings: Settings, *more: str, ending: str = ".") -> str:
    return f"{name} {settings.model.hidden} {settings.seed} {' '.join(more)}{ending}"


def test_the_fields_take_the_place_of_the_bundle() -> None:
    unbundled = Unbundled(describe)
    assert list(inspect.signature(unbundled).parameters) == ["name", "model", "seed", "more", "ending"]
    assert unbundled("a", ModelParameters(hidden=4), 3, "b", "c", ending="!") == "a 4 3 b c!"
    assert unbundled.__name__ == "describe"
    with pytest.raises(TypeError, match="'seed'"):
        unbundled("a", ModelParameters(hidden=4))


def test_a_fixed_argument_is_no_input() -> None:
    unbundled = Unbundled(describe, name="a")
    assert list(inspect.signature(unbundled).parameters) == ["model", "seed", "more", "ending"]
    assert unbundled(ModelParameters(hidden=4), 3, "b") == "a 4 3 b."


def test_it_can_be_sent_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(Unbundled(describe, name="a")))
    assert again(ModelParameters(hidden=4), 3, "b") == "a 4 3 b."


def test_kedro_sees_every_field_with_its_type() -> None:
    node = Node(Unbundled(describe), ["name", "params:model", "params:seed"], "description", name="describe")
    assert parameter_types([Pipeline([node])]) == {"model": ModelParameters, "seed": Seed}
    inputs = {"name": "a", "params:model": ModelParameters(hidden=4), "params:seed": 3}
    catalog = DataCatalog.from_config({})
    for name, value in inputs.items():
        catalog[name] = value
    SequentialRunner().run(Pipeline([node]), catalog)
    assert catalog.load("description") == "a 4 3 ."
