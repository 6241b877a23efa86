"""The sets that y and w are taken from."""

from idbpd.optim.sets.base import ConvexSet
from idbpd.optim.sets.basic import Ball, Box, Simplex, Space
from idbpd.optim.sets.divergence_balls import ChiSquareBall, KLBall
from idbpd.optim.sets.polyhedron import Polyhedron
from idbpd.optim.sets.product import Product

__all__ = ["Ball", "Box", "ChiSquareBall", "ConvexSet", "KLBall", "Polyhedron", "Product", "Simplex", "Space"]
