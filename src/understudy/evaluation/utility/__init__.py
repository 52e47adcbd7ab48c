"""How close is a stand-in: comparisons for the custodian. They read real rows, so their results are internal, not private."""

from understudy.evaluation.utility.assessment import assess
from understudy.evaluation.utility.marginals import Comparison, Gap, compare
from understudy.findings import INTERNAL

__all__ = ["INTERNAL", "Comparison", "Gap", "assess", "compare"]
