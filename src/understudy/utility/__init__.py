"""How close is a stand-in: comparisons for the custodian. They read real rows, so their results are internal, not private."""

from understudy.utility.marginals import INTERNAL, Comparison, Gap, compare

__all__ = ["INTERNAL", "Comparison", "Gap", "compare"]
