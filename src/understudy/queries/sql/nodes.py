"""The nodes of SQL that may occur in a question, each with the parts it may have.

Every node of a parsed text is looked up here by its exact class before anything is read
from it. A part that is not listed refuses the text too: a parser that learns to say
something new must not be understood as saying the old.
"""

from __future__ import annotations

import logging
from typing import Any

from understudy.errors import Refused
from understudy.queries.sql.refusals import refuse_node

_ONE_PART = frozenset({"this"})
_TWO_PARTS = frozenset({"this", "expression"})

PARTS_BY_NODE: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("Paren", "Not", "Neg", "Where", "Having", "Null", "Boolean", "Star"), _ONE_PART
    ),
    **dict.fromkeys(("Abs", "Sqrt", "Exp", "Ln"), _ONE_PART),
    **dict.fromkeys(("Quarter", "Month", "Week", "Day", "DayOfWeek"), _ONE_PART),
    **dict.fromkeys(("DayOfWeekIso", "Monthname", "Dayname"), _ONE_PART),
    "TimestampTrunc": frozenset({"this", "unit"}),
    "TimeToStr": frozenset({"this", "format"}),
    **dict.fromkeys(("Upper", "Lower", "Trim"), _ONE_PART),
    **dict.fromkeys(("Left", "Right"), _TWO_PARTS),
    "Substring": frozenset({"this", "start", "length"}),
    **dict.fromkeys(("StartsWith", "EndsWith", "Contains"), _TWO_PARTS),
    **dict.fromkeys(("Pow", "Log", "Nullif"), _TWO_PARTS),
    **dict.fromkeys(
        ("Least", "Greatest"), frozenset({"this", "expressions", "ignore_nulls"})
    ),
    "Pi": frozenset(),
    "Round": frozenset({"this", "decimals"}),
    "Coalesce": frozenset({"this", "expressions"}),
    "Anonymous": frozenset({"this", "expressions"}),
    **dict.fromkeys(("Year", "Median", "CountIf", "Sum", "Avg", "Var"), _ONE_PART),
    **dict.fromkeys(("Variance", "Stddev", "StddevSamp"), _ONE_PART),
    **dict.fromkeys(("And", "Or", "EQ", "NEQ", "LT", "LTE", "GT", "GTE"), _TWO_PARTS),
    **dict.fromkeys(("Is", "Add", "Sub", "Mul", "Filter", "Extract"), _TWO_PARTS),
    **dict.fromkeys(("Corr", "CovarSamp", "WithinGroup"), _TWO_PARTS),
    **dict.fromkeys(("PercentileDisc", "PercentileCont"), _TWO_PARTS),
    "Quantile": frozenset({"this", "quantile"}),
    **dict.fromkeys(("Like", "ILike"), _TWO_PARTS | {"negate"}),
    **dict.fromkeys(("Order", "Distinct"), frozenset({"expressions"})),
    "Group": frozenset({"expressions", "all"}),
    "IntDiv": _TWO_PARTS,
    "With": frozenset({"expressions"}),
    "CTE": frozenset({"this", "alias"}),
    "Select": frozenset(
        {
            "expressions",
            "from_",
            "joins",
            "where",
            "group",
            "having",
            "order",
            "limit",
            "with_",
        }
    ),
    "Join": frozenset({"this", "on", "using", "kind"}),
    "Subquery": frozenset({"this", "alias"}),
    **dict.fromkeys(("Min", "Max", "LogicalOr"), _ONE_PART),
    "From": _ONE_PART,
    "Table": frozenset({"this", "alias", "db", "catalog"}),
    "TableAlias": _ONE_PART,
    "Identifier": frozenset({"this", "quoted"}),
    "Column": frozenset({"this", "table", "db", "catalog"}),
    "Alias": frozenset({"this", "alias"}),
    "Literal": frozenset({"this", "is_string"}),
    "Between": frozenset({"this", "low", "high"}),
    "In": frozenset({"this", "expressions"}),
    "Case": frozenset({"this", "ifs", "default"}),
    "If": frozenset({"this", "true", "false"}),
    "Cast": frozenset({"this", "to", "_type"}),
    "DataType": frozenset({"this", "nested", "expressions"}),
    "Count": frozenset({"this", "expressions", "big_int"}),
    **dict.fromkeys(("Floor", "Ceil"), _ONE_PART),
    "Div": frozenset({"this", "expression", "typed", "safe"}),
    "Ordered": frozenset({"this", "desc", "nulls_first"}),
    "Limit": frozenset({"expression"}),
}


def parse_select(text: str) -> Any:
    """The tree of a text that is one SELECT, all of whose nodes may occur."""
    try:
        import sqlglot
    except ImportError:
        raise Refused(
            "SQL needs sqlglot: install understudy-dp[sql], or ask in Python. Nothing"
            " was spent"
        ) from None
    # Its warnings quote the text; a refusal says what there is to say.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        statements = sqlglot.parse(
            text, read="duckdb", error_level=sqlglot.ErrorLevel.IMMEDIATE
        )
    # The parser reads hostile text; whatever it fails with is a text it cannot read.
    except Exception:
        raise Refused(
            "SQL: it cannot be read. A question is one SELECT. Nothing was spent"
        ) from None
    if len(statements) != 1 or statements[0] is None:
        raise Refused("SQL: a question is one SELECT. Nothing was spent")
    if type(statements[0]).__name__ != "Select":
        raise refuse_node(statements[0])
    check_nodes(statements[0])
    return statements[0]


def check_nodes(tree: Any) -> None:
    """Refuse a tree with a node or a part of one that is not listed."""
    for node in tree.walk():
        parts = PARTS_BY_NODE.get(type(node).__name__)
        if parts is None:
            raise refuse_node(node)
        for part, value in node.args.items():
            # Parts that are absent are None, False or empty.
            if value and part not in parts:
                inner = value[0] if isinstance(value, list) else value
                raise refuse_node(inner if hasattr(inner, "args") else node)
