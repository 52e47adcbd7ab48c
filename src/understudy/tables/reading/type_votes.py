"""Ballots: for which type a cell of text speaks.

Each cell votes for exactly one candidate, the most specific type it can be read as, so
one row moves exactly one count per column. A vote for one type also supports the types
that can hold its cell; `is_readable_as` is that partial order.
"""

from __future__ import annotations

from understudy.schema.columns.cell import (
    CELL_DATE_PATTERN,
    CELL_MOMENT_PATTERN,
    CELL_NUMBER_PATTERN,
    CELL_OFFSET_PATTERN,
    CELL_TIME_PATTERN,
)
from understudy.tables.reading.encode import is_empty_sql
from understudy.tables.reading.parse import texts_sql
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import BLANKS_SQL, StoredColumn

EMPTY_CANDIDATE, TEXT_CANDIDATE = "empty", "text"
DECIMAL_CANDIDATES = tuple(f"decimal{places}" for places in range(1, 7))
TYPE_CANDIDATES = (
    EMPTY_CANDIDATE,
    "truth",
    "boolean",
    "bit",
    "integer",
    *DECIMAL_CANDIDATES,
    "real",
    "date",
    "instant",
    "datetime",
    "time",
    TEXT_CANDIDATE,
)
"""Candidate types, the more specific before those that can hold their cells. A truth is
`true` or `false`, as every stored truth value is read; other words for yes and no are
labels of a boolean. A bit is 0 or 1: a truth value or a number. An instant is a moment
that says how far its clock is from UTC.
"""

BOOLEAN_VOTE_WORDS = ("true", "false", "yes", "no", "t", "f", "y", "n")
_NUMBER_CANDIDATES = ("bit", "integer", *DECIMAL_CANDIDATES, "real")


def is_readable_as(vote: str, candidate: str) -> bool:
    """Whether a cell that votes for one type can also be read as another.

    >>> (is_readable_as("integer", "decimal2"), is_readable_as("decimal2", "integer"),
    ...     is_readable_as("date", "datetime"), is_readable_as("bit", "boolean"))
    (True, False, True, True)
    """
    if vote in (candidate, EMPTY_CANDIDATE) or candidate == TEXT_CANDIDATE:
        return True
    if vote in _NUMBER_CANDIDATES and candidate in _NUMBER_CANDIDATES:
        return _NUMBER_CANDIDATES.index(vote) <= _NUMBER_CANDIDATES.index(candidate)
    return (vote, candidate) in {
        ("truth", "boolean"),
        ("bit", "boolean"),
        ("date", "datetime"),
        ("instant", "datetime"),
    }


def vote_sql(
    layers: QueryLayers, stored: StoredColumn, missing: tuple[str, ...]
) -> str:
    """The position among the candidates of the one a cell votes for. A number written
    with leading zeros is a text: it is a code.

    A stored number, truth or moment votes by the text it would have in a CSV file, so
    that a stored type that a single cell decides (whole numbers beside an empty cell
    are floats to pandas) moves the vote of that cell alone.
    """
    stored = _shorten_float_text(stored)
    found = texts_sql(layers, stored)
    if not found:
        empty, text_vote = (
            TYPE_CANDIDATES.index(EMPTY_CANDIDATE),
            TYPE_CANDIDATES.index(TEXT_CANDIDATE),
        )
        return (
            f"CAST(CASE WHEN {is_empty_sql(stored)} THEN {empty} ELSE {text_vote} END"
            " AS UTINYINT)"
        )
    text = layers.read(found[0])
    n = layers.read(f"trim({text}, {BLANKS_SQL})")

    def is_like(pattern: str) -> str:
        return f"regexp_full_match({n}, {quoting.text_literal(pattern)})"

    none = [is_empty_sql(stored)] + (
        [f"{text} IN ({quoting.text_literals(missing)})"] if missing else []
    )
    whole = "[+-]?(0|[1-9][0-9]{0,17})"
    day, clock = (
        f"TRY_CAST(left({n}, 10) AS DATE) IS NOT NULL",
        (
            f"TRY_CAST(regexp_extract({n}, '{CELL_TIME_PATTERN}') AS TIME) < TIME"
            " '24:00:00'"
        ),
    )
    places = (
        f"length({n}) - strpos({n}, '.') - 1 +"
        f" {TYPE_CANDIDATES.index(DECIMAL_CANDIDATES[0])}"
    )
    rules = [
        (" OR ".join(none), EMPTY_CANDIDATE),
        (f"{n} IN ('true', 'false')", "truth"),
        (f"{n} IN ('0', '1')", "bit"),
        (f"lower({n}) IN ({quoting.text_literals(BOOLEAN_VOTE_WORDS)})", "boolean"),
        (is_like(whole), "integer"),
        (
            is_like(
                f"[+-]?(0|[1-9][0-9]{{0,14}})?\\.[0-9]{{1,{len(DECIMAL_CANDIDATES)}}}"
            ),
            places,
        ),
        (
            (
                f"{is_like(CELL_NUMBER_PATTERN)} AND NOT regexp_matches({n},"
                " '^[+-]?0[0-9]')"
            ),
            "real",
        ),
        (f"{is_like(CELL_DATE_PATTERN)} AND {day}", "date"),
        (
            (
                f"{is_like(f'{CELL_DATE_PATTERN}[T ]{CELL_TIME_PATTERN}{CELL_OFFSET_PATTERN}')}"
                f" AND {day} AND {clock}"
            ),
            "instant",
        ),
        (f"{is_like(CELL_MOMENT_PATTERN)} AND {day} AND {clock}", "datetime"),
        (f"{is_like(CELL_TIME_PATTERN)} AND {clock}", "time"),
    ]
    whens = " ".join(
        f"WHEN {rule} THEN"
        f" {TYPE_CANDIDATES.index(kind) if kind in TYPE_CANDIDATES else kind}"
        for rule, kind in rules
    )
    return (
        f"CAST(CASE {whens} ELSE {TYPE_CANDIDATES.index(TEXT_CANDIDATE)} END AS"
        " UTINYINT)"
    )


def _shorten_float_text(stored: StoredColumn) -> StoredColumn:
    """Short floats by the shortest text that means them: as doubles they would all have
    nine decimals and more.
    """
    if stored.type != "FLOAT":
        return stored
    cell = stored.cell
    whole = f"abs({cell}) < 1e15 AND trunc({cell}) = {cell}"
    text = (
        f"(CASE WHEN {whole} THEN CAST(TRY_CAST({cell} AS BIGINT) AS VARCHAR) ELSE"
        f" CAST({cell} AS VARCHAR) END)"
    )
    return StoredColumn(
        f"(CASE WHEN isnan({cell}) THEN NULL ELSE {text} END)", "VARCHAR", None
    )
