"""The curator: charge, then measure, choose or discover. The only package in which rows
and noise meet.
"""

from understudy.curator.context import MechanismContext, TableProtocol
from understudy.curator.curator import Curator
from understudy.curator.discovery.shares import discovery_shares as discovery_shares
from understudy.curator.discovery.shares import needs_delta
from understudy.curator.mechanisms.scores import CHOICE_SCORES, Score, check_score
from understudy.curator.mechanisms.sparse_histogram import (
    check_epsilon,
    laplace_threshold,
    threshold,
)
from understudy.curator.mechanisms.sums import Mean, Sum
from understudy.curator.payment import Payments
from understudy.curator.view import CuratorView

__all__ = [
    "CHOICE_SCORES",
    "Curator",
    "CuratorView",
    "Mean",
    "MechanismContext",
    "Payments",
    "Score",
    "Sum",
    "TableProtocol",
    "check_epsilon",
    "check_score",
    "discovery_shares",
    "laplace_threshold",
    "needs_delta",
    "threshold",
]
