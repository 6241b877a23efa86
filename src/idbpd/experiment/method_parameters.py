"""The options of every method, as parameters: made from the registry, so that a new method needs no line here."""

from typing import Annotated, Any

from pydantic import Field, create_model

from idbpd.baselines import METHODS, MethodEntry
from idbpd.experiment.parameters import ParameterBlock


def _options_block(entry: MethodEntry) -> tuple[Any, Any]:
    """The block of a method's options as a field: its type and its default."""
    fields: dict[str, Any] = {}
    for name, option in entry.options.items():
        kind: Any = Annotated[option.kind, Field(gt=option.above, ge=option.at_least)]
        fields[name] = (kind | None if option.default is None else kind, option.default)
    block = create_model(f"{entry.name}_options", __base__=ParameterBlock, __module__=__name__, **fields)
    globals()[block.__name__] = block  # pickle finds a class by its name in its module, in another process too
    return block, block()


_blocks: dict[str, Any] = {name: _options_block(entry) for name, entry in METHODS.items() if entry.options}
_MethodBlocks: Any = create_model("_MethodBlocks", __base__=ParameterBlock, **_blocks)


class MethodsParameters(_MethodBlocks):  # type: ignore[misc]  # the fields are those of the registry
    """The options of every method that has some; those of `training.method` are used."""

    def of(self, method: str, max_steps: int) -> dict[str, Any]:
        """The options of one method, for a run of at most ``max_steps`` steps."""
        block = getattr(self, method, None)
        options: dict[str, Any] = {} if block is None else block.model_dump()
        if options.get("horizon", max_steps) is None:
            options["horizon"] = max_steps
        return options


DEFAULT_METHODS = MethodsParameters()
