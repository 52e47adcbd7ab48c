"""How close is a synthetic table: comparisons for the custodian. They read real rows,
so their results are internal, not private.
"""

from understudy.evaluation.utility.assessment import assess_utility
from understudy.evaluation.utility.marginals import (
    MarginalComparison,
    MarginalDistance,
    compare_marginals,
)
from understudy.findings import INTERNAL_MARKING

__all__ = [
    "INTERNAL_MARKING",
    "MarginalComparison",
    "MarginalDistance",
    "assess_utility",
    "compare_marginals",
]
