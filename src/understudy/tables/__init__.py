"""Where rows are. PRIVATE: only the curator may ask this room anything, but for the
public header of a source.
"""

from understudy.tables.drafting.numeric_codes import LEADING_CODES
from understudy.tables.partitions.partitioned_table import describe_rows
from understudy.tables.reading.moment_votes import (
    AMBIGUOUS_KINDS,
    LOCAL_KINDS,
    MOMENT_SPELLINGS,
    MomentSpelling,
    choose_spelling,
)
from understudy.tables.reading.number_votes import (
    LARGE_CANDIDATE,
    PLAIN_STEPS,
    POINT_SUFFIX,
    STEP_CANDIDATES,
    has_trailing_zeros,
    has_whole_point,
    seems_zero_filled,
    weigh_point,
)
from understudy.tables.reading.type_votes import (
    ELECTED_TYPES,
    EMPTY_CANDIDATE,
    NUMBER_CANDIDATES,
    TEXT_CANDIDATE,
    TYPE_CANDIDATES,
    ZERO_LED_CANDIDATE,
    is_readable_as,
    kind_of_vote,
)
from understudy.tables.records import ABSENT_PLACE, Records
from understudy.tables.sources.open_table import open_table
from understudy.tables.sources.source import TableSource
from understudy.tables.table import Table

__all__ = [
    "ABSENT_PLACE",
    "AMBIGUOUS_KINDS",
    "ELECTED_TYPES",
    "EMPTY_CANDIDATE",
    "LARGE_CANDIDATE",
    "LEADING_CODES",
    "LOCAL_KINDS",
    "MOMENT_SPELLINGS",
    "NUMBER_CANDIDATES",
    "PLAIN_STEPS",
    "POINT_SUFFIX",
    "STEP_CANDIDATES",
    "TEXT_CANDIDATE",
    "TYPE_CANDIDATES",
    "ZERO_LED_CANDIDATE",
    "MomentSpelling",
    "Records",
    "Table",
    "TableSource",
    "choose_spelling",
    "describe_rows",
    "has_trailing_zeros",
    "has_whole_point",
    "is_readable_as",
    "kind_of_vote",
    "open_table",
    "seems_zero_filled",
    "weigh_point",
]
