"""SQL conditions as the schema's predicates.

In SQL a comparison with NULL is neither true nor false, and NOT leaves it so; in a
predicate it is false, and `not` makes it true. So NOT is moved inwards, where it turns
a comparison into its opposite: what is left has no NOT, and then both languages take
the same rows (a condition without NOT is true exactly if enough of its tests are).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from understudy.accounting.budget import to_exact_fraction
from understudy.errors import Refused, SchemaError
from understudy.schema import Categorical, Schema, parse_predicate
from understudy.schema.columns.cell import decimal_text
from understudy.schema.predicates.ast import ColumnName, Literal, Predicate

if TYPE_CHECKING:
    from sqlglot import exp

MAX_CALENDAR_YEAR = 9999
"""Python's calendar ends with this year."""

_SIGN_BY_NODE = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_OPPOSITE_SIGN = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

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
}
"""What to do instead of what is not answered."""


def refuse_node(node: object) -> Refused:
    """The refusal of a part of SQL, by its kind alone."""
    kind = type(node).__name__
    remedy = _REMEDY_BY_NODE.get(kind, "See the page on questions for what is answered")
    return Refused(f"SQL: {kind} is not answered. {remedy}. Nothing was spent")


def find_schema_column(name: str, schema: Schema) -> str:
    """The column as the schema spells it: SQL does not tell upper from lower case."""
    if name in schema.by_name:
        return name
    alike = [each for each in schema.by_name if each.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    raise Refused(f'SQL: column "{name}" is not in the schema. Nothing was spent')


class ConditionReader:
    """Turns a tree of SQL into the text of a predicate, and reads that.

    `columns` may replace the schema's columns: HAVING speaks of those of the answer.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def read(self, node: exp.Expression) -> Predicate:
        """The predicate that is true of the rows of which the condition is."""
        text = self._spell(node, negated=False)
        try:
            return parse_predicate(text)
        except SchemaError as error:
            raise Refused(f"SQL: {error}. Nothing was spent") from None

    def column_text(self, node: exp.Expression) -> str:
        """A column in the words of a predicate."""
        return str(ColumnName(find_schema_column(column_name(node), self._schema)))

    def _spell(self, node: Any, *, negated: bool) -> str:
        match type(node).__name__:
            case "Paren":
                return f"({self._spell(node.this, negated=negated)})"
            case "Not":
                return self._spell(node.this, negated=not negated)
            case "And" | "Or" as kind:
                left = self._spell(node.this, negated=negated)
                right = self._spell(node.expression, negated=negated)
                # De Morgan.
                word = "and" if (kind == "And") != negated else "or"
                return f"({left}) {word} ({right})"
            case "Column":
                # A truth by itself.
                word = "false" if negated else "true"
                return f"{self.column_text(node)} = {word}"
            case "Between":
                return self._spell_between(node, negated=negated)
            case "In":
                return self._spell_membership(node, negated=negated)
            case "Is":
                return self._spell_is(node, negated=negated)
            case "Like" | "ILike":
                return self._spell_like(node, negated=negated)
            case kind if kind in _SIGN_BY_NODE:
                return self._spell_comparison(node, negated=negated)
        raise refuse_node(node)

    def _spell_comparison(self, node: Any, *, negated: bool) -> str:
        sign = _SIGN_BY_NODE[type(node).__name__]
        if year_column(node.this) is not None:
            return self._spell_year(node, sign, negated=negated)
        sign = _OPPOSITE_SIGN[sign] if negated else sign
        left = self._spell_operand(node.this)
        return f"{left} {sign} {self._spell_operand(node.expression)}"

    def _spell_between(self, node: Any, *, negated: bool) -> str:
        value = self._spell_operand(node.this)
        low = self._spell_operand(node.args["low"])
        high = self._spell_operand(node.args["high"])
        if node.args.get("symmetric"):
            raise refuse_node(node)
        if negated:
            return f"({value} < {low} or {value} > {high})"
        return f"({value} >= {low} and {value} <= {high})"

    def _spell_membership(self, node: Any, *, negated: bool) -> str:
        if node.args.get("query") or node.args.get("unnest") or not node.expressions:
            raise refuse_node(node)
        values = ", ".join(spell_literal(each) for each in node.expressions)
        word = "not in" if negated else "in"
        return f"{self.column_text(node.this)} {word} ({values})"

    def _spell_like(self, node: Any, *, negated: bool) -> str:
        """The labels of the schema that a pattern fits."""
        name = find_schema_column(column_name(node.this), self._schema)
        column, pattern = self._schema[name], node.expression
        is_text = type(pattern).__name__ == "Literal" and pattern.args.get("is_string")
        is_listed = isinstance(column, Categorical) and column.other is None
        if not is_text or not is_listed or "\\" in str(pattern.this):
            raise refuse_node(node)
        assert isinstance(column, Categorical)
        # NOT LIKE is a part of the node.
        negated = negated != bool(node.args.get("negate"))
        labels = _match_labels(column, node)
        text = str(ColumnName(name))
        if not labels:
            # Nothing fits: all values, or none.
            rest = f"{text} is not missing"
            return rest if negated else f"({rest} and {text} is missing)"
        listed = ", ".join(str(Literal(label)) for label in labels)
        return f"{text} {'not in' if negated else 'in'} ({listed})"

    def _spell_year(self, node: Any, sign: str, *, negated: bool) -> str:
        """A comparison of a date's year, as one of the date."""
        column = year_column(node.this)
        assert column is not None
        text = self.column_text(column)
        number = number_of(node.expression)
        if number.denominator != 1 or not 1 <= number < MAX_CALENDAR_YEAR:
            raise refuse_node(node.expression)
        first, after = f"'{int(number):04}-01-01'", f"'{int(number) + 1:04}-01-01'"
        sign = _OPPOSITE_SIGN[sign] if negated else sign
        return {
            "=": f"({text} >= {first} and {text} < {after})",
            "!=": f"({text} < {first} or {text} >= {after})",
            "<": f"{text} < {first}",
            "<=": f"{text} < {after}",
            ">": f"{text} >= {after}",
            ">=": f"{text} >= {first}",
        }[sign]

    def _spell_is(self, node: Any, *, negated: bool) -> str:
        column = self.column_text(node.this)
        match type(node.expression).__name__:
            case "Null":
                return f"{column} is {'not ' if negated else ''}missing"
            case "Boolean":
                test = f"{column} = {spell_literal(node.expression)}"
                # IS NOT TRUE holds for NULL, as `not` makes it.
                return f"not {test}" if negated else test
        raise refuse_node(node.expression)

    def _spell_operand(self, node: Any) -> str:
        match type(node).__name__:
            case "Column":
                return self.column_text(node)
            case "Paren":
                return self._spell_operand(node.this)
            case "Add":
                right = self._spell_operand(node.expression)
                return f"{self._spell_operand(node.this)} + {right}"
            case "Sub" if type(node.expression).__name__ in ("Column", "Literal"):
                right = self._spell_operand(node.expression)
                return f"{self._spell_operand(node.this)} - {right}"
            case "Mul":
                return self._spell_product(node)
        return spell_literal(node)

    def _spell_product(self, node: Any) -> str:
        sides = [node.this, node.expression]
        sides.sort(key=lambda side: type(side).__name__ == "Column")
        number, column = sides
        if type(column).__name__ != "Column" or type(number).__name__ == "Column":
            raise refuse_node(node)
        return f"{spell_literal(number)} * {self.column_text(column)}"


def year_column(node: Any) -> Any | None:
    """The column in YEAR(column) or EXTRACT(YEAR FROM column); None for anything else."""
    kind = type(node).__name__
    if kind == "Year" and type(node.this).__name__ == "Column":
        return node.this
    if kind == "Extract" and str(node.this.this).upper() == "YEAR":
        return node.expression if type(node.expression).__name__ == "Column" else None
    return None


def _match_labels(column: Categorical, node: Any) -> list[str]:
    """The labels of a column that the pattern of LIKE or ILIKE fits."""
    flags = re.DOTALL
    if type(node).__name__ == "ILike":
        flags |= re.IGNORECASE
    expression = _like_expression(str(node.expression.this))
    return [v for v in column.values or () if re.fullmatch(expression, v, flags)]


def _like_expression(pattern: str) -> str:
    """A pattern of LIKE as a regular expression; every run of % is one, so that it is
    matched in little time.
    """
    parts = re.split("(%+|_)", pattern)
    spelled = {"_": "."}
    return "".join(
        ".*" if part.startswith("%") else spelled.get(part, re.escape(part))
        for part in parts
    )


def column_name(node: Any) -> str:
    """The name in a column; its table is the only one there is."""
    if type(node).__name__ != "Column" or type(node.this).__name__ != "Identifier":
        raise refuse_node(node)
    return str(node.this.this)


def spell_literal(node: Any) -> str:
    """A constant in the words of a predicate."""
    match type(node).__name__:
        case "Literal" if node.args.get("is_string"):
            return str(Literal(str(node.this)))
        case "Literal":
            return spell_fraction(number_of(node))
        case "Neg":
            return spell_fraction(-number_of(node.this))
        case "Paren":
            return spell_literal(node.this)
        case "Boolean":
            return "true" if node.this else "false"
        case "Cast" if type(node.this).__name__ == "Literal":
            # DATE '2020-01-01': the column says how it is read.
            return spell_literal(node.this)
    raise refuse_node(node)


def spell_fraction(number: Fraction) -> str:
    """A number in the words of a predicate."""
    return decimal_text(number) or str(number)


def number_of(node: Any) -> Fraction:
    """The exact number in a literal."""
    name = type(node).__name__
    if name == "Neg":
        return -number_of(node.this)
    if name == "Paren":
        return number_of(node.this)
    if name != "Literal" or node.args.get("is_string"):
        raise refuse_node(node)
    try:
        # Numbers of ordinary size only: 1e999999999 would fill the memory.
        return to_exact_fraction(str(node.this))
    except ValueError:
        raise refuse_node(node) from None
