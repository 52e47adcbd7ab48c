"""Ballots: for which type a cell of text speaks.

Each cell votes for exactly one candidate, the most specific type it can be read as, so
one row moves exactly one count per column. A vote for one type also supports the types
that can hold its cell; `is_readable_as` is that partial order.

Numbers vote for the coarsest step they are a multiple of, so the same votes tell whole
numbers from decimals and find the step of a column: 1.0 is whole however it is spelled
(pandas writes whole numbers beside an empty cell so), and amounts that are all rounded
to hundreds come back in hundreds.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

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
MAX_VOTED_DECIMALS = 6
"""Decimals that a vote tells apart; cells with more vote for a real."""

STEP_CANDIDATES: Mapping[str, Fraction] = MappingProxyType(
    {
        "integer1000": Fraction(1000),
        "integer100": Fraction(100),
        "integer10": Fraction(10),
        "integer5": Fraction(5),
        "integer": Fraction(1),
        "half": Fraction(1, 2),
        "quarter": Fraction(1, 4),
        "decimal1": Fraction(1, 10),
        "twentieth": Fraction(1, 20),
        **{
            f"decimal{places}": Fraction(1, 10**places)
            for places in range(2, MAX_VOTED_DECIMALS + 1)
        },
    }
)
"""Numbers by the step they are multiples of, coarse before fine. The steps beside the
powers of ten are those that people round to.
"""

PLAIN_STEPS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("integer1000", "integer100", "integer10", "integer5"), "integer"
        ),
        "half": "decimal1",
        **dict.fromkeys(("quarter", "twentieth"), "decimal2"),
    }
)
"""The whole or decimal number that a coarser step is spelled as."""

TYPE_CANDIDATES = (
    EMPTY_CANDIDATE,
    "truth",
    "boolean",
    "zero",
    "bit",
    *STEP_CANDIDATES,
    "real",
    "date",
    "instant",
    "datetime",
    "time",
    TEXT_CANDIDATE,
)
"""Candidate types, the more specific before those that can hold their cells. A truth is
`true` or `false`, as every stored truth value is read; other words for yes and no are
labels of a boolean. Zero and bit are the numbers 0 and 1, which may be truth values
too; 0 is a multiple of every step. An instant is a moment that says how far its clock
is from UTC.
"""

BOOLEAN_VOTE_WORDS = ("true", "false", "yes", "no", "t", "f", "y", "n")
NUMBER_CANDIDATES = ("zero", "bit", *STEP_CANDIDATES, "real")
"""Candidates whose cells are numbers."""


def is_readable_as(vote: str, candidate: str) -> bool:
    """Whether a cell that votes for one type can also be read as another.

    >>> (is_readable_as("integer", "decimal2"), is_readable_as("decimal2", "integer"),
    ...     is_readable_as("date", "datetime"), is_readable_as("bit", "boolean"))
    (True, False, True, True)
    """
    if vote in (candidate, EMPTY_CANDIDATE) or candidate == TEXT_CANDIDATE:
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
    if vote == "zero" or candidate == "real":
        return True
    if vote == "real" or candidate not in STEP_CANDIDATES:
        return False
    step = STEP_CANDIDATES.get(vote, Fraction(1))
    return (step / STEP_CANDIDATES[candidate]).denominator == 1


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
    whole = "[+-]?(0|[1-9][0-9]{0,17})(\\.0{1,6})?"
    # The digits before the point decide the step of a whole number.
    head = layers.read(f"regexp_extract({n}, '^[+-]?[0-9]*')")
    day, clock = (
        f"TRY_CAST(left({n}, 10) AS DATE) IS NOT NULL",
        (
            f"TRY_CAST(regexp_extract({n}, '{CELL_TIME_PATTERN}') AS TIME) < TIME"
            " '24:00:00'"
        ),
    )
    decimal = "[+-]?(0|[1-9][0-9]{0,14})?"
    rules = [
        (" OR ".join(none), EMPTY_CANDIDATE),
        (f"{n} IN ('true', 'false')", "truth"),
        # Spelled as 0.0 or 1.0 they are numbers: no boolean is written like that.
        (f"{n} = '0'", "zero"),
        (f"{n} = '1'", "bit"),
        (f"{is_like(whole)} AND {head} IN ('0', '-0', '+0')", "integer1000"),
        (f"lower({n}) IN ({quoting.text_literals(BOOLEAN_VOTE_WORDS)})", "boolean"),
        (f"{is_like(whole)} AND suffix({head}, '000')", "integer1000"),
        (f"{is_like(whole)} AND suffix({head}, '00')", "integer100"),
        (f"{is_like(whole)} AND suffix({head}, '0')", "integer10"),
        (f"{is_like(whole)} AND suffix({head}, '5')", "integer5"),
        (is_like(whole), "integer"),
        (is_like(f"{decimal}\\.5"), "half"),
        (is_like(f"{decimal}\\.[0-9]"), "decimal1"),
        (is_like(f"{decimal}\\.(25|50|75|00)"), "quarter"),
        (is_like(f"{decimal}\\.[0-9][05]"), "twentieth"),
        *(
            (is_like(f"{decimal}\\.[0-9]{{{places}}}"), f"decimal{places}")
            for places in range(2, MAX_VOTED_DECIMALS + 1)
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
        f"WHEN {rule} THEN {TYPE_CANDIDATES.index(kind)}" for rule, kind in rules
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
