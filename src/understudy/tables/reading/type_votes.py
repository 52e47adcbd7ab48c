"""Votes on types: which type a cell can be read as.

Each cell votes for exactly one candidate, the most specific type it can be read as, so
one row moves exactly one count per column. A vote for one type also supports the types
that can hold its cell; `is_readable_as` is that partial order.

Numbers vote for the coarsest step they are a multiple of, so the same votes tell whole
numbers from decimals and find the step of a column: 1.0 is whole however it is spelled
(pandas writes whole numbers beside an empty cell so), and amounts that are all rounded
to hundreds come back in hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from understudy.schema.columns.cell import CELL_DATE_PATTERN
from understudy.tables.reading.encode import is_empty_sql
from understudy.tables.reading.moment_votes import (
    AMBIGUOUS_KINDS,
    LOCAL_KINDS,
    MOMENT_SPELLINGS,
    moment_vote_sql,
)
from understudy.tables.reading.number_votes import (
    LARGE_CANDIDATE,
    POINT_SUFFIX,
    POINTED_CANDIDATES,
    STEP_CANDIDATES,
    decimal_conditions,
    is_like_sql,
    round_float_text_sql,
    whole_conditions,
)
from understudy.tables.reading.parse import texts_sql
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import BLANKS_SQL, StoredColumn

EMPTY_CANDIDATE, TEXT_CANDIDATE, ZERO_LED_CANDIDATE = "empty", "text", "zero-led"
TYPE_CANDIDATES = (
    EMPTY_CANDIDATE,
    "truth",
    "boolean",
    "zero",
    "bit",
    *STEP_CANDIDATES,
    *POINTED_CANDIDATES,
    "real",
    LARGE_CANDIDATE,
    "date",
    *MOMENT_SPELLINGS,
    ZERO_LED_CANDIDATE,
    TEXT_CANDIDATE,
)
"""What cells vote for. A truth is `true` or `false`, as every stored truth value is
read; other words for yes and no are labels of a boolean. Zero and bit are the numbers 0
and 1, which may be truth values too; 0 is a multiple of every step. Whole numbers with a
point are candidates of their own. A date is spelled
as 2024-02-29; other dates, moments and times vote for their spelling too. Digits after
a zero (0606, 01234) are a code: texts, which say that other digits beside them are codes.
"""

ELECTED_TYPES = (
    "truth",
    "boolean",
    "zero",
    "bit",
    *STEP_CANDIDATES,
    "real",
    LARGE_CANDIDATE,
    "date",
    *AMBIGUOUS_KINDS,
    *LOCAL_KINDS,
    "instant",
    "datetime",
    "time",
    TEXT_CANDIDATE,
)
"""What votes elect, the more specific before what can hold its cells. An instant is a
moment that says how far its clock is from UTC.
"""

BOOLEAN_VOTE_WORDS = ("true", "false", "yes", "no", "t", "f", "y", "n")
NUMBER_CANDIDATES = ("zero", "bit", *STEP_CANDIDATES, "real", LARGE_CANDIDATE)
"""Candidates whose cells are numbers."""


def kind_of_vote(vote: str) -> str:
    """What a vote says that a cell is, whatever its spelling.

    >>> kind_of_vote("%Y-%m-%dT%H:%M:%SZ by 0:00:01"), kind_of_vote("integer10.0")
    ('instant', 'integer10')
    """
    spelling = MOMENT_SPELLINGS.get(vote)
    return vote.removesuffix(POINT_SUFFIX) if spelling is None else spelling.kind


def is_readable_as(vote: str, candidate: str) -> bool:
    """Whether a cell that votes for one type can also be read as another.

    >>> (is_readable_as("integer", "decimal2"), is_readable_as("decimal2", "integer"),
    ...     is_readable_as("date", "datetime"), is_readable_as("bit", "boolean"))
    (True, False, True, True)
    """
    # No boolean is written as 0.0 or 1.0.
    if candidate == "boolean" and vote in POINTED_CANDIDATES:
        return False
    vote = kind_of_vote(vote)
    if vote in (candidate, EMPTY_CANDIDATE) or candidate == TEXT_CANDIDATE:
        return True
    if candidate in AMBIGUOUS_KINDS.get(vote, ()):
        return True
    if vote in NUMBER_CANDIDATES and candidate in NUMBER_CANDIDATES:
        return _is_multiple(vote, candidate)
    return (vote, candidate) in {
        ("zero", "boolean"),
        ("truth", "boolean"),
        ("bit", "boolean"),
        ("date", "datetime"),
        ("instant", "datetime"),
    }


def _is_multiple(vote: str, candidate: str) -> bool:
    """Whether a number that votes for one candidate is one of another."""
    if vote == "zero" or candidate == LARGE_CANDIDATE:
        return True
    if vote == LARGE_CANDIDATE or candidate == "real":
        return vote != LARGE_CANDIDATE
    if vote == "real" or candidate not in STEP_CANDIDATES:
        return False
    step = STEP_CANDIDATES.get(vote, Fraction(1))
    return (step / STEP_CANDIDATES[candidate]).denominator == 1


def vote_sql(
    layers: QueryLayers,
    stored: StoredColumn,
    missing: tuple[str, ...],
) -> str:
    """The place among the candidates of the one a cell votes for.

    A stored number, truth or moment votes by the text it would have in a CSV file, so
    that a stored type that a single cell decides (whole numbers beside an empty cell
    are floats to pandas) moves the vote of that cell alone.
    """
    stored = _shorten_float_text(stored)
    texts = texts_sql(layers, stored)
    if not texts:
        return _first_candidate_sql([(is_empty_sql(stored), EMPTY_CANDIDATE)])
    text = layers.read(texts[0])
    trimmed = layers.read(f"trim({text}, {BLANKS_SQL})")
    empty = is_empty_sql(stored)
    if missing:
        empty += f" OR {text} IN ({quoting.text_literals(missing)})"
    number = layers.read(round_float_text_sql(trimmed))
    words = quoting.text_literals(BOOLEAN_VOTE_WORDS)
    first_spelling = TYPE_CANDIDATES.index(next(iter(MOMENT_SPELLINGS)))
    # The first condition that holds decides, so the more specific come first.
    return _first_candidate_sql(
        [
            (empty, EMPTY_CANDIDATE),
            (f"{trimmed} IN ('true', 'false')", "truth"),
            (f"lower({trimmed}) IN ({words})", "boolean"),
            *whole_conditions(layers, number),
            *decimal_conditions(number),
            *_date_conditions(trimmed),
            (is_like_sql(trimmed, "0[0-9]+"), ZERO_LED_CANDIDATE),
        ],
        moment_vote_sql(layers, trimmed, first_spelling),
    )


def _first_candidate_sql(
    conditions: list[tuple[str, str]], placed: Sequence[tuple[str, str]] = ()
) -> str:
    """The place of the candidate whose condition holds first, then of what is `placed`
    already; of text where none does.
    """
    places = [
        (rule, str(TYPE_CANDIDATES.index(candidate))) for rule, candidate in conditions
    ]
    whens = " ".join(f"WHEN {rule} THEN {place}" for rule, place in (*places, *placed))
    otherwise = TYPE_CANDIDATES.index(TEXT_CANDIDATE)
    return f"CAST(CASE {whens} ELSE {otherwise} END AS UTINYINT)"


def _date_conditions(text: str) -> list[tuple[str, str]]:
    """When a text is a day in ISO 8601."""
    # A pattern takes 2024-02-30 for a date: a cast decides.
    is_day = f"TRY_CAST(left({text}, 10) AS DATE) IS NOT NULL"
    return [(f"{is_like_sql(text, CELL_DATE_PATTERN)} AND {is_day}", "date")]


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
        f"(CASE WHEN isnan({cell}) THEN NULL ELSE {text} END)",
        "VARCHAR",
        None,
    )
