"""The sets that y and w are taken from."""

from idbpd.optim.sets.base import ConvexSet
from idbpd.optim.sets.basic import Ball, Box, Simplex, Space
from idbpd.optim.sets.divergence_balls import ChiSquareBall, KLBall

__all__ = ["Ball", "Box", "ChiSquareBall", "ConvexSet", "KLBall", "Simplex", "Space"]
