"""Rules that the rows suggest, for their owner to accept: orders, equal columns, sums,
labels that determine other labels, and columns that never change within a person.
PRIVATE: exact counts, for the owner's draft alone.

A suggestion is a fact about all rows. It becomes public by being accepted, and is used
for nothing before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Identifier,
    Integer,
    Real,
    Schema,
)
from understudy.schema.predicates.rules import FunctionalDependency, Rule
from understudy.tables.drafting.repeating_ids import repeats_often
from understudy.tables.drafting.suggested_orders import (
    MIN_EXPECTED_BREAKS,
    suggest_orders,
)
from understudy.tables.reading.parse import texts_sql
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers

MAX_LABEL_COLUMNS = 15
"""Columns of labels that are compared with each other, the first ones: 210 pairs."""

MAX_DETERMINING_LABELS = 1000
"""Labels of a column that may determine another: a map of more is no list to read."""

MAX_SKETCH_RATIO = 1.3
"""How many combinations a sketch may count for each label of a column that determines
another: sketches are off by a few percent.
"""

MAX_CHECKED_MAPS = 30
"""Pairs of columns that are checked exactly, each in a scan of its own."""

MAX_CONSTANT_COLUMNS = 200
"""Columns that are looked at for being the same in all rows of a person."""


@dataclass(frozen=True)
class RuleSuggestions:
    """What all rows keep: rules, and columns that are constant within the persons whom
    an identifier names.
    """

    rules: tuple[Rule, ...] = ()
    person_id: str | None = None
    constant: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rules or self.constant)


@dataclass(frozen=True)
class LabelCounts:
    """How many cells a column fills, how many labels it has, and how many cells have
    another label than the most frequent one.
    """

    filled: int
    labels: int
    others: int


def suggest_rules(source: TableSource, schema: Schema) -> RuleSuggestions:
    """The rules that all rows of a table keep and that are hardly accidents."""
    person = _find_person(source, schema)
    constant = () if person is None else _find_constant(source, schema, person)
    rules = (*suggest_orders(source, schema), *_suggest_maps(source, schema))
    return RuleSuggestions(rules, person if constant else None, constant)


def _text_of(source: TableSource, layers: QueryLayers, column: Column) -> str:
    texts = texts_sql(layers, source.stored_column(column.name))
    return f"nullif({texts[0]}, '')" if texts else "CAST(NULL AS VARCHAR)"


def _query_texts(source: TableSource, columns: Sequence[Column]) -> str:
    layers = QueryLayers()
    texts = [
        f"{_text_of(source, layers, column)} AS t{place}"
        for place, column in enumerate(columns)
    ]
    return f"({layers.query(source.relation, texts)})"


def _suggest_maps(source: TableSource, schema: Schema) -> list[FunctionalDependency]:
    """Labels that determine other labels: a code and its name."""
    labelled = [
        column
        for column in schema.columns
        if column.is_modelled and isinstance(column, Categorical | Boolean)
    ][:MAX_LABEL_COLUMNS]
    if len(labelled) < 2:
        return []
    cells = _query_texts(source, labelled)
    counts = [_count_labels(source, cells, place) for place in range(len(labelled))]
    pairs = [
        (one, two)
        for one, two in permutations(range(len(labelled)), 2)
        if _may_determine(counts[one], counts[two])
    ]
    determined = _check_maps(source, cells, pairs, counts)
    return [
        FunctionalDependency(source=labelled[one].name, target=labelled[two].name)
        for one, two in determined
        # Where each determines the other, the first column speaks.
        if one < two or (two, one) not in determined
    ]


def _check_maps(
    source: TableSource,
    cells: str,
    pairs: list[tuple[int, int]],
    counts: list[LabelCounts],
) -> list[tuple[int, int]]:
    """The pairs of columns of which the first determines the second in every row."""
    if not pairs:
        return []
    # Exact numbers of all combinations would not fit into memory: sketches come first.
    asked = ", ".join(
        f"approx_count_distinct(t{one} || chr(31) || t{two})" for one, two in pairs
    )
    ((*sketched,),) = source.engine.run(
        f"SELECT {asked} FROM {cells}", doing="comparing columns"
    )
    likely = [
        pair
        for pair, combinations in zip(pairs, sketched, strict=True)
        if combinations <= MAX_SKETCH_RATIO * counts[pair[0]].labels
    ]
    return [
        pair for pair in likely[:MAX_CHECKED_MAPS] if _determines(source, cells, *pair)
    ]


def _determines(source: TableSource, cells: str, one: int, two: int) -> bool:
    ((several,),) = source.engine.run(
        f"SELECT count(*) FROM (SELECT t{one} FROM {cells} WHERE t{one} IS NOT NULL AND"
        f" t{two} IS NOT NULL GROUP BY t{one} HAVING min(t{two}) <> max(t{two}))",
        doing="comparing columns",
    )
    return bool(several == 0)


def _count_labels(source: TableSource, cells: str, place: int) -> LabelCounts:
    ((filled, labels, most),) = source.engine.run(
        f"SELECT sum(n), count(*), max(n) FROM (SELECT count(*) AS n FROM {cells} WHERE"
        f" t{place} IS NOT NULL GROUP BY t{place})",
        doing="comparing columns",
    )
    filled, most = int(filled or 0), int(most or 0)
    return LabelCounts(filled, int(labels), filled - most)


def _may_determine(one: LabelCounts, two: LabelCounts) -> bool:
    """Whether labels that had nothing to do with each other would hardly agree so."""
    if one.labels > MAX_DETERMINING_LABELS or not two.labels > 1 or not one.filled:
        return False
    # Each row beyond the first of a label would differ with this chance.
    chance = two.others / max(two.filled, 1)
    return (one.filled - one.labels) * chance >= MIN_EXPECTED_BREAKS


def _find_person(source: TableSource, schema: Schema) -> str | None:
    """The first identifier that comes again."""
    for column in schema.columns:
        if isinstance(column, Identifier) and repeats_often(source, column.name):
            return column.name
    return None


def _find_constant(source: TableSource, schema: Schema, person: str) -> tuple[str, ...]:
    """The columns with one value in all rows of each person, and not of all persons."""
    kinds = Categorical | Boolean | Integer | Real
    columns = [
        column
        for column in schema.columns
        if column.is_modelled and (isinstance(column, kinds) or column.type == "date")
    ][:MAX_CONSTANT_COLUMNS]
    if not columns:
        return ()
    cells = _query_texts(source, [schema[person], *columns])
    places = range(1, len(columns) + 1)
    each = ", ".join(f"min(t{i}) AS l{i}, max(t{i}) AS h{i}" for i in places)
    asked = ", ".join(
        f"count_if(l{i} <> h{i}), min(l{i}) < max(h{i}), count_if(n > 1 AND l{i} IS NOT"
        " NULL)"
        for i in places
    )
    ((*found,),) = source.engine.run(
        f"SELECT {asked} FROM (SELECT count(*) AS n, {each} FROM {cells} WHERE t0 IS NOT"
        " NULL GROUP BY t0)",
        doing="comparing rows of persons",
    )
    return tuple(
        column.name
        for place, column in enumerate(columns)
        if _is_constant(*found[3 * place : 3 * place + 3])
    )


def _is_constant(changing: int, varies: bool, several: int) -> bool:
    """Whether no person changes, persons differ, and enough of them have several rows."""
    return changing == 0 and bool(varies) and several >= MIN_EXPECTED_BREAKS
