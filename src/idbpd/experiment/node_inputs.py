"""Node functions that take several Kedro inputs as one typed object.

Kedro validates, tracks and reloads parameters block by block, and a run that begins later (``--from-nodes``) may change
some of them. One saved object would hide all that. So a node function takes the object, and `Unbundled` gives Kedro a
function that takes its fields, each with its own type.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

# The inputs of `idbpd.experiment.problem.Experiment` and of `idbpd.experiment.solving.checkpoints.Checkpointing`.
EXPERIMENT = {
    "model": "params:model",
    "problem": "problem",
    "compute": "params:compute",
    "seed": "params:seed",
    "fingerprint": "fingerprint",
}
# The inputs of `idbpd.experiment.splitting.division.Division`.
DIVISION = {
    "split": "params:split",
    "features": "params:features",
    "tasks": "params:tasks",
    "priority": "params:priority",
    "problem_settings": "params:problem",
}
CHECKPOINTING = {"checkpoint": "params:checkpoint", "checkpoints": "checkpoints"}


@dataclass(frozen=True)
class Bundle:
    """An argument of a node function that stands for several inputs of the node, one per field."""


class Unbundled:
    """A node function as Kedro calls it: each `Bundle` argument is replaced by its fields.

    ``fixed`` arguments have the same value at every call, and are no inputs of the node. Unlike a closure, the object
    can be sent to another process, as the ParallelRunner does.
    """

    def __init__(self, function: Callable[..., Any], **fixed: Any) -> None:
        """Derive the signature that Kedro sees."""
        self._function, self._fixed = function, fixed
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        hints = get_type_hints(function, include_extras=True)
        self._bundles = {name: kind for name, kind in hints.items() if _is_bundle(kind)}
        self.__signature__ = inspect.Signature(list(self._parameters(hints)))
        self.__annotations__ = {name: one.annotation for name, one in self.__signature__.parameters.items()}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Put the bundles together and call the node function."""
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        values = {**bound.arguments, **self._fixed}
        for name, kind in self._bundles.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        call = inspect.signature(self._function).bind_partial()
        call.arguments.update({name: values[name] for name in inspect.signature(self._function).parameters})
        return self._function(*call.args, **call.kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by what it was made from."""
        return _restored, (self._function, self._fixed)

    def _parameters(self, hints: dict[str, Any]) -> Iterator[inspect.Parameter]:
        for name, parameter in inspect.signature(self._function).parameters.items():
            if name in self._bundles:
                kinds = get_type_hints(self._bundles[name], include_extras=True)
                for field in fields(self._bundles[name]):
                    yield inspect.Parameter(field.name, parameter.kind, annotation=kinds[field.name])
            elif name not in self._fixed:
                yield parameter.replace(annotation=hints.get(name, Any))


def _is_bundle(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, Bundle)


def _restored(function: Callable[..., Any], fixed: dict[str, Any]) -> Unbundled:
    return Unbundled(function, **fixed)
