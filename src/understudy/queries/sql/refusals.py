"""Refusals of parts of SQL, each with what to ask instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.errors import Refused

MAX_REFUSED_CHARACTERS = 60
"""Characters of a name or a constant of the text in a refusal."""

_REMEDY_BY_NODE: Mapping[str, str] = {
    "Min": "It is the value of a single row. Ask for a quantile such as QUANTILE_DISC(x, 0.01)",
    "Max": "It is the value of a single row. Ask for a quantile such as QUANTILE_DISC(x, 0.99)",
    "Window": "Group with GROUP BY instead",
    "Union": "Ask the questions one by one",
    "Intersect": "Ask the questions one by one",
    "Except": "Ask the questions one by one",
    "Join": "A question is about one table, and public tables that its custodian gives",
    "Subquery": "Put its condition into WHERE",
    "Star": "Rows are never released. Ask for aggregates such as COUNT(*)",
    "Rand": "An answer depends on rows and noise alone. Leave it out",
    "Like": "It needs a column whose labels are all listed. List them: x IN ('a', 'b')",
    "VariancePop": "Use VAR_SAMP",
    "StddevPop": "Use STDDEV_SAMP",
    "CovarPop": "Use COVAR_SAMP",
    "Distinct": "Group with GROUP BY, which shows every value of the schema",
    "Div": "Compare the column with a constant: x > 10; groups are FLOOR(x / 10)",
    "Add": "Add up aggregates, each of one column: SUM(x) + SUM(y)",
    "Sub": "Subtract aggregates, each of one column: SUM(x) - SUM(y)",
    "Mul": "Aggregates are of one column, and of its multiples",
    "Mod": "Groups are columns, FLOOR(x / 10) and CASE",
    "TryCast": "Use CAST",
    "IntDiv": "Groups are FLOOR(x / 10)",
    "CTE": "It is SELECT columns FROM table WHERE …, or columns per id",
    **dict.fromkeys(
        (
            *("Lower", "Upper", "Left", "Right", "Substring", "Trim", "StartsWith"),
            *("Concat", "DPipe", "Length", "Replace", "RegexpLike", "SimilarTo"),
        ),
        "Labels are those of the schema: region IN ('North', 'South'); LEFT, RIGHT,"
        " SUBSTR, UPPER and LOWER of one are grouped by, or compared with texts",
    ),
    **dict.fromkeys(
        (
            *("Year", "Quarter", "Month", "Week", "Day", "Hour", "Extract", "Interval"),
            *("TimestampTrunc", "DateTrunc", "TimeToStr", "ToChar", "DateDiff"),
            *("DateAdd", "DateSub", "CurrentDate", "CurrentTimestamp"),
        ),
        "Dates are compared with days, born >= DATE '1990-01-01', and parts of them"
        " with constants, MONTH(born) = 5; groups are YEAR(born), QUARTER, MONTH, WEEK,"
        " DAYOFWEEK, DATE_TRUNC('month', born) and STRFTIME(born, '%Y-%m')",
    ),
    **dict.fromkeys(
        ("GroupConcat", "ArrayAgg", "First", "Last", "AnyValue", "IgnoreNulls"),
        "It shows single rows, which are never released. Group by the column",
    ),
    "ApproxDistinct": "Use COUNT(DISTINCT x)",
    "Placeholder": "Write the value itself",
    "Parameter": "Write the value itself",
    "Anonymous": "Functions are those of the page on questions",
    "Column": "Put it into an aggregate such as SUM, compare it with a constant, or"
    " group by it",
    "Literal": "Numbers stand without quotes and texts in single ones; GROUP BY 1 is"
    " the first selected column",
    **dict.fromkeys(
        ("Rollup", "Cube", "GroupingSets"),
        "Ask for each grouping by itself",
    ),
    "Array": "Ask for each level in a column of its own",
    "Tuple": "Compare columns one by one, with AND",
    "Offset": "Leave it out: LIMIT keeps the first rows of the answer",
    "Null": "Nothing equals NULL: x IS NULL finds it",
    "TableSample": "An answer is about all rows",
    "Mode": "Group with GROUP BY, and ORDER BY COUNT(*) DESC LIMIT 1",
    "RegrSlope": "Divide COVAR_SAMP(y, x) by VAR_SAMP(x)",
}
"""What to do instead of what is not answered."""


def refuse_node(node: Any) -> Refused:
    """The refusal of a part of SQL, by its kind and by what the text calls it."""
    kind = type(node).__name__
    remedy = _REMEDY_BY_NODE.get(kind, "See the page on questions for what is answered")
    called = kind
    match kind:
        case "Anonymous":
            called = f"{str(node.this).upper()[:MAX_REFUSED_CHARACTERS]}(…)"
        case "Column":
            called = f'column "{str(node.name)[:MAX_REFUSED_CHARACTERS]}" by itself'
        case "Literal":
            called = (
                f"the constant {str(node.this)[:MAX_REFUSED_CHARACTERS]} in this place"
            )
    return Refused(f"SQL: {called} is not answered. {remedy}. Nothing was spent")
