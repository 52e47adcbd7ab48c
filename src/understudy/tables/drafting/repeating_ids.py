"""People with several rows: identifiers that come again, and the privacy unit that
their owner may want to declare. PRIVATE: exact counts, for the owner's draft alone.

A guarantee for one row says little to a person who has twenty. Only the owner knows
whether an identifier stands for a person; so a draft proposes, and decides nothing.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from understudy.schema import Identifier
from understudy.tables.reading.parse import texts_sql
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers

MIN_REPEATED_SHARE = Fraction(1, 10)
"""Part of the rows beyond the first of each identifier from which people are said to
have several: a few doublets are mistakes.
"""


def repeats_often(source: TableSource, name: str) -> bool:
    """Whether many rows of a column hold a value that another row holds too."""
    layers = QueryLayers()
    texts = texts_sql(layers, source.stored_column(name))
    if not texts:
        return False
    cells = layers.query(source.relation, [f"{texts[0]} AS t"])
    counted = f"SELECT t, count(*) AS n FROM ({cells}) WHERE t IS NOT NULL GROUP BY t"
    ((rows, distinct),) = source.engine.run(
        f"SELECT sum(n), count(*) FROM ({counted})",
        doing=f'looking at column "{name}"',
    )
    return bool(distinct and rows - distinct >= MIN_REPEATED_SHARE * rows)


def propose_unit(source: TableSource, column: Identifier) -> Identifier:
    """The identifier with a note that proposes it as privacy unit, if it comes again."""
    if not repeats_often(source, column.name):
        return column
    # No number: a draft becomes public by use, and how many rows people have would be
    # a fact about them.
    unit = f"unit: {{id: {column.name}, max_rows: …}}"
    proposal = f"it comes again: if it stands for a person, declare `{unit}`"
    return replace(column, note=f"{column.note}; {proposal}")
