"""The robust problem with its samples dealt to several ranks: `torch.distributed` adds up what each of them finds."""

from idbpd.mtl.sharded.dealing import Shard, deal, shard_of
from idbpd.mtl.sharded.oracle import ShardedProblem, Terms
from idbpd.mtl.sharded.reduction import Alone, Ranks, Reduction
from idbpd.mtl.sharded.terms import ShardedTerms

__all__ = ["Alone", "Ranks", "Reduction", "Shard", "ShardedProblem", "ShardedTerms", "Terms", "deal", "shard_of"]
