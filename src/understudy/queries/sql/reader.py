"""SQL text → query. The text goes no further than this: what is evaluated is the query.

    SELECT keys, aggregates FROM any_name
    [WHERE …] [GROUP BY …] [HAVING …] [ORDER BY …] [LIMIT n]

sqlglot parses; every node is then looked up by its exact class in what is answered, and
anything else is refused with the remedy. What is read is the dialect of DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from understudy.errors import Refused
from understudy.queries.conditions import join_conditions, shorten_refusal
from understudy.queries.features import plan_features
from understudy.queries.formulas import Formula, FormulaColumn
from understudy.queries.lookups import PublicTable, add_attributes
from understudy.queries.query import (
    Aggregate,
    DerivedColumn,
    GroupKey,
    Query,
    SortKey,
    UnitFeature,
)
from understudy.queries.sql.aggregates import AGGREGATE_NODES
from understudy.queries.sql.conditions import ConditionReader, find_schema_column
from understudy.queries.sql.expressions import ExpressionReader
from understudy.queries.sql.features import read_unit_columns
from understudy.queries.sql.having import read_having
from understudy.queries.sql.joins import read_join
from understudy.queries.sql.keys import read_key
from understudy.queries.sql.literals import column_name, number_of
from understudy.queries.sql.nodes import PARTS_BY_NODE, parse_select
from understudy.queries.sql.refusals import refuse_node
from understudy.queries.sql.subqueries import (
    choose_columns,
    find_subquery,
    is_choice,
    name_subqueries,
)
from understudy.schema import Boolean, Schema
from understudy.schema.predicates.ast import Predicate

MAX_SQL_CHARACTERS = 10_000
"""Characters of one question: a parser takes long over more."""

MAX_TITLE_CHARACTERS = 60
"""Characters of the title of a computed column without a name."""

_TOP_WORDS = re.compile(
    r"\s*SELECT\s+TOP\s*(?:\(\s*)?(?P<rows>[0-9]{1,9})\b(?:\s*\))?\s+", re.IGNORECASE
)
_SELECT_PARTS = PARTS_BY_NODE["Select"]


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
        plain, top = _split_top(text)
        query = _SqlReader(wide, tuple(public)).read(
            parse_select(plain), " ".join(text.split())
        )
        if top is not None and query.most_rows is not None:
            raise Refused("SQL: TOP and LIMIT say the same. Nothing was spent")
        return query if top is None else query.limit(top)
    except RecursionError:
        raise Refused("SQL: nested too deeply. Nothing was spent") from None
    except Refused as refused:
        raise shorten_refusal(refused) from None


def _split_top(text: str) -> tuple[str, int | None]:
    """SELECT TOP 5 …, as some databases write LIMIT 5: the rest, and the number."""
    found = _TOP_WORDS.match(text)
    if found is None:
        return text, None
    return f"SELECT {text[found.end() :]}", int(found["rows"])


@dataclass
class _SqlReader:
    """Walks one SELECT; aggregates are added as they are found."""

    schema: Schema
    public: tuple[PublicTable, ...] = ()
    aggregates: dict[str, Aggregate] = field(default_factory=dict)
    keys: dict[str, GroupKey] = field(default_factory=dict)
    key_nodes: list[tuple[Any, str]] = field(default_factory=list)
    features: tuple[UnitFeature, ...] = ()
    derived: list[DerivedColumn] = field(default_factory=list)
    limits: list[Predicate] = field(default_factory=list)
    """Conditions of subqueries that choose rows and columns."""

    def read(self, select: Any, text: str) -> Query:
        _refuse_other_parts(select, _SELECT_PARTS)
        self._read_source(select.args.get("from_"), name_subqueries(select))
        items = [_split_alias(item) for item in select.expressions]
        self._read_keys(select.args.get("group"), items)
        shown = [self._read_item(node, alias) for node, alias in items]
        having = select.args.get("having")
        limited = select.args.get("limit")
        condition = self._read_where(select.args.get("where"))
        for limit in self.limits:
            condition = join_conditions(limit, condition)
        kept = None
        if having is not None:
            kept = read_having(having.this, self._title_of, self._list_flags())
        order = self._read_order(select.args.get("order"), shown)
        if not self.aggregates:
            raise Refused(
                "SQL: rows are never released, and which groups there are is in the"
                " schema. Ask for aggregates such as COUNT(*). Nothing was spent"
            )
        return Query(
            aggregates=tuple(self.aggregates.values()),
            keys=tuple(self.keys.values()),
            condition=condition,
            kept=kept,
            order=order,
            most_rows=None if limited is None else _read_limit(limited),
            shown=tuple(shown),
            text=text,
            features=self.features,
            derived=tuple(self.derived),
            joined=tuple(
                read_join(join, self.public) for join in select.args.get("joins") or ()
            ),
        )

    def _read_source(self, source: Any, named: Mapping[str, Any]) -> None:
        """What a SELECT is from: the table, rows and columns of it that a subquery
        chooses, or columns per unit.
        """
        inner = find_subquery(source, named)
        if inner is None:
            self._check_table(source)
            return
        if not is_choice(inner):
            self._read_features(inner, named)
            return
        # What is inside another one is chosen first.
        self._read_source(inner.args.get("from_"), named)
        condition = self._read_where(inner.args.get("where"))
        if condition is not None:
            self.limits.append(condition)
        attributes = [name for table in self.public for name in table.attributes]
        self.schema = choose_columns(inner, self.schema, attributes)

    def _read_features(self, select: Any, named: Mapping[str, Any]) -> None:
        """Columns per unit; what is around the subquery is about them."""
        source = select.args.get("from_")
        if find_subquery(source, named) is not None:
            raise Refused(
                "SQL: columns per id are of all rows of the table; their conditions are"
                " FILTER (WHERE …). Nothing was spent"
            )
        self._check_table(source)
        self.features = read_unit_columns(select, self.schema, self._read_aggregate)
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
        nodes = group.expressions
        if group.args.get("all"):
            # All that is selected but aggregates and constants.
            nodes = [item for item, _ in items if _is_key(item)]
        for node in nodes:
            meant, alias = self._resolve_item(node, items)
            key = read_key(meant, alias, self.schema)
            self.keys[key.title] = key
            self.key_nodes.append((meant, key.title))

    def _resolve_item(self, node: Any, items: list[tuple[Any, str]]) -> tuple[Any, str]:
        """What GROUP BY means by a number, or by the name of a selected column; a column
        of the table goes before one of the answer.
        """
        if type(node).__name__ == "Literal":
            place = int(number_of(node))
            if not 1 <= place <= len(items):
                raise refuse_node(node)
            return items[place - 1]
        for item, alias in items:
            if item == node:
                return item, alias
        if type(node).__name__ != "Column":
            return node, ""
        name = column_name(node).casefold()
        if name in {known.casefold() for known in self.schema.by_name}:
            named = [alias for item, alias in items if _names_column(item, name)]
            return node, named[0] if named else ""
        for item, alias in items:
            if alias.casefold() == name:
                return item, alias
        return node, ""

    def _read_item(self, node: Any, alias: str) -> str:
        """The title of a selected column, which is a key or an aggregate."""
        for known, title in self.key_nodes:
            if known == node:
                return title
        if type(node).__name__ == "Column":
            return self._key_title(node)
        return self._add_expression(node, alias)

    def _key_title(self, node: Any, *, prefers_titles: bool = False) -> str:
        """The key that a name means: by its column or by its title, whichever goes
        before.
        """
        name = column_name(node)
        columns = {title: key.column for title, key in self.keys.items()}
        titles = {title: title for title in self.keys}
        names = [titles, columns] if prefers_titles else [columns, titles]
        for each in names:
            for title, known in each.items():
                if known.casefold() == name.casefold():
                    return title
        find_schema_column(name, self.schema)
        raise Refused(
            f'SQL: column "{name}" is selected and not in GROUP BY. Rows are never'
            " released. Nothing was spent"
        )

    def _add_expression(self, node: Any, alias: str = "") -> str:
        """The title of an aggregate, or of what is computed of some."""
        found = self._expressions.read(node)
        if isinstance(found, Aggregate):
            return self._put_aggregate(found, alias)
        for column in self.derived:
            if not alias and column.formula == found:
                return column.title
        title = self._find_title(alias or str(found)[:MAX_TITLE_CHARACTERS])
        self.derived.append(DerivedColumn(title, found))
        return title

    def _put_aggregate(self, aggregate: Aggregate, alias: str = "") -> str:
        for title, known in self.aggregates.items():
            if not alias and replace(known, name="") == aggregate:
                return title
        title = self._find_title(alias or aggregate.title)
        self.aggregates[title] = replace(aggregate, name=title)
        return title

    def _find_title(self, wanted: str) -> str:
        """A title that no other column of the answer has."""
        taken = {*self.aggregates, *self.keys, *(each.title for each in self.derived)}
        title, number = wanted, 2
        while title in taken:
            title = f"{wanted}_{number}"
            number += 1
        return title

    def _list_flags(self) -> set[str]:
        """The groups that are yes or no."""
        return {
            key.title
            for key in self.keys.values()
            if isinstance(self.schema.by_name.get(key.column), Boolean)
            and not key.mapping
        }

    def _title_of(self, node: Any, *, prefers_titles: bool = False) -> str:
        """The column of the answer that HAVING or ORDER BY means. Names of the answer go
        first in ORDER BY, and columns of the table in HAVING.
        """
        for known, title in self.key_nodes:
            if known == node and type(node).__name__ != "Column":
                return title
        if type(node).__name__ != "Column":
            return self._add_expression(node)
        name = column_name(node).casefold()
        is_key = name in {key.column.casefold() for key in self.keys.values()}
        for title in (*self.aggregates, *(each.title for each in self.derived)):
            if title.casefold() == name and (prefers_titles or not is_key):
                return title
        return self._key_title(node, prefers_titles=prefers_titles)

    def _read_aggregate(self, node: Any) -> Aggregate:
        """An aggregate that is computed of nothing else."""
        return self._expressions.read_plain(node)

    @property
    def _expressions(self) -> ExpressionReader:
        return ExpressionReader(self.schema, self._put_aggregate, self._find_named)

    def _find_named(self, name: str) -> Formula | None:
        """The aggregate, or what is computed of some, that a name of the answer means."""
        for title in self.aggregates:
            if title.casefold() == name.casefold():
                return FormulaColumn(title)
        for column in self.derived:
            if column.title.casefold() == name.casefold():
                return column.formula
        return None

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
                title = self._title_of(node, prefers_titles=True)
            keys.append(
                SortKey(
                    title,
                    bool(ordered.args.get("desc")),
                    bool(ordered.args.get("nulls_first")),
                )
            )
        return tuple(keys)


def _refuse_other_parts(node: Any, known: Container[str]) -> None:
    """Refuse a node with a part that is not read: it would change what is meant."""
    for part, value in node.args.items():
        if value and part not in known:
            raise refuse_node(value[0] if isinstance(value, list) else value)


def _is_key(item: Any) -> bool:
    kinds = {type(node).__name__ for node in item.walk()}
    return "Column" in kinds and kinds.isdisjoint(AGGREGATE_NODES)


def _names_column(item: Any, name: str) -> bool:
    return type(item).__name__ == "Column" and column_name(item).casefold() == name


def _split_alias(node: Any) -> tuple[Any, str]:
    if type(node).__name__ != "Alias":
        return node, ""
    return node.this, str(node.alias)


def _read_limit(limit: Any) -> int:
    rows = number_of(limit.expression)
    if rows.denominator != 1 or rows < 0:
        raise refuse_node(limit)
    return int(rows)
