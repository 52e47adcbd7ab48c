"""The door: charge, then measure, choose or discover. The only room where rows and noise meet."""

from understudy.curator.context import Room, TableProtocol
from understudy.curator.curator import Custody
from understudy.curator.discovery.close import discovery_shares as discovery_shares
from understudy.curator.discovery.close import needs_delta
from understudy.curator.mechanisms.scores import CHOICE_SCORES, Score, check_score
from understudy.curator.mechanisms.sparse_histogram import check_epsilon, laplace_threshold, threshold
from understudy.curator.mechanisms.sums import Mean, Sum
from understudy.curator.payment import Till
from understudy.curator.view import Window

__all__ = [
    "CHOICE_SCORES",
    "Custody",
    "Mean",
    "Room",
    "Score",
    "Sum",
    "TableProtocol",
    "Till",
    "Window",
    "check_epsilon",
    "check_score",
    "discovery_shares",
    "laplace_threshold",
    "needs_delta",
    "threshold",
]
