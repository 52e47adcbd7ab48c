"""The scope of a predicate: the cells of one public column outside which it holds for no
row.

Cells are those of the column's own codec in the schema, and every row lies in exactly
one of them. A cell is left out only where the predicate is false for every value in it
(schema/predicates/on_cells.py), whatever the other columns hold. So that two scopes are
disjoint is seen from the schema and never assumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from understudy.accounting.chain import digest_of
from understudy.accounting.questions.partition import (
    MAX_PARTITION_CELLS,
    PartitionScope,
)
from understudy.schema import Predicate, Schema, describe_broken_rows
from understudy.schema.columns.codec import Codec
from understudy.schema.predicates.on_cells import possibly_true_cells

MAX_SCOPE_TABLE_CELLS = 2**20
"""Most cells of the predicate's columns together that a scope is computed on."""


def scope_of_predicate(
    schema: Schema, predicate: Predicate, column: str | None = None
) -> PartitionScope | None:
    """What a question about the rows that satisfy this can depend on; None where it is
    charged to the whole table.

    `column` is the column of the partition, by default the predicate's column with the
    fewest cells.

    >>> from understudy.schema import Categorical, parse_predicate
    >>> region = Categorical(name="region", values=("North", "South"), nullable=False)
    >>> schema = Schema(columns=(region,))
    >>> scope_of_predicate(schema, parse_predicate("region = 'North'")).cells
    frozenset({0})
    """
    # Rows of one unit may lie in several cells: nothing would be saved.
    if schema.unit.max_rows > 1:
        return None
    codecs = schema.codecs
    clique = tuple(name for name in schema if name in predicate.columns)
    sizes = {name: codecs[name].size for name in clique}
    if math.prod(sizes.values()) > MAX_SCOPE_TABLE_CELLS:
        return None
    chosen = _choose_column(sizes, column)
    if chosen is None:
        return None
    possible = possibly_true_cells(predicate, codecs, clique)
    # One row for each cell of the chosen column, whatever the other columns hold.
    by_cell = np.moveaxis(possible, clique.index(chosen), 0).reshape(sizes[chosen], -1)
    cells = np.flatnonzero(by_cell.any(axis=1))
    codec = codecs[chosen]
    return PartitionScope(
        chosen, describe_domain(schema, codec), codec.size, frozenset(cells.tolist())
    )


def _choose_column(sizes: Mapping[str, int], column: str | None) -> str | None:
    """The column with the fewest cells, or the one that is asked for; none if it has
    more than charges are kept apart for.
    """
    narrow = [name for name in sizes if sizes[name] <= MAX_PARTITION_CELLS]
    if column is not None:
        return column if column in narrow else None
    return min(narrow, key=sizes.__getitem__, default=None)


def describe_domain(schema: Schema, codec: Codec) -> str:
    """A digest of everything that decides which cell a row lies in, so that cells are
    never compared across two schemas. Rules that empty cells are part of it: the same row
    would lie in one cell with them and in another without.

    >>> from understudy.schema import Boolean, codec_of
    >>> smoker = Boolean(name="smoker")
    >>> other = Boolean(name="smoker", missing=("unknown",))
    >>> one, two = (Schema(columns=(column,)) for column in (smoker, other))
    >>> describe_domain(one, codec_of(smoker)) == describe_domain(two, codec_of(other))
    False
    """
    emptied = describe_broken_rows(schema)
    facts = [repr(codec.column), repr(codec.bins), *emptied]
    return digest_of(facts)[:16]
