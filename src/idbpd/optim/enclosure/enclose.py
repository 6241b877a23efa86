"""The operations of a tape, carried out on jets."""

from typing import Any

import torch
from torch import Tensor

from idbpd.optim.enclosure.intervals import Interval, sound
from idbpd.optim.enclosure.jet_rules import JET_RULES
from idbpd.optim.enclosure.jets import Frame, Jet, aligned, apply_unary, constant_jet, variables
from idbpd.optim.enclosure.known_jets import KnownJets, NoRuleError, refers
from idbpd.optim.enclosure.operations import STRUCTURE, SUMS
from idbpd.optim.enclosure.tape import Operation, Ref, Tape
from idbpd.optim.enclosure.unary_rules import unary_rule

_MOST_NUMBERS = 20_000_000  # in one jet: beyond, a bound costs more than it is worth


def enclose(tape: Tape, low: Tensor, high: Tensor, order: int) -> Jet:
    """The jet of the function over boxes, (B, n) each end; raises `NoRuleError`."""
    jets = enclose_all(tape, low, high, order)
    if isinstance(tape.output, Ref):
        found = jets[tape.output.number]
        return Jet(*(end.reshape(*end.shape[:2]) for end in found))
    return constant_jet(Frame(low.shape[1], order), tape.output.double().reshape(()), low.shape[0])


def enclose_all(tape: Tape, low: Tensor, high: Tensor, order: int) -> dict[int, Jet]:
    """The jets of all tensors of the tape, by number."""
    frame = Frame(low.shape[1], order)
    run = _Run(frame, low.shape[0])
    run.jets[0] = variables(frame, low, high, tape.shape)
    for operation in tape.operations:
        run.do(operation)
    return run.jets


class _Run(KnownJets):
    """Carries out operations."""

    def do(self, operation: Operation) -> None:
        if self.frame.size * self.count * max(shape.numel() for shape in operation.shapes) > _MOST_NUMBERS:
            raise NoRuleError(operation.name)
        if operation.name in _COMPARISONS:
            self._compare(operation)
            return
        # Of a maximum along an axis the second output, the indices, has no jet.
        for number, jet in zip(operation.outputs, self._results(operation), strict=False):
            self.jets[number] = jet

    def _results(self, operation: Operation) -> list[Jet]:
        name, args = operation.name, operation.args
        if name in STRUCTURE or name in SUMS or (name in _INDEXED and not refers(args[1:])):
            return self._structural(operation)
        rule = unary_rule(name, args) if isinstance(args[0], Ref) else None
        if rule is not None:
            return [apply_unary(self.frame, self.jet(args[0]), rule)]
        special = JET_RULES.get(name)
        if special is None:
            raise NoRuleError(name)
        jet = special(self, operation)
        shape = operation.shapes[0]
        if jet.low.shape[2:] != shape:
            jet = Jet(*(end.expand(*end.shape[:2], *shape) for end in aligned(jet, len(shape))))
        return [jet]

    def _structural(self, operation: Operation) -> list[Jet]:
        """An operation with coefficients that are not negative: on every coefficient of the jet alike."""
        if operation.name == "aten::select":  # by far the most common one
            whole, (dim, place) = self.jet(operation.args[0]), operation.args[1:]
            return [Jet(*(end.select(dim + 2 if dim >= 0 else dim, place) for end in whole))]
        refs: list[Ref] = []
        kwargs = {key: value for key, value in operation.kwargs.items() if key not in ("dtype", "memory_format")}
        if operation.name == "aten::_to_copy":
            if operation.kwargs.get("dtype") not in (None, torch.float64, torch.float32):
                raise NoRuleError(operation.name)
            return [self.jet(operation.args[0])]

        def gathered(item: Any) -> Any:
            if isinstance(item, Ref):
                refs.append(item)
                return item
            if isinstance(item, (list, tuple)):
                return type(item)(gathered(one) for one in item)
            # Beside tensors of the argument (in a stack, say) a constant has derivatives of zero.
            if isinstance(item, Tensor) and item.is_floating_point():
                number = -2 - len(self.jets)
                self.jets[number] = constant_jet(self.frame, item.double(), self.count)
                refs.append(Ref(number))
                return refs[-1]
            return item

        args = gathered(tuple(operation.args))
        batches = [torch.cat([jet.low.flatten(0, 1), jet.high.flatten(0, 1)]) for jet in map(self.jet, refs)]

        def call(*tensors: Tensor) -> Any:
            values = dict(zip(refs, tensors, strict=True))

            def back(item: Any) -> Any:
                if isinstance(item, Ref):
                    return values[item]
                return type(item)(back(one) for one in item) if isinstance(item, (list, tuple)) else item

            return operation.function(*back(args), **kwargs)

        out = torch.vmap(call)(*batches)
        results = out if isinstance(out, (tuple, list)) else (out,)
        shape = (2, self.count, self.frame.size)
        halves = [result.reshape(*shape, *result.shape[1:]) for result in results]
        return [Jet(*sound(*half)) for half in halves]

    def _compare(self, operation: Operation) -> None:
        one, other = (self.jet(arg).value for arg in operation.args[:2])
        rank = len(operation.shapes[0])
        one, other = _raised(one, rank), _raised(other, rank)
        match operation.name:
            case "aten::lt" | "aten::le":
                found = (one.high < other.low), (one.low <= other.high)
            case _:
                found = (one.low > other.high), (one.high >= other.low)
        self.booleans[operation.outputs[0]] = found


def _raised(value: Interval, rank: int) -> Interval:
    """Values that broadcast against those of another rank."""
    missing = rank - (value.low.dim() - 1)
    shape = (value.low.shape[0], *(1,) * max(missing, 0), *value.low.shape[1:])
    return Interval(value.low.reshape(shape), value.high.reshape(shape))


_COMPARISONS = frozenset({"aten::lt", "aten::le", "aten::gt", "aten::ge"})
_INDEXED = frozenset({"aten::index", "aten::gather"})
