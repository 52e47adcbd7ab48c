"""A conformance suite for tables: the same rows, wherever they come from, give the same
integers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from understudy.queries.statistics import ColumnFactor, Statistic
from understudy.schema import Categorical, Lattice
from understudy.tables.clique_cover import Clique
from understudy.tables.table import Table

CLIP_LOW = -50
CLIP_HIGH = 500
"""Lattice indices that sums are clipped to: some values of most columns lie outside."""

BIN_EDGES = (CLIP_LOW, 0, 18, CLIP_HIGH)
"""Lattice indices at which bins begin and the last one ends."""


def check_table(table: Table, expected: Table) -> int:
    """Compare everything that two tables answer, cell by cell; the number of answers.

    An AssertionError names the question, never a value. Both tables have one schema, and
    all units have at most `max_rows` rows: which rows of a larger unit are kept is random.

    >>> import duckdb
    >>> from understudy.schema import Boolean, Schema
    >>> from understudy.tables import open_table
    >>> schema = Schema(columns=(Boolean(name="smoker"),))
    >>> rows = duckdb.sql("SELECT unnest(['yes', 'no', 'yes']) AS smoker")
    >>> check_table(Table(open_table(rows), schema), Table(open_table(rows.df()), schema))
    8
    """
    if table.schema != expected.schema:
        raise AssertionError("the tables have different schemas")
    questions = _list_questions(table)
    for name, ask in questions:
        if not _are_equal(ask(table), ask(expected)):
            raise AssertionError(f"the tables differ in their {name}")
    return len(questions)


Question = tuple[str, Callable[[Table], Any]]


def _list_questions(table: Table) -> list[Question]:
    names = list(table.schema)
    pairs = list(combinations(names, 2))
    questions: list[Question] = [
        # Not `Table.rows`: a table of partitions has a method of its own.
        ("number of rows", lambda each: each.rows()),
        ("sizes of units", lambda each: each.sizes()),
        ("number of units", lambda each: each.count_units()),
        ("number of broken rows", lambda each: each.broken()),
        ("votes for types", lambda each: each.votes(names)),
        ("columns that are there", lambda each: [each.holds(name) for name in names]),
    ]
    if table.schema.is_closed:
        cliques: list[tuple[str, ...]] = [(), *((name,) for name in names), *pairs]
        questions.append(("dense counts", lambda each: each.counts(cliques)))
        questions += [_sparse_question(pair) for pair in pairs]
        questions.append(
            (
                "sparse counts of all columns",
                lambda each: each.sparse_counts(tuple(names)),
            )
        )
        questions += _cell_questions(table)
    for name in names:
        questions += _column_questions(table, name)
    return questions


def _sparse_question(pair: tuple[str, str]) -> Question:
    name = f"sparse counts of {pair[0]} × {pair[1]}"
    return name, lambda each: each.sparse_counts(pair)


def _cell_questions(table: Table) -> list[Question]:
    """Questions about the cells of one column and the values of another."""
    columns = table.schema.columns
    cells = [each.name for each in columns if isinstance(each, Categorical)][:1]
    values = [each.name for each in columns if isinstance(each, Lattice)][:1]
    questions: list[Question] = []
    for cell, value in zip(cells, values, strict=False):
        # Squares of more than 2^40: their sum is beyond any integer of the processor.
        square = ColumnFactor(value, CLIP_LOW, CLIP_HIGH, -(2**40), 2)
        statistics = (Statistic(), Statistic((value,), (square,)))
        questions += [
            (f"sums of {value} by {cell}", _sum_question((cell,), statistics)),
            (f"values of {value} by {cell}", _value_question((cell,), value)),
        ]
    if table.schema.unit.id is not None:
        questions += [(f"units by {cell}", _unit_question((cell,))) for cell in cells]
    return questions


def _sum_question(
    clique: Clique, statistics: tuple[Statistic, ...]
) -> Callable[[Table], Any]:
    def add_up(each: Table) -> Any:
        places, sums = each.cell_sums(clique, statistics)
        return sorted(zip(places.tolist(), *sums, strict=True))

    return add_up


def _value_question(clique: Clique, value: str) -> Callable[[Table], Any]:
    def list_values(each: Table) -> Any:
        columns = each.cell_values(clique, value)
        return sorted(zip(*(column.tolist() for column in columns), strict=True))

    return list_values


def _unit_question(clique: Clique) -> Callable[[Table], Any]:
    """How many units have each set of cells: their numbers mean nothing."""

    def count_sets(each: Table) -> Any:
        sets: defaultdict[int, set[int]] = defaultdict(set)
        for unit, place in zip(*each.unit_cells(clique), strict=True):
            sets[int(unit)].add(int(place))
        return sorted(Counter(tuple(sorted(each)) for each in sets.values()).items())

    return count_sets


def _column_questions(table: Table, name: str) -> list[Question]:
    column = table.schema[name]
    if isinstance(column, Categorical):
        return [
            (f"labels of {name}", lambda each: each.labels(name)),
            (f"units by label of {name}", lambda each: each.labels(name, by_unit=True)),
        ]
    if not isinstance(column, Lattice):
        return []
    return [
        (f"values of {name}", lambda each: each.lattice(name)),
        (f"clipped sum of {name}", lambda each: each.sum(name, CLIP_LOW, CLIP_HIGH)),
        (f"cells of {name}", lambda each: each.count_valid(name)),
        (f"bins of {name}", lambda each: each.lattice_counts(name, BIN_EDGES)),
    ]


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple):
        same_length = len(one) == len(other)
        return same_length and all(map(_are_equal, one, other))
    # Exact: both read the same cells, so that no tolerance is due.
    return bool(np.array_equal(one, other))
