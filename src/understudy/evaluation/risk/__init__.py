"""Risk: who could be found in a release. Reads real rows: its results are internal, not
private.
"""

from understudy.evaluation.risk.assessment import assess_risk

__all__ = ["assess_risk"]
