"""Errors about parameters: one line with the nearest names."""

from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel

from idbpd.errors import ConfigurationError
from idbpd.unknown_names import unknown_parameter
from idbpd.validation import parameter_names, validated


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rate: float = 1.0
    steps: int = 1


class Block(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: Annotated[int, Field(gt=0)] = 1
    number: Annotated[float, Field(alias="lambda")] = 0.1
    inner: Inner = Inner()


class Named(RootModel[dict[str, Inner]]):
    pass


TYPES = {"block": Block, "named": Named, "seed": int}


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("lambda", "did you mean 'block.lambda'? all: kedro show parameters"),
        ("blok", "did you mean 'block'? all: kedro show parameters"),
        ("rates", "did you mean 'block.inner.rate'? all: kedro show parameters"),
        ("block.iner", "did you mean 'block.inner'? all: kedro show parameters block"),
        ("block.sede", "did you mean 'seed'? all: kedro show parameters block"),
        ("xyzzy", "all: kedro show parameters"),
    ],
)
def test_a_name_that_does_not_exist_gets_the_nearest_ones_and_a_place_to_look(name: str, rest: str) -> None:
    assert unknown_parameter(name, parameter_names(TYPES)) == f"unknown parameter {name!r}; {rest}"


def test_at_most_three_names_are_offered() -> None:
    message = unknown_parameter("steps", [f"block{number}.steps" for number in range(9)])
    assert "did you mean 'block0.steps', 'block1.steps' or 'block2.steps'? all" in message


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Block, {"siz": 1}, "unknown parameter 'b.siz'; did you mean 'b.size'?"),
        (Block, {"xyzzy": 1}, "unknown parameter 'b.xyzzy'; choose from b.inner, b.lambda, b.size"),
        (Block, {"inner": {"rat": 1}}, "unknown parameter 'b.inner.rat'; did you mean 'b.inner.rate'?"),
        (Named, {"any": {"step": 1}}, "unknown parameter 'b.any.step'; did you mean 'b.any.steps'?"),
        (Block, {"size": 0}, "parameter 'b.size' = 0 is not valid: input should be greater than 0"),
        (Block, None, "parameter 'b' = None is not valid"),
    ],
)
def test_a_wrong_member_of_a_block_is_named_with_its_block(kind: type, value: object, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        validated("b", kind, value)
    assert message in str(error.value)
