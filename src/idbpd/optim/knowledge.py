"""How an inner maximum is known: what a certificate may rest on."""

from enum import Enum


class Known(Enum):
    """How the largest value of a function over its set is known, the strongest first."""

    EXACT = "exact"  # concave, linear, a quadratic over a ball, or convex with all corners compared
    GLOBAL = "global"  # no other point is higher by more than the inner error: bounds over all of the set say so
    STATED = "stated"  # by the word of the user (`concave`, `maximise`), and no test has spoken against it
    LOCAL = "local"  # nothing higher was found, and that is all

    def weaker(self, other: "Known") -> "Known":
        """The weaker of the two."""
        order = list(Known)
        return max(self, other, key=order.index)
