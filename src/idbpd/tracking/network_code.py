"""Convert a network to plain code and tensors: an exported program without the pickles of torch's file format.

``torch.export`` converts any network to a list of torch operations whose arguments are the weights. Written as Python,
this list can be read, hashed and run on a machine that has torch but not the network's own code.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.export.graph_signature import InputKind

from idbpd.errors import ConfigurationError

# The globals that torch.fx always lists; served_model.py imports those that the generated code can use.
NAMES = {"torch", "device", "inf", "nan", "NoneType", "fx_pytree", "pytree"}


class NetworkCode(NamedTuple):
    """A function ``forward(self, *tensors, features)`` as text, and the tensors in the order of its arguments."""

    source: str
    tensors: dict[str, Tensor]


def network_code(network: nn.Module, example: Tensor) -> NetworkCode:
    """Export a network with one input and one output tensor, for any number of rows; the example needs two rows."""
    name = type(network).__name__
    try:
        program = torch.export.export(network.eval(), (example,), dynamic_shapes=({0: Dim("rows")},))
    except Exception as error:  # torch.export has no error class of its own
        reason = str(error).splitlines()[0]
        raise ConfigurationError(f"the network {name} cannot be exported for serving: {reason}") from error
    code = program.graph_module.graph.python_code("self")
    unknown = set(code.globals) - NAMES
    if unknown:
        raise ConfigurationError(f"the network {name} uses {', '.join(sorted(unknown))}, which cannot be exported")
    stored = {**program.state_dict, **program.constants}
    targets = [spec.target for spec in program.graph_signature.input_specs if spec.kind is not InputKind.USER_INPUT]
    tensors = {str(target): stored[str(target)].detach().cpu().clone().contiguous() for target in targets}
    return NetworkCode(code.src.strip() + "\n", tensors)
