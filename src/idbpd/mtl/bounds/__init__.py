"""What a test part of so many rows can show about unseen data: one-sided bounds, and the verdict on a limit."""

from idbpd.mtl.bounds.bernstein import empirical_bernstein_upper
from idbpd.mtl.bounds.bootstrap import PairedBounds, WorstCaseBound, paired_bootstrap, worst_case_bound
from idbpd.mtl.bounds.dual import Dual, capped_worst_case_upper
from idbpd.mtl.bounds.mean_error import mean_error_bound
from idbpd.mtl.bounds.rates import clopper_pearson_lower, clopper_pearson_upper
from idbpd.mtl.bounds.verdict import Verdict, confidence_of_each, rows_needed, verdict, verdict_of_all

__all__ = [
    "Dual",
    "PairedBounds",
    "Verdict",
    "WorstCaseBound",
    "capped_worst_case_upper",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "confidence_of_each",
    "empirical_bernstein_upper",
    "mean_error_bound",
    "paired_bootstrap",
    "rows_needed",
    "verdict",
    "verdict_of_all",
    "worst_case_bound",
]
