"""SQL conditions as the schema's predicates.

In SQL a comparison with NULL is neither true nor false, and NOT leaves it so; in a
predicate it is false, and `not` makes it true. So NOT is moved inwards, where it turns
a comparison into its opposite: what is left has no NOT, and then both languages take
the same rows (a condition without NOT is true exactly if enough of its tests are).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from understudy.errors import Refused, SchemaError
from understudy.queries.sql.dates import read_date_part
from understudy.queries.sql.labels import (
    LABEL_NODES,
    LABEL_TESTS,
    is_text,
    read_label_test,
    read_labels,
)
from understudy.queries.sql.literals import (
    column_name,
    compare_constants,
    compare_values,
    is_constant,
    list_constants,
    number_of,
    skip_brackets,
    spell_fraction,
    spell_literal,
)
from understudy.queries.sql.refusals import refuse_node
from understudy.schema import Schema, parse_predicate
from understudy.schema.predicates.ast import ColumnName, Predicate

if TYPE_CHECKING:
    from sqlglot import exp

WHOLE_SQL_TYPES = frozenset({"INT", "BIGINT", "SMALLINT", "TINYINT"})
"""Types of whole numbers."""

CONDITION_NODES = frozenset(
    {"EQ", "NEQ", "LT", "LTE", "GT", "GTE", "And", "Or", "Not", "In", "Is", "Between"}
)
"""What is true, false or neither."""

MAX_CALENDAR_YEAR = 9999
"""Python's calendar ends with this year."""

_SIGN_BY_NODE = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_OPPOSITE_SIGN = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TURNED_SIGN = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_BRANCHED_NODES = frozenset({"Case", "If", "Coalesce", "Abs"})
_LINEAR_NODES = frozenset({"Column", "Paren", "Neg", "Add", "Sub", "Mul", "Div"})

MAX_FACTOR_SIZE = 10**400
"""Of what a column is multiplied by: products of constants have no end."""

MAX_CONDITION_CHARACTERS = 20_000
"""Characters of a condition in the words of a predicate: twice those of a question."""


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
            case "Case" | "If" | "Coalesce" | "Boolean":
                from sqlglot import exp

                # A truth with branches: that of NULL is neither.
                return self._compare(node, "=", exp.Boolean(this=not negated))
            case kind if kind in LABEL_TESTS:
                return str(read_label_test(node, self._schema, negated=negated))
            case kind if kind in _SIGN_BY_NODE:
                return self._spell_comparison(node, negated=negated)
        raise refuse_node(node)

    def _spell_comparison(self, node: Any, *, negated: bool) -> str:
        sign = _SIGN_BY_NODE[type(node).__name__]
        sign = _OPPOSITE_SIGN[sign] if negated else sign
        return self._compare(node.this, sign, node.expression)

    def _compare(self, left: Any, sign: str, right: Any) -> str:
        """A comparison of two operands in the words of a predicate."""
        text = self._decide(left, sign, right)
        if text:
            return text
        # Of constants alone: all rows meet it, or none. Any column says so.
        name = next(name for name in self._schema if self._schema[name].is_closed)
        column = str(ColumnName(name))
        word = "and" if text is None else "or"
        return f"({column} is missing {word} {column} is not missing)"

    def _decide(self, left: Any, sign: str, right: Any) -> str | None:
        """The same; empty where all rows meet it, None where no row does. An operand
        with branches is compared branch by branch: what none of them gives a value
        meets nothing, as in SQL.
        """
        left, right = skip_brackets(left), skip_brackets(right)
        kinds = [type(side).__name__ for side in (left, right)]
        # NULL is neither smaller nor larger than anything.
        if not {"NoneType", "Null"}.isdisjoint(kinds):
            return None
        if self._is_computed(right) and not self._is_computed(left):
            return self._decide(right, _TURNED_SIGN[sign], left)
        if year_column(left) is not None:
            return self._compare_year(left, sign, right)
        part = read_date_part(left, self._schema)
        if part is not None:
            return str(part.where(lambda each: compare_values(each, sign, right)))
        if kinds[0] in LABEL_NODES:
            return self._compare_labels(left, sign, right)
        if kinds[0] == "Abs":
            return self._compare_size(left.this, sign, right)
        if kinds[0] in _BRANCHED_NODES:
            return self._decide_branches(self._list_branches(left), sign, right)
        if all(map(_is_plain_constant, (left, right))):
            return "" if compare_constants(left, sign, right) else None
        return f"{self._spell_operand(left)} {sign} {self._spell_operand(right)}"

    def _is_computed(self, node: Any) -> bool:
        """Whether an operand is more than a column, a constant or a sum of them."""
        kind = type(node).__name__
        return (
            kind in _BRANCHED_NODES
            or kind in LABEL_NODES
            or year_column(node) is not None
            or read_date_part(node, self._schema) is not None
        )

    def _compare_labels(self, left: Any, sign: str, right: Any) -> str:
        """A function of labels beside a text."""
        found = read_labels(left, self._schema)
        # As labels have no order, neither have their texts here.
        if found is None or sign not in ("=", "!=") or not is_text(right):
            raise refuse_node(left)
        return str(found.where(lambda text: compare_values(text, sign, right)))

    def _decide_branches(
        self, branches: Sequence[tuple[str, Any]], sign: str, other: Any
    ) -> str | None:
        (met, result), *later = branches
        own = self._decide(result, sign, other)
        parts = [] if own is None else [_join_texts(met, own)]
        if later:
            rest = self._decide_branches(later, sign, other)
            parts += [] if rest is None else [_join_texts(f"not ({met})", rest)]
        text = " or ".join(f"({part})" if part else "" for part in parts)
        # Conditions stand twice, so that branches inside one another could grow to any
        # length.
        if len(text) > MAX_CONDITION_CHARACTERS:
            raise Refused("SQL: CASE is nested too deeply. Nothing was spent")
        return text if parts else None

    def _list_branches(self, node: Any) -> list[tuple[str, Any]]:
        """The conditions of CASE, IF or COALESCE and their results, in their order; the
        last is for all other rows.
        """
        match type(node).__name__:
            case "If":
                pairs = [(self._spell(node.this, negated=False), node.args["true"])]
                return [*pairs, ("", node.args.get("false"))]
            case "Coalesce":
                parts: list[Any] = [node.this, *node.expressions]
                first = parts[:-1]
                known = [f"{self.column_text(each)} is not missing" for each in first]
                return [*zip(known, first, strict=True), ("", parts[-1])]
        pairs = []
        for branch in node.args.get("ifs") or []:
            if node.this is None:
                met = self._spell(branch.this, negated=False)
            else:
                met = self._compare(node.this, "=", branch.this)
            pairs.append((met, branch.args["true"]))
        return [*pairs, ("", node.args.get("default"))]

    def _compare_size(self, inner: Any, sign: str, right: Any) -> str:
        """ABS(x) beside a constant: x lies between two numbers, or outside of them."""
        number = number_of(right)
        if number < 0:
            raise refuse_node(right)
        above, below = spell_fraction(number), spell_fraction(-number)
        operand = self._spell_operand(inner)
        word = "or" if sign in ("=", ">", ">=") else "and"
        return (
            f"({operand} {sign} {above} {word} {operand} {_TURNED_SIGN[sign]} {below})"
        )

    def _spell_between(self, node: Any, *, negated: bool) -> str:
        if node.args.get("symmetric"):
            raise refuse_node(node)
        word, signs = ("or", ("<", ">")) if negated else ("and", (">=", "<="))
        ends = node.args["low"], node.args["high"]
        sides = [
            self._compare(node.this, sign, end)
            for sign, end in zip(signs, ends, strict=True)
        ]
        return f"(({sides[0]}) {word} ({sides[1]}))"

    def _spell_membership(self, node: Any, *, negated: bool) -> str:
        if node.args.get("query") or node.args.get("unnest") or not node.expressions:
            raise refuse_node(node)
        value = skip_brackets(node.this)
        part = read_date_part(value, self._schema)
        labels = None
        if type(value).__name__ in LABEL_NODES:
            labels = read_labels(value, self._schema)
        found = part or labels
        if found is not None:
            # Read once: there may be a thousand of them, and as many labels.
            listed = list_constants(node.expressions, is_text=found.is_text)
            return str(found.where(lambda label: (label in listed) != negated))
        if self._is_computed(value):
            sign, word = ("!=", " and ") if negated else ("=", " or ")
            sides = [self._compare(node.this, sign, each) for each in node.expressions]
            return f"({word.join(f'({side})' for side in sides)})"
        values = ", ".join(spell_literal(each) for each in node.expressions)
        word = "not in" if negated else "in"
        return f"{self.column_text(node.this)} {word} ({values})"

    def _spell_like(self, node: Any, *, negated: bool) -> str:
        """The labels of the schema that a pattern fits."""
        if type(node.this).__name__ == "Column":
            find_schema_column(column_name(node.this), self._schema)
        found, pattern = read_labels(node.this, self._schema), node.expression
        if found is None or not is_text(pattern) or "\\" in str(pattern.this):
            raise refuse_node(node)
        # NOT LIKE is a part of the node.
        negated = negated != bool(node.args.get("negate"))
        flags = re.DOTALL
        if type(node).__name__ == "ILike":
            flags |= re.IGNORECASE
        expression = re.compile(_like_expression(str(pattern.this)), flags)
        return str(
            found.where(lambda text: bool(expression.fullmatch(text)) != negated)
        )

    def _compare_year(self, left: Any, sign: str, right: Any) -> str:
        """A comparison of a date's year, as one of the date."""
        column = year_column(left)
        assert column is not None
        text = self.column_text(column)
        number = number_of(right)
        if number.denominator != 1 or not 1 <= number < MAX_CALENDAR_YEAR:
            raise refuse_node(right)
        first, after = f"'{int(number):04}-01-01'", f"'{int(number) + 1:04}-01-01'"
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
        if type(node).__name__ not in _LINEAR_NODES:
            return spell_literal(node)
        terms = []
        for factor, name in self._list_terms(node, Fraction(1)):
            if max(abs(factor.numerator), factor.denominator) > MAX_FACTOR_SIZE:
                raise Refused("SQL: a constant is too large. Nothing was spent")
            number = spell_fraction(factor)
            terms.append(name if name and factor == 1 else f"{number} * {name}")
            if not name:
                terms[-1] = number
        return " + ".join(terms)

    def _list_terms(self, node: Any, factor: Fraction) -> list[tuple[Fraction, str]]:
        """A linear expression as factors and columns, which constants have none of."""
        kind = type(node).__name__
        left, right = node.this, node.args.get("expression")
        match kind:
            case "Column":
                return [(factor, self.column_text(node))]
            case "Paren":
                return self._list_terms(left, factor)
            case "Neg":
                return self._list_terms(left, -factor)
            case "Add" | "Sub":
                turned = factor if kind == "Add" else -factor
                return [
                    *self._list_terms(left, factor),
                    *self._list_terms(right, turned),
                ]
            case "Mul" if is_constant(left):
                return self._list_terms(right, factor * number_of(left))
            case "Mul" if is_constant(right):
                return self._list_terms(left, factor * number_of(right))
            case "Div" if is_constant(right) and number_of(right):
                return self._list_terms(left, factor / number_of(right))
            case "Literal" if is_constant(node):
                return [(factor * number_of(node), "")]
        raise refuse_node(node)


def year_column(node: Any) -> Any | None:
    """The column in YEAR(column) or EXTRACT(YEAR FROM column); None for anything else."""
    kind = type(node).__name__
    if kind == "Year" and type(node.this).__name__ == "Column":
        return node.this
    if kind == "Extract" and str(node.this.this).upper() == "YEAR":
        return node.expression if type(node.expression).__name__ == "Column" else None
    return None


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


def _is_plain_constant(node: Any) -> bool:
    return is_constant(node) or type(node).__name__ in ("Literal", "Boolean")


def _join_texts(*parts: str) -> str:
    """Conditions that all hold; empty ones always do."""
    named = [part for part in parts if part]
    return " and ".join(f"({part})" for part in named)
