"""The door: charge, then measure, choose or discover. The only room where rows and noise meet."""

from understudy.curator.custody import Custody
from understudy.curator.discovery import needs_delta
from understudy.curator.discovery import shares as discovery_shares
from understudy.curator.room import Room, Rows
from understudy.curator.scores import SCORES, Score, check_score
from understudy.curator.stability import check_epsilon, laplace_threshold, threshold
from understudy.curator.sums import Mean, Sum
from understudy.curator.till import Till
from understudy.curator.window import Window

__all__ = [
    "SCORES",
    "Custody",
    "Mean",
    "Room",
    "Rows",
    "Score",
    "Sum",
    "Till",
    "Window",
    "check_epsilon",
    "check_score",
    "discovery_shares",
    "laplace_threshold",
    "needs_delta",
    "threshold",
]
