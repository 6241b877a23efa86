"""From parameters to the network that the tasks share: the default one, or any `nn.Module` of the user's own."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from idbpd.errors import ConfigurationError
from idbpd.mtl import MultiTaskData, seeded, seeded_network
from idbpd.pipelines.module_type import module_class
from idbpd.pipelines.parameters import ModelParameters

_SHAPE = "forward(features) must return one tensor (samples, labels) per task: a dict by task name, or a tuple in order"


def build_network(model: ModelParameters, data: MultiTaskData, seed: int) -> nn.Module:
    """The network with initial weights that depend on the seed alone; calling it gives a tuple of logits, task by task.

    A module of the user's own is put into evaluation mode, so that a sample's loss depends on nothing but the sample,
    and tried on two samples: what is wrong with it is said here, before anything is solved.
    """
    if model.type is None:
        return seeded_network(data.features.shape[1], model.hidden, data.classes, seed)
    classes = {task.name: len(task.labels) for task in data.tasks}
    arguments = {"features": data.features.shape[1], "classes": classes, **model.options}
    kind = module_class(model.type)
    try:
        network, other = (seeded(lambda: kind(**arguments), each) for each in (seed, seed + 1))
    except Exception as error:
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        raise ConfigurationError(f"model.type {model.type}({given}) failed: {type(error).__name__}: {error}") from error
    network.eval()
    for (name, buffer), again in zip(network.named_buffers(), other.buffers(), strict=True):
        if not torch.equal(buffer, again):
            raise ConfigurationError(
                f"model.type {model.type}: the buffer {name!r} is random, and only parameters are saved; "
                "make it a parameter, or the same at every construction"
            )
    network.register_forward_hook(lambda _module, _inputs, outputs: _in_order(outputs, classes, model.type))
    network.register_load_state_dict_post_hook(_without_buffers)  # type: ignore[no-untyped-call]
    _try(network, data.features[:2].to_dense(), classes, model.type)
    return network


def trained_network(model: ModelParameters, data: MultiTaskData, weights: Mapping[str, Tensor]) -> nn.Module:
    """The network with the given weights, in the data's floating-point type."""
    network = build_network(model, data, seed=0)
    network.load_state_dict({name: tensor.to(data.features.dtype) for name, tensor in weights.items()})
    return network


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
    if not any(True for _ in network.parameters()):
        raise ConfigurationError(f"model.type {type_name} has no parameters to train")
    features = features.to(next(network.parameters()).dtype)
    try:
        with torch.no_grad():
            together, alone = network(features), network(features[:1])
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"model.type {type_name} cannot take features of shape {tuple(features.shape)}: "
            f"{type(error).__name__}: {error}"
        ) from error
    for (task, count), logits, of_one in zip(classes.items(), together, alone, strict=True):
        expected = (len(features), count)
        if not isinstance(logits, Tensor) or tuple(logits.shape) != expected or not logits.is_floating_point():
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ConfigurationError(
                f"model.type {type_name}: the logits of task {task!r} are {shape}, expected {expected}; {_SHAPE}"
            )
        if not torch.allclose(logits[:1], of_one, rtol=1e-3, atol=1e-4, equal_nan=True):
            raise ConfigurationError(
                f"model.type {type_name}: the logits of a sample depend on the samples next to it; "
                "each sample's loss must be its own"
            )


def _without_buffers(network: nn.Module, incompatible: Any) -> None:
    """Weights alone are enough to load: buffers are the same at every construction."""
    buffers = {name for name, _ in network.named_buffers()}
    incompatible.missing_keys[:] = [name for name in incompatible.missing_keys if name not in buffers]
