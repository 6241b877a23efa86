"""The active-set method of `idbpd.optim.qp.active_set` for a few unknowns, in numbers instead of tensors.

One operation on so small a tensor costs as much as a hundred on floats, and every direction, penalty and certificate of
a small problem asks for such a program.
"""

import math
import sys
from collections.abc import Sequence

Matrix = Sequence[Sequence[float]]
MOST_UNKNOWNS = 30  # beyond, tensors are faster
_EPS = sys.float_info.epsilon


def minimise_few(
    quadratic: Matrix, linear: Sequence[float], groups: Sequence[tuple[Sequence[int], float]]
) -> list[float]:
    """The minimiser of 1/2 z'Qz + b'z over the groups, as `minimise_on_simplices` has it."""
    n = len(linear)
    finite = [(members, total) for members, total in groups if total < math.inf]
    diagonal = [quadratic[i][i] for i in range(n)]
    ridged = [d + r for d, r in zip(diagonal, ridge(diagonal, linear, finite), strict=True)]
    # Unknowns are brought to a common size, or one threshold would mean nothing for some of them.
    size = [math.sqrt(d) if d > 0 else 1.0 for d in ridged]
    Q = [[q / (si * sj) for q, sj in zip(row, size, strict=True)] for row, si in zip(quadratic, size, strict=True)]
    for i in range(n):
        Q[i][i] = ridged[i] / (size[i] * size[i])
    b = [bi / si for bi, si in zip(linear, size, strict=True)]
    z, free, sums = [0.0] * n, [], []
    for members, total in finite:
        row = [0.0] * n
        for i in members:
            row[i] = 1.0 / size[i]
        sums.append(row)
        first = min(members, key=linear.__getitem__)
        z[first] = total * size[first]
        free.append(first)
    for _ in range(10 * n + 10):
        z = _minimise_free(Q, b, sums, z, free)
        entering = _entering(Q, b, sums, z, free)
        if entering is None:
            break
        free.append(entering)
    return [zi / si for zi, si in zip(z, size, strict=True)]


def ridge(
    diagonal: Sequence[float], linear: Sequence[float], finite: Sequence[tuple[Sequence[int], float]]
) -> list[float]:
    """A trace of curvature for every unknown, so that no system is singular.

    With curvature: a share of it, which chooses between columns that depend on each other. Without, as for the unused
    part of a budget: so little that the steepest slope leads far beyond the total, and what the total costs is nothing.
    """
    steepest, largest = max(map(abs, linear)), max(diagonal)
    plain = steepest if steepest > 0 else largest if largest > 0 else 1.0
    faint = [plain] * len(linear)
    for members, total in finite if steepest > 0 else ():
        for i in members:
            faint[i] = plain / max(total, 1.0)
    return [64 * _EPS * (d if d > 0 else f) for d, f in zip(diagonal, faint, strict=True)]


def _entering(Q: Matrix, b: Sequence[float], sums: Matrix, z: Sequence[float], free: Sequence[int]) -> int | None:
    """The unknown to free next; None at the minimum."""
    held = [(j, z[j]) for j in free]
    prices = []
    if sums:
        slope = {i: b[i] + sum(Q[i][j] * zj for j, zj in held) for i in free}
        for row in sums:
            # In each group the free unknowns share one slope: the price of the sum.
            square = sum(row[i] * row[i] for i in free)
            prices.append(-sum(row[i] * slope[i] for i in free) / square if square > 0 else math.nan)
    lowest, entering = 0.0, None
    for i, (row, bi) in enumerate(zip(Q, b, strict=True)):
        if i in free:
            continue
        reduced, size = bi, abs(bi)
        for j, zj in held:
            term = row[j] * zj
            reduced += term
            size += abs(term)
        for price, total in zip(prices, sums, strict=True):
            term = price * total[i]
            reduced += term
            size += abs(term)
        reduced += 100 * _EPS * size
        if reduced < lowest:
            lowest, entering = reduced, i
    return entering


def _minimise_free(Q: Matrix, b: Sequence[float], sums: Matrix, z: list[float], free: list[int]) -> list[float]:
    """The minimiser over the free unknowns; those that meet zero on the way leave ``free``."""
    while free:
        totals = [sum(row[i] * z[i] for i in free) for row in sums]
        target = _free_minimiser(Q, b, sums, totals, free)
        if target is None:
            free.pop()
            break
        ratio, first = math.inf, -1
        for place, (i, goal) in enumerate(zip(free, target, strict=True)):
            if goal < 0 and z[i] / (z[i] - goal) < ratio:
                ratio, first = z[i] / (z[i] - goal), place
        moved = [0.0] * len(z)
        if ratio > 1:
            for i, goal in zip(free, target, strict=True):
                moved[i] = goal
            return moved
        for i, goal in zip(free, target, strict=True):
            moved[i] = max(z[i] + ratio * (goal - z[i]), 0.0)
        moved[free[first]] = 0.0
        del free[first]
        z = moved
    return z


def _free_minimiser(
    Q: Matrix, b: Sequence[float], sums: Matrix, totals: Sequence[float], free: Sequence[int]
) -> list[float] | None:
    """The minimiser over the free unknowns, whatever their sign, with the sums kept; None where there is none."""
    m = len(free)
    if m == 1 and not sums:
        i = free[0]
        return [-b[i] / Q[i][i]] if Q[i][i] != 0 and math.isfinite(b[i] / Q[i][i]) else None
    held = [[row[i] for i in free] for row in sums]
    system = [[Q[i][j] for j in free] + [row[place] for row in held] for place, i in enumerate(free)]
    system += [row + [0.0] * len(held) for row in held]
    right = [-b[i] for i in free] + list(totals)
    factors = _factorised(system)
    if factors is None:
        return None
    solved = _solved(factors, right)
    rest = [r - sum(a * s for a, s in zip(row, solved, strict=True)) for row, r in zip(system, right, strict=True)]
    # The second solve gives back the digits that cancellation cost the first one.
    again = _solved(factors, rest)
    found = [s + a for s, a in zip(solved[:m], again[:m], strict=True)]
    return found if all(map(math.isfinite, found)) else None


_Factors = tuple[list[list[float]], list[int]]


def _factorised(system: Matrix) -> _Factors | None:
    """The factors L (below the diagonal) and U of a matrix with its rows in another order; None if it is singular."""
    n = len(system)
    rows, order = [list(row) for row in system], list(range(n))
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        top = rows[pivot][k]
        if top == 0.0 or not math.isfinite(top):
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        order[k], order[pivot] = order[pivot], order[k]
        upper = rows[k]
        for i in range(k + 1, n):
            row = rows[i]
            factor = row[k] / top
            if factor != 0.0:
                row[k] = factor
                for j in range(k + 1, n):
                    row[j] -= factor * upper[j]
    return rows, order


def _solved(factors: _Factors, right: Sequence[float]) -> list[float]:
    """The solution of a system of which the factors are known."""
    rows, order = factors
    n = len(rows)
    x = [right[i] for i in order]
    for i in range(1, n):
        row = rows[i]
        x[i] -= sum(row[j] * x[j] for j in range(i))
    for i in range(n - 1, -1, -1):
        row = rows[i]
        x[i] = (x[i] - sum(row[j] * x[j] for j in range(i + 1, n))) / row[i]
    return x
