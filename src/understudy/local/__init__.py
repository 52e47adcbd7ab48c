"""Local differential privacy: every person randomises their own answer, and whoever
collects the reports estimates from them without knowing one true value.

>>> from understudy import local
>>> plan = local.plan_collection("smokes", values=["no", "yes"], epsilon=1)
>>> plan.mechanism
'krr'
>>> collector = local.Collector(plan)
>>> collector.add(local.simulate_reports(plan, ["no"] * 700 + ["yes"] * 300))
1000
>>> table = collector.estimate(level=0.95)
>>> bool(table.low[1] < table.shares[1] < table.high[1])
True

Clients use the standalone module `understudy_client`, one file without dependencies.
"""

from __future__ import annotations

from understudy.local.choice import (
    MechanismError,
    compare_mechanisms,
    plan_collection,
    read_plan,
)
from understudy.local.collector import Collector, simulate_reports
from understudy.local.estimates import FrequencyTable, MeanEstimate, norm_sub
from understudy.local.numeric import NumericDistribution
from understudy.local.shuffling import local_epsilon, shuffled_epsilon
from understudy_client import Account, CollectionPlan, DonationRefused

__all__ = [
    "Account",
    "CollectionPlan",
    "Collector",
    "DonationRefused",
    "FrequencyTable",
    "MeanEstimate",
    "MechanismError",
    "NumericDistribution",
    "compare_mechanisms",
    "local_epsilon",
    "norm_sub",
    "plan_collection",
    "read_plan",
    "shuffled_epsilon",
    "simulate_reports",
]
