"""A conformance suite for tables: the same rows, wherever they come from, give the same
integers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from understudy.schema import Categorical, Lattice
from understudy.tables.table import Table

CLIP_LOW = -50
CLIP_HIGH = 500
"""Lattice indices that sums are clipped to: some values of most columns lie outside."""


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
        ("number of rows", Table.rows),
        ("sizes of units", Table.sizes),
        ("number of units", Table.count_units),
        ("number of broken rows", Table.broken),
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
    for name in names:
        questions += _column_questions(table, name)
    return questions


def _sparse_question(pair: tuple[str, str]) -> Question:
    name = f"sparse counts of {pair[0]} × {pair[1]}"
    return name, lambda each: each.sparse_counts(pair)


def _column_questions(table: Table, name: str) -> list[Question]:
    column = table.schema[name]
    if isinstance(column, Categorical):
        return [(f"labels of {name}", lambda each: each.labels(name))]
    if not isinstance(column, Lattice):
        return []
    return [
        (f"values of {name}", lambda each: each.lattice(name)),
        (f"clipped sum of {name}", lambda each: each.sum(name, CLIP_LOW, CLIP_HIGH)),
        (f"cells of {name}", lambda each: each.count_valid(name)),
    ]


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple):
        same_length = len(one) == len(other)
        return same_length and all(map(_are_equal, one, other))
    # Exact: both read the same cells, so that no tolerance is due.
    return bool(np.array_equal(one, other))
