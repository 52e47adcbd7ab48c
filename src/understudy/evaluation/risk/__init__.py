"""Risk: who could be found in a release. Reads real rows: its results are internal, not
private.
"""

from understudy.evaluation.risk.assessment import assess_risk
from understudy.evaluation.risk.intruder import Intruder
from understudy.evaluation.risk.membership import attack_by_shadows

__all__ = ["Intruder", "assess_risk", "attack_by_shadows"]
