"""Attacks that teach and test: each shows what goes wrong without noise, on made data
or on tables the reader brings.
"""

from understudy.attacks.census import reconstruct_tables
from understudy.attacks.puzzle import parse_puzzle

__all__ = ["parse_puzzle", "reconstruct_tables"]
