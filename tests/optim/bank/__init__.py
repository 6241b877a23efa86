"""Small problems whose worst-case functions are known in closed form, so that answers can be found without the solver.

Each case states the problem as a user would (functions over sets) and, apart, the closed form of f and every g. Where
the answer is not given, a reference solver finds it from the closed form. Cases marked ``convex`` have one answer; the
others have several KKT points. Apart from them, `KINKS` are those whose worst case at the answer is not unique.
"""

from tests.optim.bank.case import Case, Closed
from tests.optim.bank.classical import classical
from tests.optim.bank.kinks import KINKS, Kink
from tests.optim.bank.published import published
from tests.optim.bank.robust import robust
from tests.optim.bank.shapes import shapes

PUBLISHED = published()
CASES = [*PUBLISHED, *classical(), *shapes(), *robust()]

__all__ = ["CASES", "KINKS", "PUBLISHED", "Case", "Closed", "Kink"]
