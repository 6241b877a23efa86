"""Convert a network to plain code and tensors: an exported program without the pickles of torch's file format.

The network becomes a list of torch operations whose arguments are the weights. Written as Python, this list can be
read, hashed and run on a machine that has torch but not the network's own code.

``torch.export`` does this for any network, after it has imported torch's compiler, for more than a second. The network
of this project is simple enough for torch's plain tracer.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.export.graph_signature import InputKind
from torch.fx import Interpreter, Node, Tracer

from idbpd.errors import ConfigurationError
from idbpd.mtl import AnswerNetwork, SharedNetwork

# The globals that torch.fx always lists; served_model.py imports those that the generated code can use.
NAMES = {"torch", "device", "inf", "nan", "NoneType", "fx_pytree", "pytree"}


class NetworkCode(NamedTuple):
    """A function ``forward(self, *tensors, features)`` as text, and the tensors in the order of its arguments."""

    source: str
    tensors: dict[str, Tensor]


def network_code(network: nn.Module, example: Tensor) -> NetworkCode:
    """Export a network with one input and one output tensor, for any number of rows; the example needs two rows."""
    network = network.eval()
    simple = isinstance(network, AnswerNetwork) and isinstance(network.network, SharedNetwork)
    return (_traced(network, example) if simple else None) or _exported(network, example)


class _EveryOperation(Tracer):
    """Follows a network into all its layers."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:  # noqa: ARG002
        """No layer is one operation: its weights must be arguments."""
        return False


def _traced(network: nn.Module, example: Tensor) -> NetworkCode | None:
    """The network as torch's tracer sees it; None where that is not all of it, which a loss of one's own can cause."""
    try:
        graph = _EveryOperation().trace(network)
    except Exception:  # what the tracer raises depends on the code that it cannot follow
        return None
    stored = {**dict(network.named_parameters()), **dict(network.named_buffers())}
    arguments: dict[str, Node] = {}
    first = next(iter(graph.nodes))
    for node in [node for node in graph.nodes if node.op == "get_attr"]:
        name = str(node.target)
        if name not in arguments:
            with graph.inserting_before(first):
                arguments[name] = graph.placeholder(f"p_{name.replace('.', '_')}")
        node.replace_all_uses_with(arguments[name])
        graph.erase_node(node)
    tensors = {name: _plain(stored[name]) for name in arguments}
    last = next(node for node in graph.nodes if node.op == "output")
    last.args = ((last.args[0],),)  # as torch.export has it: a tuple of one
    code = graph.python_code("self")
    if set(code.globals) - NAMES:
        return None
    (answers,) = Interpreter(nn.Module(), graph=graph).run(*tensors.values(), example.cpu())
    same = torch.equal(answers, network.cpu()(example.cpu()))
    return NetworkCode(code.src.strip() + "\n", tensors) if same else None


def _exported(network: nn.Module, example: Tensor) -> NetworkCode:
    """The network as ``torch.export`` sees it."""
    name = type(network).__name__
    try:
        program = torch.export.export(network, (example,), dynamic_shapes=({0: Dim("rows")},))
    except Exception as error:  # torch.export has no error class of its own
        reason = str(error).splitlines()[0]
        raise ConfigurationError(f"the network {name} cannot be exported for serving: {reason}") from error
    code = program.graph_module.graph.python_code("self")
    unknown = set(code.globals) - NAMES
    if unknown:
        raise ConfigurationError(f"the network {name} uses {', '.join(sorted(unknown))}, which cannot be exported")
    stored = {**program.state_dict, **program.constants}
    targets = [spec.target for spec in program.graph_signature.input_specs if spec.kind is not InputKind.USER_INPUT]
    tensors = {str(target): _plain(stored[str(target)]) for target in targets}
    return NetworkCode(code.src.strip() + "\n", tensors)


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().clone().contiguous()
