"""Kinds of torch operations, by what they do to polynomials and intervals."""

from collections.abc import Iterator
from typing import Any

from torch.utils._pytree import tree_leaves

from idbpd.optim.enclosure.tape import Ref

_STRUCTURE = (
    "view _unsafe_view reshape _reshape_alias expand unsqueeze squeeze select slice transpose t permute clone alias "
    "detach stack cat unbind split split_with_sizes chunk index_select diagonal flip roll repeat lift_fresh "
    "diag_embed unfold movedim narrow view_as expand_as tril triu diag contiguous squeeze_copy _to_copy"
)
# Each entry of the result is an entry of an argument, or zero.
STRUCTURE = frozenset(f"aten::{name}" for name in _STRUCTURE.split())
# Each entry of the result is a sum of entries with coefficients that are not negative.
SUMS = frozenset(f"aten::{name}" for name in ("sum", "mean", "cumsum", "trace"))
# Linear in the tensors among the arguments, taken together; constants may stand among them.
LINEAR = STRUCTURE | frozenset(f"aten::{name}" for name in ("add", "sub", "rsub", "neg", "index", "gather"))
BILINEAR = frozenset(f"aten::{name}" for name in ("mul", "dot", "mv", "mm", "bmm", "vdot"))


def refs_in(item: Any) -> Iterator[int]:
    """The numbers of all refs in nested arguments."""
    # A Ref is a tuple itself, which the tree must not take apart.
    leaves = tree_leaves(item, is_leaf=lambda leaf: isinstance(leaf, Ref))
    return (leaf.number for leaf in leaves if isinstance(leaf, Ref))
