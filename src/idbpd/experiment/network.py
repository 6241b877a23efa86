"""From parameters to the network that the tasks share: the default one, or a module of the user's own."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from idbpd.errors import ConfigurationError
from idbpd.experiment.module_type import module_class
from idbpd.experiment.parameters import ModelParameters
from idbpd.mtl import MultiTaskData, seeded, seeded_network
from idbpd.redaction import without_secrets

_SHAPE = "forward(features) must return one tensor (samples, labels) per task: a dict by task name, or a tuple in order"


def build_network(model: ModelParameters, data: MultiTaskData, seed: int) -> nn.Module:
    """The network with initial weights that depend on the seed alone; calling it gives a tuple of logits, task by task.

    A module of the user's own is put into evaluation mode, so that a sample's loss depends on that sample alone. It is
    tried on two samples, so that an error in it shows before anything is solved.
    """
    if model.type is None:
        return seeded_network(data.features.shape[1], model.hidden, data.classes, seed)
    classes = {task.name: len(task.labels) for task in data.tasks}
    arguments = {"features": data.features.shape[1], "classes": classes, **model.options}
    kind, example = module_class(model.type), data.features[:2].to_dense()

    def make() -> nn.Module:
        return _made(kind, arguments, example, classes, str(model.type))

    network, other = seeded(make, seed), seeded(make, seed + 1)
    drawn = _not_trained(other)
    for name, tensor in _not_trained(network).items():
        if not torch.equal(tensor, drawn[name]):
            raise ConfigurationError(
                f"model.type {model.type}: {name!r} is random but not trained, and only trained numbers are saved; "
                "make it a parameter that requires a gradient, or the same at every construction"
            )
    # Training uses the first type, the certificate the second.
    for dtype in (example.dtype, torch.float64):
        _try(seeded(make, seed).to(dtype), example.to(dtype), classes, model.type)
    return network


def trained_network(model: ModelParameters, data: MultiTaskData, weights: Mapping[str, Tensor]) -> nn.Module:
    """The network with the given weights, in the data's floating-point type."""
    network = build_network(model, data, seed=0)
    network.load_state_dict({name: tensor.to(data.features.dtype) for name, tensor in weights.items()})
    return network


def _made(
    kind: type[nn.Module], arguments: Mapping[str, Any], example: Tensor, classes: Mapping[str, int], type_name: str
) -> nn.Module:
    """A module of the user's own that gives logits in the order of the tasks."""
    try:
        network = kind(**arguments)
    except Exception as error:
        given = ", ".join(f"{name}={value!r}" for name, value in without_secrets(arguments).items())
        raise ConfigurationError(f"model.type {type_name}({given}) failed: {type(error).__name__}: {error}") from error
    network.eval()
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ConfigurationError(f"model.type {type_name} has no parameters to train")
    network.register_forward_hook(lambda _module, _inputs, outputs: _in_order(outputs, classes, type_name))
    network.register_load_state_dict_post_hook(_trained_alone)  # type: ignore[no-untyped-call]
    if any(is_lazy(tensor) for tensor in (*network.parameters(), *network.buffers())):
        _logits(network, example, type_name)  # it draws its weights when it first sees features: here, under the seed
    return network


def _not_trained(network: nn.Module) -> dict[str, Tensor]:
    """The tensors that training does not change: buffers, and parameters without a gradient."""
    frozen = {name: tensor for name, tensor in network.named_parameters() if not tensor.requires_grad}
    return {**frozen, **dict(network.named_buffers())}


def _in_order(outputs: Any, classes: Mapping[str, int], type_name: str) -> tuple[Tensor, ...]:
    if isinstance(outputs, Mapping):
        if set(outputs) != set(classes):
            raise ConfigurationError(
                f"model.type {type_name}: the heads are {', '.join(map(str, outputs))}, "
                f"the tasks {', '.join(classes)}; {_SHAPE}"
            )
        return tuple(outputs[task] for task in classes)
    if not isinstance(outputs, tuple | list) or len(outputs) != len(classes):
        what = f"{len(outputs)} outputs" if isinstance(outputs, tuple | list) else f"a {type(outputs).__name__}"
        raise ConfigurationError(f"model.type {type_name} gave {what} for {len(classes)} tasks; {_SHAPE}")
    return tuple(outputs)


def _try(network: nn.Module, features: Tensor, classes: Mapping[str, int], type_name: str) -> None:
    together, alone = _logits(network, features, type_name), _logits(network, features[:1], type_name)
    for (task, count), logits, of_one in zip(classes.items(), together, alone, strict=True):
        expected = (len(features), count)
        if not isinstance(logits, Tensor) or tuple(logits.shape) != expected or not logits.is_floating_point():
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ConfigurationError(
                f"model.type {type_name}: the logits of task {task!r} are {shape}, expected {expected}; {_SHAPE}"
            )
        if not logits.requires_grad:
            raise ConfigurationError(
                f"model.type {type_name}: the logits of task {task!r} depend on no parameter that is trained"
            )
        if not torch.allclose(logits[:1], of_one, rtol=1e-3, atol=1e-4, equal_nan=True):
            raise ConfigurationError(
                f"model.type {type_name}: the logits of a sample depend on the samples next to it; "
                "each sample's loss must be its own"
            )


def _logits(network: nn.Module, features: Tensor, type_name: str) -> tuple[Tensor, ...]:
    try:
        logits: tuple[Tensor, ...] = network(features)
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"model.type {type_name} cannot take features of shape {tuple(features.shape)} and type {features.dtype}: "
            f"{type(error).__name__}: {error}"
        ) from error
    return logits


def _trained_alone(network: nn.Module, incompatible: Any) -> None:
    """Accept saved weights with the trained tensors alone: all others are the same at every construction."""
    trained = {name for name, parameter in network.named_parameters() if parameter.requires_grad}
    incompatible.missing_keys[:] = [name for name in incompatible.missing_keys if name in trained]
