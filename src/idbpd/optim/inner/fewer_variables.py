"""A function of many variables as one of few, where its operations show that it is: along few directions, or as a sum
of functions of different variables.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.enclosure.degree import degrees
from idbpd.optim.enclosure.enclose import enclose, enclose_all
from idbpd.optim.enclosure.jets import Frame
from idbpd.optim.enclosure.operations import refs_in
from idbpd.optim.enclosure.tape import Tape
from idbpd.optim.inner.function import PointFunction
from idbpd.optim.sets import Ball, Box, ConvexSet

_MOST_VARIABLES = 400  # of which the linear forms are decomposed, in 0.03 s
# Share of the largest singular value below which a direction is rounding. One that is taken for rounding wrongly
# moves the function by less than the tolerance of a verification.
_NEGLIGIBLE = 1e-11


class Reduced(NamedTuple):
    """A function over another set, and how its points become points of the first."""

    function: PointFunction
    over: ConvexSet
    origin: Tensor
    basis: Tensor  # (n, k)

    def point(self, u: Tensor) -> Tensor:
        """The point of the first set."""
        return self.origin + (self.basis @ u.flatten()).reshape(self.origin.shape)


def along_few_directions(tape: Tape, function: PointFunction, over: ConvexSet, like: Tensor) -> Reduced | None:
    """The function along the directions that its nonlinear operations see, where a set allows it.

    A function of one linear form takes all its values on the segment between the two points where that form is
    largest and smallest; one of k forms over a ball, on the ball in the space of those directions.
    """
    n = like.numel()
    if n > _MOST_VARIABLES or n < 2 or not over.is_bounded:
        return None
    rows = _linear_forms(tape, like)
    if rows is None or rows.numel() == 0:
        return None
    _, sizes, directions = torch.linalg.svd(rows, full_matrices=False)
    k = int((sizes > _NEGLIGIBLE * sizes[0]).sum())
    if float(sizes[0]) == 0.0 or k >= n:
        return None
    if k == 1:
        form = directions[0].to(like).reshape(like.shape)
        first, last = over.support(-form), over.support(form)
        interval = Box(like.new_zeros(1), like.new_ones(1))
        return _reduced(function, interval, first, (last - first).reshape(-1, 1))
    if isinstance(over, Ball):
        ball = Ball(like.new_zeros(k), over.radius)
        return _reduced(function, ball, over.center.to(like), directions[:k].T.to(like))
    return None


def _reduced(function: PointFunction, over: ConvexSet, origin: Tensor, basis: Tensor) -> Reduced:
    return Reduced(lambda u: function(origin + (basis @ u).reshape(origin.shape)), over, origin, basis)


def _linear_forms(tape: Tape, like: Tensor) -> Tensor | None:
    """The gradients of all affine tensors that a nonlinear operation takes in, (rows, n)."""
    known = degrees(tape)
    at = like.detach().flatten().to("cpu", torch.float64).unsqueeze(0)
    seen = {
        number
        for operation in tape.operations
        if any(known[output] > 1 for output in operation.outputs)
        for number in refs_in((operation.args, operation.kwargs))
        if known[number] == 1
    }
    if 0 in seen:
        return None
    jets = enclose_all(tape, at, at, 1)
    if not seen <= jets.keys():
        return None
    rows = [jets[number].low[0, 1:].reshape(at.shape[1], -1).T for number in sorted(seen)]
    return torch.cat(rows) if rows else None


def separate_parts(tape: Tape, low: Tensor, high: Tensor) -> list[list[int]]:
    """Groups of variables such that the function is a sum of one function of each group, between ``low`` and ``high``
    (n,), float64 on the host.
    """
    n = low.numel()
    frame = Frame(n, 2)
    bends = enclose(tape, low.unsqueeze(0), high.unsqueeze(0), 2).bends(frame)
    is_linked = ((bends.low != 0) | (bends.high != 0))[0].tolist()
    group = list(range(n))
    for row, column, linked in zip(*(index.tolist() for index in frame.pairs), is_linked, strict=True):
        if linked and group[row] != group[column]:
            old, new = group[column], group[row]
            group = [new if one == old else one for one in group]
    return [[i for i in range(n) if group[i] == name] for name in sorted(set(group))]


def on_part(function: PointFunction, box: Box, at: Tensor, part: Sequence[int]) -> Reduced:
    """The function of some variables, the others held where they are."""
    places = torch.tensor(part, device=at.device)
    basis = torch.zeros(at.numel(), len(part), dtype=at.dtype, device=at.device)
    basis[places, torch.arange(len(part), device=at.device)] = 1.0
    origin = at.flatten().index_fill(0, places, 0.0).reshape(at.shape)
    over = Box(box.low.to(at).flatten()[places], box.high.to(at).flatten()[places])
    return _reduced(function, over, origin, basis)
