"""What the cells of a column look like: which types they could be read as, how many
differ, which texts mean missing. PRIVATE: exact counts, for the owner's draft alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.tables.reading import encode
from understudy.tables.reading.number_votes import PLAIN_STEPS
from understudy.tables.reading.parse import texts_sql
from understudy.tables.reading.type_votes import (
    ELECTED_TYPES,
    EMPTY_CANDIDATE,
    NUMBER_CANDIDATES,
    TEXT_CANDIDATE,
    TYPE_CANDIDATES,
    ZERO_LED_CANDIDATE,
    is_readable_as,
    vote_sql,
)
from understudy.tables.sources.source import TableSource
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import StoredColumn

MAX_DRAFT_ODD_SHARE = Fraction(1, 100)
"""Part of the cells that may be something else than the drafted type."""

MAX_BOOLEAN_ODD_SHARE = Fraction(1, 1000)
"""The same for booleans and coarse steps: counts that are nearly always 0 or 1 are
counts, and what lies between the multiples of a step would be rounded.
"""

MAX_ZERO_LED_SHARE = Fraction(1, 1000)
"""Part of the cells of a column of numbers that may be digits after a zero: of postal
codes few begin with one, and mistyped numbers do in fewer.
"""

MIN_STEP_CELLS = 30
"""Numbers other than zero from which a coarse step is drafted: of fewer, all may be
round by chance.
"""

MISSING_CODES = (
    "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "NULL", "null", ".", "-", "--", "?"
)  # fmt: skip
"""Texts that commonly mean missing."""

NUMBER_MISSING_CODES = (
    *MISSING_CODES,
    "N", "n", "X", "x", "B", "b", "U", "u", "D", "S", "R", "M",
    "*", "**", "***", ":", "..", "...", "s", "c", "z",
    "nil", "Nil", "none", "None", "missing", "Missing", "unknown", "Unknown", "UNKNOWN",
    "nd", "ND", "n.d.", "n.a.", "N.A.", "NR", "unk", "UNK",
)  # fmt: skip
"""What statistical offices, laboratories and devices write in a column of numbers where
there is none: not applicable, suppressed, not in universe, not detected.
"""

MIN_MISSING_CODE_SHARE = Fraction(1, 1000)
"""Part of the cells that must hold a text for it to be drafted as a missing code."""


@dataclass(frozen=True)
class CellSummary:
    """The cells of a column that are filled and no missing code: how many there are and
    how many differ, their mean length, and the share of them with a space inside.
    """

    filled: int
    distinct: int
    length: float
    spaced: float
    missing: tuple[str, ...]


def count_ballots(
    source: TableSource,
    name: str,
    codes: tuple[str, ...] = MISSING_CODES,
) -> dict[str, int]:
    """How many cells vote for each type; these codes mean missing."""
    layers = QueryLayers()
    vote = vote_sql(layers, source.stored_column(name), codes)
    voted = layers.query(source.relation, [f"{vote} AS v"])
    rows = source.engine.run(
        f"SELECT v, count(*) FROM ({voted}) GROUP BY v",
        doing=f'looking at column "{name}"',
    )
    return {TYPE_CANDIDATES[int(v)]: int(count) for v, count in rows}


def count_table_ballots(
    source: TableSource, names: Sequence[str]
) -> dict[str, dict[str, int]]:
    """How many cells of each column vote for each type: the columns that stand for
    texts, in one query.
    """
    layers = QueryLayers()
    texts = {}
    for name in names:
        stored = source.stored_column(name)
        # Single precision votes by texts of its own.
        if found := stored.type != "FLOAT" and texts_sql(layers, stored):
            empty = encode.is_empty_sql(stored)
            texts[name] = f"CASE WHEN {empty} THEN NULL ELSE {found[0]} END"
    if not texts:
        return {}
    # One under another: planning the vote takes longer than reading a small table.
    wide = layers.query(source.relation, [f"[{', '.join(texts.values())}] AS t"])
    tall = f"(SELECT unnest(t) AS x0, unnest(range({len(texts)})) AS x1 FROM ({wide}))"
    layers = QueryLayers()
    vote = vote_sql(layers, StoredColumn("x0", "VARCHAR"), MISSING_CODES)
    voted = layers.query(tall, ["x1 AS k", f"{vote} AS v"])
    rows = source.engine.run(
        f"SELECT k, v, count(*) FROM ({voted}) GROUP BY k, v",
        doing="looking at the columns",
    )
    ballots: dict[str, dict[str, int]] = {name: {} for name in texts}
    for place, candidate, count in rows:
        ballots[list(texts)[int(place)]][TYPE_CANDIDATES[int(candidate)]] = int(count)
    return ballots


def elect_draft_type(ballots: dict[str, int]) -> str | None:
    """The most specific candidate that nearly all filled cells support; None where no
    cell is filled.
    """
    filled = {name: count for name, count in ballots.items() if name != EMPTY_CANDIDATE}
    total = sum(filled.values())
    if total == 0:
        return None
    # Cells of 0 and 1 are booleans, or numbers with the rest of their column.
    skipped = {EMPTY_CANDIDATE, "truth", "zero", "bit"}
    if total - filled.get("zero", 0) < MIN_STEP_CELLS:
        skipped |= set(PLAIN_STEPS)
    # 1234 beside 0606 is a code as well: among numbers 0606 would be 606.
    if filled.get(ZERO_LED_CANDIDATE, 0) > MAX_ZERO_LED_SHARE * total:
        skipped |= set(NUMBER_CANDIDATES)
    # From specific to general: the first that holds is the most specific.
    for candidate in ELECTED_TYPES:
        if candidate in skipped:
            continue
        against = sum(
            count
            for name, count in filled.items()
            if not is_readable_as(name, candidate)
        )
        strict = candidate == "boolean" or candidate in PLAIN_STEPS
        odd_share = MAX_BOOLEAN_ODD_SHARE if strict else MAX_DRAFT_ODD_SHARE
        if against <= odd_share * total:
            return candidate
    return TEXT_CANDIDATE


def summarise_cells(
    source: TableSource,
    name: str,
    codes: tuple[str, ...] = MISSING_CODES,
) -> CellSummary:
    """What the cells of a column look like, where these codes mean missing."""
    layers = QueryLayers()
    stored = source.stored_column(name)
    texts = texts_sql(layers, stored)
    text = texts[0] if texts else "CAST(NULL AS VARCHAR)"
    doing = f'looking at column "{name}"'
    cells = layers.query(
        source.relation,
        [f"CASE WHEN {encode.is_empty_sql(stored)} THEN NULL ELSE {text} END AS t"],
    )
    coded = f"t IN ({quoting.text_literals(codes)})"
    ((every, filled, distinct, length, spaced),) = source.engine.run(
        f"SELECT count(t), count(t) FILTER (NOT {coded}), count(DISTINCT t) FILTER (NOT"
        f" {coded}), avg(length(t)) FILTER (NOT {coded}), avg(CAST(contains(trim(t), '"
        f" ') AS INTEGER)) FILTER (NOT {coded}) FROM ({cells})",
        doing=doing,
    )
    least = int(MIN_MISSING_CODE_SHARE * every) + 1
    frequent = set()
    # Planning a query takes longer than reading a small table.
    if every - filled >= least:
        rows = source.engine.run(
            f"SELECT t FROM ({cells}) WHERE {coded} GROUP BY t"
            f" HAVING count(*) >= {least}",
            doing=doing,
        )
        frequent = {row[0] for row in rows}
    # In the order of the list, not of the rows: a draft is the same each time.
    missing = tuple(code for code in codes if code in frequent)
    return CellSummary(filled, distinct, length or 0.0, spaced or 0.0, missing)
