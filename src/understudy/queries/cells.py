"""The public cells on which a query is evaluated: for each column the coarsest codec
that decides the query's constants, and the group of every cell.

`income < 20000` needs two bins of income, not one for each amount. Where two columns
are compared with one another, both have a bin for every value. On such cells a
condition is true or false, so that nothing has to be evaluated on rows. Domains, and so
cells and errors, are the same for every table with this schema.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.queries.query import GroupKey
from understudy.schema import Boolean, Categorical, Column, Lattice, Schema
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec, codec_of
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    LinearComparison,
    Not,
    Or,
    Predicate,
)
from understudy.schema.predicates.comparable import scale_step_of
from understudy.schema.predicates.cut_points import cut_points_of_predicate
from understudy.schema.predicates.kleene import KLEENE_MAYBE, KLEENE_TRUE
from understudy.schema.predicates.on_cells import truth_of_cells

MAX_QUERY_CELLS = 1 << 21
"""Cells of one query: a few arrays of them fit into memory, and are made in a second."""

MAX_QUERY_GROUPS = 100_000
"""Groups of one query, each of which is a row of the answer."""

KeyValue = str | int | float | bool | None
"""What a group is called; None is the group of missing values."""


@dataclass(frozen=True, eq=False)
class KeyGroups:
    """The groups of one key, and the group of each code of its column: -1 for none.

    A key by conditions has no column, and a group for each cell instead.
    """

    column: str
    values: tuple[KeyValue, ...]
    group_of_code: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class QueryCells:
    """The cells of a query's columns, and which group each is in.

    >>> from understudy.schema import Integer
    >>> schema = Schema(columns=(Integer(name="age", min=0, max=99, nullable=False),))
    >>> cells = make_cells(schema, [GroupKey("age", (0, 18, 65))], [])
    >>> cells.sizes, cells.group_of_cell.tolist()
    ((3,), [0, 1, -1])
    """

    schema: Schema
    """The query's columns alone, in the query's bins."""
    clique: tuple[str, ...]
    keys: tuple[KeyGroups, ...]

    @cached_property
    def codecs(self) -> dict[str, Codec]:
        """The codec of every column."""
        return {name: codec_of(self.schema[name]) for name in self.clique}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of every column."""
        return tuple(codec.size for codec in self.codecs.values())

    @property
    def groups(self) -> int:
        """The number of groups: 1 without keys."""
        return math.prod(len(key.values) for key in self.keys)

    @cached_property
    def group_of_cell(self) -> NDArray[np.int64]:
        """The group of each cell, in the order of the cells; -1 where a cell is in
        none.
        """
        groups = np.zeros(self.sizes, np.int64)
        outside = np.zeros(self.sizes, np.bool_)
        for key in self.keys:
            shape = list(self.sizes)
            if key.column:
                axis = self.clique.index(key.column)
                shape = [1] * len(self.sizes)
                shape[axis] = self.sizes[axis]
            own = key.group_of_code.reshape(shape)
            groups = groups * len(key.values) + own
            outside |= own < 0
        groups[outside] = -1
        return groups.ravel()

    def holds_on_cells(self, condition: Predicate | None) -> NDArray[np.bool_]:
        """Whether a condition holds on each cell."""
        if condition is None:
            return np.ones(math.prod(self.sizes), np.bool_)
        return _holds_on_cells(condition, self.codecs, self.clique)

    def iterate_groups(self) -> Iterator[tuple[KeyValue, ...]]:
        """What every group is called, in the order of the groups."""
        shape = [len(key.values) for key in self.keys]
        for place in np.ndindex(*shape):
            yield tuple(key.values[i] for key, i in zip(self.keys, place, strict=True))


def make_cells(
    schema: Schema,
    keys: Sequence[GroupKey],
    conditions: Sequence[Predicate],
    whole: Collection[str] = (),
) -> QueryCells:
    """The cells that decide the keys and conditions of a query: columns of keys first,
    in their order. Columns in `whole` have a cell for every value.
    """
    column_keys = [key for key in keys if not key.cases]
    for key in column_keys:
        _require_part(schema, key.column)
    named = set(whole).union(*(condition.columns for condition in conditions))
    key_names = [key.column for key in column_keys]
    if len(set(key_names)) < len(key_names):
        raise Refused("A query groups by each column once. Nothing was spent")
    clique = (*key_names, *(name for name in schema if name in named - set(key_names)))
    edges_by_key = {
        key.column: _key_edges(schema[key.column], key) for key in column_keys
    }
    columns = {
        name: _coarsen_column(
            schema[name],
            edges_by_key.get(name, ()),
            conditions,
            is_whole=name in whole,
        )
        for name in clique
    }
    codecs = {name: codec_of(column) for name, column in columns.items()}
    _refuse_large(codecs)
    groups = tuple(_find_key_groups(codecs, clique, key) for key in keys)
    # The rest of the columns stays for the unit's id and for what is added up.
    described = tuple(columns.get(column.name, column) for column in schema.columns)
    narrowed = replace(schema, columns=described, impossible=(), rules=())
    return QueryCells(narrowed, clique, groups)


def _holds_on_cells(
    condition: Predicate, codecs: Mapping[str, Codec], clique: tuple[str, ...]
) -> NDArray[np.bool_]:
    truth = truth_of_cells(condition, codecs, clique)
    if np.any(truth == KLEENE_MAYBE):
        raise Refused(
            f"`{condition}` compares a column with a constant of another kind, so"
            " no cell decides it. Correct the constant. Nothing was spent"
        )
    return np.equal(truth, KLEENE_TRUE).ravel()


def _find_key_groups(
    codecs: Mapping[str, Codec], clique: tuple[str, ...], key: GroupKey
) -> KeyGroups:
    if key.cases:
        return _group_by_cases(codecs, clique, key)
    return _key_groups(codecs[key.column], key)


def _group_by_cases(
    codecs: Mapping[str, Codec], clique: tuple[str, ...], key: GroupKey
) -> KeyGroups:
    """The groups of a key by conditions: a cell is in that of the first that it meets."""
    labels = [*(label for _, label in key.cases), key.otherwise]
    # True is 1 in Python: labels of different types are different groups.
    names = list(dict.fromkeys((type(label), label) for label in labels))
    cells = math.prod(codec.size for codec in codecs.values())
    group_of_cell = np.full(cells, names.index((type(key.otherwise), key.otherwise)))
    for condition, label in reversed(key.cases):
        assert isinstance(condition, Predicate)
        holds = _holds_on_cells(condition, codecs, clique)
        group_of_cell[holds] = names.index((type(label), label))
    values = tuple(label for _, label in names)
    return KeyGroups("", values, group_of_cell.astype(np.int64))


def _require_part(schema: Schema, name: str) -> None:
    """Refuse a column that takes no part, or whose domain is not declared."""
    if name not in schema.by_name:
        raise Refused(f'column "{name}" is not in the schema. Nothing was spent')
    column = schema[name]
    if not column.is_modelled:
        raise Refused(
            f"{name}: an identifier, text or a column left out by the schema is never"
            " released. Ask about other columns. Nothing was spent"
        )
    if not column.is_closed:
        raise Refused(
            f"{name}: its values or bounds are not declared, and questions learn none."
            " Add `values`, or `min` and `max`, to the schema. Nothing was spent"
        )


def _key_edges(column: Column, key: GroupKey) -> tuple[int, ...]:
    """The bin edges of a key, as lattice indices; none for labels."""
    if not isinstance(column, Lattice):
        if key.edges:
            raise Refused(f"{column.name}: only numbers have bins. Nothing was spent")
        return ()
    assert column.low is not None
    assert column.high is not None
    if key.edges:
        step = scale_step_of(column)
        return tuple(math.ceil(edge / step) for edge in key.edges)
    if column.high - column.low >= MAX_QUERY_GROUPS:
        raise Refused(
            f"{column.name}: it has {column.high - column.low + 1:,} values, too many"
            " groups. Group it by bins. Nothing was spent"
        )
    return tuple(range(column.low, column.high + 2))


def _coarsen_column(
    column: Column,
    key_edges: Sequence[int],
    conditions: Sequence[Predicate],
    *,
    is_whole: bool,
) -> Column:
    """The column in the fewest bins that decide the keys and conditions."""
    _require_closed(column)
    if not isinstance(column, Lattice):
        return column
    low, high = column.low, column.high
    assert low is not None
    assert high is not None
    points = set(key_edges)
    for condition in conditions:
        points.update(cut_points_of_predicate(column, condition))
        is_whole = is_whole or _is_compared_as_a_whole(column.name, condition)
    if is_whole:
        if high - low >= MAX_QUERY_CELLS:
            raise Refused(
                f"{column.name}: it has too many values to be told apart. Use a coarser"
                " step. Nothing was spent"
            )
        points.update(range(low, high + 1))
    edges = (low, *sorted(p for p in points if low < p <= high), high + 1)
    return replace(column, bins=edges, grain=())


def _require_closed(column: Column) -> None:
    if not column.is_closed:
        raise Refused(
            f"{column.name}: its values or bounds are not declared, and questions learn"
            " none. Add `values`, or `min` and `max`, to the schema. Nothing was spent"
        )


def _is_compared_as_a_whole(name: str, predicate: Predicate) -> bool:
    """Whether a condition compares a column with other columns."""
    match predicate:
        case And(left, right) | Or(left, right) | IfThen(left, right):
            return _is_compared_as_a_whole(name, left) or _is_compared_as_a_whole(
                name, right
            )
        case Not(part):
            return _is_compared_as_a_whole(name, part)
        case ColumnComparison(_, _, ColumnName()) | LinearComparison():
            return name in predicate.columns
    return False


def _refuse_large(codecs: Mapping[str, Codec]) -> None:
    cells = math.prod(codec.size for codec in codecs.values())
    if cells > MAX_QUERY_CELLS:
        raise Refused(
            f"The question spans {cells:,} combinations of {', '.join(codecs)}, more"
            f" than {MAX_QUERY_CELLS:,}. Ask about fewer columns, or in bins. Nothing"
            " was spent"
        )


def _key_groups(codec: Codec, key: GroupKey) -> KeyGroups:
    """The groups of a key: the values or bins of its column, then `other`, then the
    missing ones together.
    """
    column = codec.column
    values: list[KeyValue] = []
    group_of_code = np.full(codec.size, -1, np.int64)
    if isinstance(column, Lattice):
        values = _group_bins(codec, column, key, group_of_code)
    elif isinstance(column, Boolean):
        values = [False, True]
        group_of_code[:2] = (0, 1)
    elif key.mapping:
        return _map_labels(column, key, group_of_code)
    else:
        values = _list_labels(column)
        group_of_code[: len(values)] = np.arange(len(values))
    is_missing = ~codec.is_value
    # Bins leave out what lies outside of them, and so they leave out what is missing.
    if is_missing.any() and (key.has_missing or not key.edges):
        group_of_code[is_missing] = len(values)
        values.append(None)
    if len(values) > MAX_QUERY_GROUPS:
        raise Refused(f"{column.name}: too many groups. Nothing was spent")
    return KeyGroups(column.name, tuple(values), group_of_code)


def _list_labels(column: Column) -> list[KeyValue]:
    """The labels of a column in the order of their codes, `other` last."""
    assert isinstance(column, Categorical)
    labels: list[KeyValue] = list(column.values or ())
    return labels if column.other is None else [*labels, column.other]


def _map_labels(
    column: Column, key: GroupKey, group_of_code: NDArray[np.int64]
) -> KeyGroups:
    """Groups of labels by a public map; labels that it leaves out are in none."""
    assert isinstance(column, Categorical)
    group_of_label = dict(key.mapping)
    named = sorted(set(group_of_label.values()), key=lambda v: (isinstance(v, str), v))
    values: list[KeyValue] = list(named)
    for code, label in enumerate(column.values or ()):
        if label in group_of_label:
            group_of_code[code] = values.index(group_of_label[label])
    return KeyGroups(column.name, tuple(values), group_of_code)


def _group_bins(
    codec: Codec, column: Lattice, key: GroupKey, group_of_code: NDArray[np.int64]
) -> list[KeyValue]:
    """The values of a lattice key, or the first values of its bins."""
    assert isinstance(codec.bins, BinEdges)
    starts = np.array(codec.bins.edges[:-1], np.int64)
    edges = _key_edges(column, key)
    groups = np.searchsorted(np.array(edges, np.int64), starts, side="right") - 1
    groups[(groups < 0) | (groups >= len(edges) - 1)] = -1
    group_of_code[: len(starts)] = groups
    if key.edges:
        labels = key.labels or [float(edge) for edge in key.edges[:-1]]
        return [_plain_value(label) for label in labels]
    return [_plain_value(column.value_at(index)) for index in edges[:-1]]


def _plain_value(value: object) -> KeyValue:
    """A key as a cell of the answer: numbers as they are, dates and times as text."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int | float) else str(value)
