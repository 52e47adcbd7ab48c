"""How close is a stand-in: comparisons for the custodian. They read real rows, so their results are internal, not private."""

from understudy.findings import INTERNAL
from understudy.utility.assessment import assess
from understudy.utility.marginals import Comparison, Gap, compare

__all__ = ["INTERNAL", "Comparison", "Gap", "assess", "compare"]
