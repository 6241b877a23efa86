"""A network as plain code and tensors: what an exported program is, without the pickles in its file format.

``torch.export`` turns any network into a list of torch operations, its weights into arguments. Written out as Python
that list can be read by people, hashed and run, on a machine that has torch and nothing of the network's own code.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.export.graph_signature import InputKind

from idbpd.errors import ConfigurationError

# What the written code may refer to; the file it goes into must have all of it.
NAMES = {"torch", "device", "inf", "nan", "NoneType", "fx_pytree", "pytree"}


class NetworkCode(NamedTuple):
    """A function ``forward(self, *tensors, features)`` as text, and the tensors in the order of its arguments."""

    source: str
    tensors: dict[str, Tensor]


def network_code(network: nn.Module, example: Tensor) -> NetworkCode:
    """Write out a network of one tensor in and one tensor out, for any number of rows; the example has at least two."""
    name = type(network).__name__
    try:
        program = torch.export.export(network.eval(), (example,), dynamic_shapes=({0: Dim("rows")},))
    except Exception as error:  # torch.export has no error class of its own
        reason = str(error).splitlines()[0]
        raise ConfigurationError(f"the network {name} cannot be exported, and so not be served: {reason}") from error
    code = program.graph_module.graph.python_code("self")
    unknown = set(code.globals) - NAMES
    if unknown:
        raise ConfigurationError(f"the network {name} uses {', '.join(sorted(unknown))}, which cannot be exported")
    stored = {**program.state_dict, **program.constants}
    targets = [spec.target for spec in program.graph_signature.input_specs if spec.kind is not InputKind.USER_INPUT]
    tensors = {str(target): stored[str(target)].detach().cpu().clone().contiguous() for target in targets}
    return NetworkCode(code.src.strip() + "\n", tensors)
