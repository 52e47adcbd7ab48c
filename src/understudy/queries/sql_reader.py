"""SQL text → query. The text goes no further than this: what is evaluated is the query.

    SELECT keys, aggregates FROM any_name
    [WHERE …] [GROUP BY …] [HAVING …] [ORDER BY …] [LIMIT n]

sqlglot parses; every node is then looked up by its exact class in what is answered, and
anything else is refused with the remedy. What is read is the dialect of DuckDB.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from understudy.errors import Refused
from understudy.queries.builders import quantile
from understudy.queries.features import plan_features
from understudy.queries.lookups import PublicTable, add_attributes
from understudy.queries.query import (
    Aggregate,
    AggregateKind,
    GroupKey,
    Query,
    SortKey,
    UnitFeature,
)
from understudy.queries.sql_conditions import (
    ConditionReader,
    column_name,
    find_schema_column,
    number_of,
    refuse_node,
    shorten_refusal,
)
from understudy.queries.sql_features import read_unit_columns
from understudy.queries.sql_having import read_having
from understudy.queries.sql_joins import read_join
from understudy.queries.sql_keys import read_key
from understudy.queries.sql_nodes import check_nodes
from understudy.schema import Schema
from understudy.schema.predicates.ast import Predicate

MAX_SQL_CHARACTERS = 10_000
"""Characters of one question: a parser takes long over more."""

_KIND_BY_NODE = {
    "Sum": AggregateKind.SUM,
    "Avg": AggregateKind.MEAN,
    "Variance": AggregateKind.VARIANCE,
    "Stddev": AggregateKind.DEVIATION,
    "StddevSamp": AggregateKind.DEVIATION,
    "Corr": AggregateKind.CORRELATION,
    "CovarSamp": AggregateKind.COVARIANCE,
}
_SELECT_PARTS = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "order", "limit"}
)


def read_sql(text: str, schema: Schema, public: Sequence[PublicTable] = ()) -> Query:
    """The query in a text of SQL, which may join public tables.

    >>> from understudy.schema import Integer
    >>> schema = Schema(columns=(Integer(name="age", min=0, max=99),))
    >>> read_sql("SELECT COUNT(*) AS n FROM people WHERE age > 60", schema).condition.columns
    frozenset({'age'})
    """
    if not isinstance(text, str):
        raise Refused("A question is SQL text or a query. Nothing was spent")
    if len(text) > MAX_SQL_CHARACTERS:
        raise Refused(
            f"SQL: longer than {MAX_SQL_CHARACTERS:,} characters. Nothing was spent"
        )
    try:
        wide = add_attributes(schema, public) if public else schema
        return _SqlReader(wide, tuple(public)).read(
            _parse_text(text), " ".join(text.split())
        )
    except RecursionError:
        raise Refused("SQL: nested too deeply. Nothing was spent") from None
    except Refused as refused:
        raise shorten_refusal(refused) from None


def _parse_text(text: str) -> Any:
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


@dataclass
class _SqlReader:
    """Walks one SELECT; aggregates are added as they are found."""

    schema: Schema
    public: tuple[PublicTable, ...] = ()
    aggregates: dict[str, Aggregate] = field(default_factory=dict)
    keys: dict[str, GroupKey] = field(default_factory=dict)
    key_nodes: list[tuple[Any, str]] = field(default_factory=list)
    features: tuple[UnitFeature, ...] = ()

    def read(self, select: Any, text: str) -> Query:
        _refuse_other_parts(select, _SELECT_PARTS)
        source = select.args.get("from_")
        if source is not None and type(source.this).__name__ == "Subquery":
            self._read_features(source.this)
        else:
            self._check_table(source)
        items = [_split_alias(item) for item in select.expressions]
        self._read_keys(select.args.get("group"), items)
        shown = [self._read_item(node, alias) for node, alias in items]
        having = select.args.get("having")
        limited = select.args.get("limit")
        condition = self._read_where(select.args.get("where"))
        kept = None
        if having is not None:
            kept = read_having(having.this, self._title_of)
        order = self._read_order(select.args.get("order"), shown)
        if not self.aggregates:
            raise Refused(
                "SQL: rows are never released. Ask for aggregates such as COUNT(*)."
                " Nothing was spent"
            )
        return Query(
            aggregates=tuple(self.aggregates.values()),
            keys=tuple(self.keys.values()),
            condition=condition,
            having=kept,
            order=order,
            most_rows=None if limited is None else _read_limit(limited),
            shown=tuple(shown),
            text=text,
            features=self.features,
            joined=tuple(
                read_join(join, self.public) for join in select.args.get("joins") or ()
            ),
        )

    def _read_features(self, subquery: Any) -> None:
        """Columns per unit; what is around the subquery is about them."""
        self._check_table(subquery.this.args.get("from_"))
        self.features = read_unit_columns(
            subquery.this, self.schema, self._read_aggregate
        )
        self.schema = plan_features(self.features, self.schema).schema

    def _check_table(self, source: Any) -> None:
        """One table, under any name: the one that is asked."""
        if source is None:
            raise Refused("SQL: a question has FROM and a table. Nothing was spent")
        table = source.this
        if type(table).__name__ != "Table" or type(table.this).__name__ != "Identifier":
            raise refuse_node(table)
        _refuse_other_parts(table, {"this", "alias", "db", "catalog"})

    def _read_where(self, where: Any) -> Predicate | None:
        return None if where is None else ConditionReader(self.schema).read(where.this)

    def _read_keys(self, group: Any, items: list[tuple[Any, str]]) -> None:
        if group is None:
            return
        for part, value in group.args.items():
            if value and part != "expressions":
                raise refuse_node(group)
        for node in group.expressions:
            meant, alias = _resolve_item(node, items)
            key = read_key(meant, alias, self.schema)
            self.keys[key.title] = key
            self.key_nodes.append((meant, key.title))

    def _read_item(self, node: Any, alias: str) -> str:
        """The title of a selected column, which is a key or an aggregate."""
        for known, title in self.key_nodes:
            if known == node:
                return title
        if type(node).__name__ == "Column":
            return self._key_title(node)
        return self._add_aggregate(node, alias)

    def _key_title(self, node: Any) -> str:
        name = column_name(node)
        for title, key in self.keys.items():
            if name.casefold() in (title.casefold(), key.column.casefold()):
                return title
        find_schema_column(name, self.schema)
        raise Refused(
            f'SQL: column "{name}" is selected and not in GROUP BY. Rows are never'
            " released. Nothing was spent"
        )

    def _add_aggregate(self, node: Any, alias: str = "") -> str:
        aggregate = self._read_aggregate(node)
        for title, known in self.aggregates.items():
            if not alias and replace(known, name="") == aggregate:
                return title
        title = alias or aggregate.title
        number = 2
        while title in self.aggregates or title in self.keys:
            title = f"{alias or aggregate.title}_{number}"
            number += 1
        self.aggregates[title] = replace(aggregate, name=title)
        return title

    def _title_of(self, node: Any) -> str:
        """The column of the answer that HAVING or ORDER BY means."""
        for known, title in self.key_nodes:
            if known == node:
                return title
        if type(node).__name__ == "Column":
            name = column_name(node)
            for title in self.aggregates:
                if title.casefold() == name.casefold():
                    return title
            return self._key_title(node)
        return self._add_aggregate(node)

    def _read_aggregate(self, node: Any) -> Aggregate:
        name = type(node).__name__
        if name == "Paren":
            return self._read_aggregate(node.this)
        if name == "Filter":
            inner = self._read_aggregate(node.this)
            if inner.condition is not None:
                raise refuse_node(node)
            return replace(inner, condition=self._read_where(node.expression))
        if name == "Count":
            return self._read_count(node)
        if name == "CountIf":
            condition = ConditionReader(self.schema).read(node.this)
            return Aggregate(AggregateKind.COUNT, condition=condition)
        if name in ("Median", "PercentileDisc", "PercentileCont", "WithinGroup"):
            return self._read_quantile(node)
        if name not in _KIND_BY_NODE:
            raise refuse_node(node)
        kind = _KIND_BY_NODE[name]
        if type(node.this).__name__ == "Case":
            return self._read_case(kind, node.this)
        columns = [node.this]
        if kind in (AggregateKind.CORRELATION, AggregateKind.COVARIANCE):
            columns.append(node.expression)
        return Aggregate(kind, tuple(self._column(each) for each in columns))

    def _read_count(self, node: Any) -> Aggregate:
        inner = node.this
        match type(inner).__name__:
            case "Star" | "Literal":
                return Aggregate(AggregateKind.COUNT)
            case "Distinct" if len(inner.expressions) == 1:
                column = self._column(inner.expressions[0])
                return Aggregate(AggregateKind.DISTINCT, (column,))
            case "Case":
                return self._read_case(AggregateKind.COUNT, inner)
        if node.args.get("expressions"):
            raise refuse_node(node)
        return Aggregate(AggregateKind.COUNT, (self._column(inner),))

    def _read_case(self, kind: AggregateKind, case: Any) -> Aggregate:
        """CASE WHEN condition THEN 1 ELSE 0 END: a count, or a share, of a condition;
        CASE WHEN condition THEN x END: an aggregate of the rows that meet it.
        """
        branches = case.args.get("ifs") or []
        if case.this is not None or len(branches) != 1:
            raise refuse_node(case)
        condition = ConditionReader(self.schema).read(branches[0].this)
        value, default = branches[0].args["true"], case.args.get("default")
        is_else_null = _is_null(default)
        is_else_zero = _is_number(default, 0)
        if kind is AggregateKind.COUNT and is_else_null and not _is_column(value):
            return Aggregate(AggregateKind.COUNT, condition=condition)
        is_one_or_none = _is_number(value, 1) and (is_else_null or is_else_zero)
        if kind is AggregateKind.SUM and is_one_or_none:
            return Aggregate(AggregateKind.COUNT, condition=condition)
        if kind is AggregateKind.MEAN and _is_number(value, 1) and is_else_zero:
            return Aggregate(AggregateKind.SHARE, condition=condition)
        is_sum_else_zero = kind is AggregateKind.SUM and is_else_zero
        if _is_column(value) and (is_else_null or is_sum_else_zero):
            return Aggregate(kind, (self._column(value),), condition)
        raise refuse_node(case)

    def _read_quantile(self, node: Any) -> Aggregate:
        name = type(node).__name__
        level = Fraction(1, 2)
        if name == "WithinGroup":
            inner, ordered = node.this, node.expression.expressions
            is_known = type(inner).__name__ in ("PercentileDisc", "PercentileCont")
            if not is_known or len(ordered) != 1 or ordered[0].args.get("desc"):
                raise refuse_node(node)
            level, column = number_of(inner.this), ordered[0].this
        elif name == "Median":
            column = node.this
        else:
            level, column = number_of(node.expression), node.this
        (aggregate,) = quantile(self._column(column), level).aggregates
        return aggregate

    def _column(self, node: Any) -> str:
        return find_schema_column(column_name(node), self.schema)

    def _read_order(self, order: Any, shown: list[str]) -> tuple[SortKey, ...]:
        keys = []
        for ordered in [] if order is None else order.expressions:
            node = ordered.this
            if type(node).__name__ == "Literal":
                place = int(number_of(node))
                if not 1 <= place <= len(shown):
                    raise refuse_node(node)
                title = shown[place - 1]
            else:
                title = self._title_of(node)
            keys.append(SortKey(title, bool(ordered.args.get("desc"))))
        return tuple(keys)


def _refuse_other_parts(node: Any, known: Container[str]) -> None:
    """Refuse a node with a part that is not read: it would change what is meant."""
    for part, value in node.args.items():
        if value and part not in known:
            raise refuse_node(value[0] if isinstance(value, list) else value)


def _split_alias(node: Any) -> tuple[Any, str]:
    if type(node).__name__ != "Alias":
        return node, ""
    return node.this, str(node.alias)


def _resolve_item(node: Any, items: list[tuple[Any, str]]) -> tuple[Any, str]:
    """What GROUP BY means by a number, or by the name of a selected column."""
    name = type(node).__name__
    if name == "Literal":
        place = int(number_of(node))
        if not 1 <= place <= len(items):
            raise refuse_node(node)
        return items[place - 1]
    for item, alias in items:
        is_alias = name == "Column" and alias.casefold() == column_name(node).casefold()
        if item == node or (alias and is_alias):
            return item, alias
    return node, ""


def _is_column(node: Any) -> bool:
    return type(node).__name__ == "Column"


def _is_null(node: Any) -> bool:
    return node is None or type(node).__name__ == "Null"


def _is_number(node: Any, number: int) -> bool:
    if node is None or type(node).__name__ != "Literal" or node.args.get("is_string"):
        return False
    return number_of(node) == number


def _read_limit(limit: Any) -> int:
    rows = number_of(limit.expression)
    if rows.denominator != 1 or rows < 0:
        raise refuse_node(limit)
    return int(rows)
