"""What the page of results says around its numbers. Names in braces are filled in."""

OPENING = """\
# What each method reaches

{count} runs: every method on every data set, from the same start, under the same thresholds, for the same number
of seconds, judged by the same measure. This page is generated: `kedro run --pipeline benchmark` makes the runs,
`kedro run --pipeline report
--params report.to={to}` makes this page and its figures from what MLflow tracked of them. What is said of a
method follows from the numbers by rules that stand beside it. How it was measured stands [at the
end](#how-it-was-measured)."""

AHEAD = """\
## Is idbpd ahead?

Objective: the lowest f among iterates with g <= {feasible:g}. Worst residual: the largest of stationarity,
infeasibility and slackness at one iterate, the lowest of the run, with the best multiplier for every method.
Medians over the seeds.

{table}"""

NOT_AHEAD = "Where it is not ahead, and why:"
RESIDUAL_OF_THE_INFEASIBLE = (
    "`{rival}` has the smaller residual, but at points that violate the limit by at least {violation:.1e}; `idbpd` is "
    "feasible in {feasible:.0f} of {seeds:.0f} runs, and lowers the objective along the limit when the time is over."
)
SMALLER_RESIDUAL = "`{rival}` came nearer to a KKT point in this time."
NEVER_FEASIBLE = "in this time it does not reach the limit (violation {violation:.1e}), and `{rival}` does."
OTHER_KKT_POINT = (
    "the objective of `{rival}` is {share:.2%} lower. `idbpd` is nearer to a KKT point (worst residual {own:.1e} "
    "against {other:.1e}): the problem is not convex and has many, and each method ends near another."
)
NOT_THERE_YET = (
    "the objective of `{rival}` is {share:.2%} lower, and its residual too ({other:.1e} against {own:.1e}): when the "
    "time is over, `idbpd` is still on its way."
)

CLAIMS = """\
## The paper's claims

In the setting `{setting}`. The paper does not give the width of its network, its start, or the number of steps
by which its thresholds were found; ours are stated below. A claim that does not hold here is a statement about
these choices too.

{table}"""

PAPER_GRID = """\
## Where the paper's grid does not reach feasibility

The least violation max(g, 0) of each, and what it takes to get to {feasible:g}. While the constraint is
violated, Algorithm 1 lowers it by about gamma alpha_k ||grad g|| a step, and the sum of alpha_k = alpha / (k +
2)^1.001 grows like a logarithm: 8.7 alpha after 10 000 steps, 11 alpha after 100 000. With the gamma and alpha
of the grid that is not far. Theorem 2's alpha_k is T^(1/3) times larger; a barrier in proportion to the
violation itself, as in `idbpd`, does not run out.

{table}"""

PROFILES = """\
## Over all data sets and seeds

Performance profiles: the share of problems on which a method passed a test within a multiple of the time of the
fastest.

![performance profiles]({figure})

{tables}"""

HOW = """\
## How it was measured

On {machine}, one thread per run, as many runs at a time as there are cores; the last one on {when}, by
commit {commit}.

- **The same problem.** Calibration solves the constraint task alone, once per data set, setting and seed; its
  threshold and the start are the same for all methods. Its time is not counted.
- **The same time.** A method ends when its seconds are over, or when all three residuals are at most
  {tolerance}. The seconds are those of the processor, which do not pass while other programs have the core.
  Counted is what the method computes, and the loop that all methods share; reading data, calibration, and
  measurements that a method does not need itself are not.
- **The same measure.** f, g and the residuals at iterates, with the multiplier of the method itself (rho for
  GDMA) and with the best one: the non-negative multiplier with the least sum of squares of stationarity and
  slackness. Every step of every run counts for the objective at feasibility; residuals with the best multiplier
  are measured at a few hundred steps of each run.
- **Options.** `idbpd` has none to choose. A method with a grid tries every point of it for a short time with
  the first seed, and its cells then run with the winner: the trial with the lowest objective at feasibility or,
  where none was feasible, with the lowest worst residual. That time is not counted: it is a gift to the methods
  that need it. Theorem 2's T is the number of steps for which the time is enough, found by a short run.
- **Forwards** are evaluations of f and g on all samples, **gradients** are requests for both gradients.

{table}"""
