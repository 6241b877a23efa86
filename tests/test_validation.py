"""Errors about parameters: the nearest name, and no more names than those of its block."""

from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel

from idbpd.errors import ConfigurationError
from idbpd.validation import unknown_parameter, validated


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
        ("lambda", "did you mean 'block.lambda'? the parameters of 'block' are inner, lambda, size"),
        ("blok", "did you mean 'block'? the parameters of 'block' are inner, lambda, size"),
        ("rates", "did you mean 'block.inner.rate'? the parameters of 'block.inner' are rate, steps"),
        ("iner", "did you mean 'block.inner'? the parameters of 'block.inner' are rate, steps"),
        ("sede", "did you mean 'seed'?"),
        ("xyzzy", "parameters and blocks are block, named, seed"),
    ],
)
def test_a_name_that_does_not_exist_gets_the_nearest_one(name: str, rest: str) -> None:
    assert unknown_parameter(name, TYPES) == f"unknown parameter {name!r}; {rest}"


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Block, {"siz": 1}, "unknown parameter 'b.siz'; did you mean 'b.size'? the parameters of 'b' are inner, lambd"),
        (Block, {"xyzzy": 1}, "unknown parameter 'b.xyzzy'; the parameters of 'b' are inner, lambda, size"),
        (Block, {"inner": {"rat": 1}}, "did you mean 'b.inner.rate'? the parameters of 'b.inner' are rate, steps"),
        (Named, {"any": {"step": 1}}, "'b.any.step'; did you mean 'b.any.steps'? the parameters of 'b.any' are rate"),
        (Block, {"size": 0}, "parameter 'b.size' = 0 is not valid: input should be greater than 0"),
        (Block, None, "parameter 'b' = None is not valid"),
    ],
)
def test_a_wrong_member_of_a_block_is_named_with_its_block(kind: type, value: object, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        validated("b", kind, value)
    assert message in str(error.value)
