"""Ballots: for which type a cell of text speaks.

Each cell votes for exactly one candidate, the most specific type it can be read as, so one row moves exactly one count per column. A vote
for one type also supports the types that can hold its cell; `supports` is that partial order.
"""

from __future__ import annotations

from understudy.schema.columns.cell import DATE, MOMENT, NUMBER, OFFSET, TIME
from understudy.tables.reading.encode import empty
from understudy.tables.reading.parse import texts
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import Layers
from understudy.tables.sql.stored import BLANKS, Stored

EMPTY, TEXT = "empty", "text"
DECIMALS = tuple(f"decimal{places}" for places in range(1, 7))
CANDIDATES = (
    EMPTY,
    "truth",
    "boolean",
    "bit",
    "integer",
    *DECIMALS,
    "real",
    "date",
    "instant",
    "datetime",
    "time",
    TEXT,
)
"""Candidate types, the more specific before those that can hold their cells. A truth is `true` or `false`, as every stored truth value is
read; other words for yes and no are labels of a boolean. A bit is 0 or 1: a truth value or a number. An instant is a moment that says how
far its clock is from UTC."""

WORDS = ("true", "false", "yes", "no", "t", "f", "y", "n")
_NUMBERS = ("bit", "integer", *DECIMALS, "real")


def supports(vote: str, candidate: str) -> bool:
    """Whether a cell that votes for one type can also be read as another.

    >>> supports("integer", "decimal2"), supports("decimal2", "integer"), supports("date", "datetime"), supports("bit", "boolean")
    (True, False, True, True)
    """
    if vote in (candidate, EMPTY) or candidate == TEXT:
        return True
    if vote in _NUMBERS and candidate in _NUMBERS:
        return _NUMBERS.index(vote) <= _NUMBERS.index(candidate)
    return (vote, candidate) in {
        ("truth", "boolean"),
        ("bit", "boolean"),
        ("date", "datetime"),
        ("instant", "datetime"),
    }


def vote(layers: Layers, stored: Stored, missing: tuple[str, ...]) -> str:
    """The position among the candidates of the one a cell votes for. A number written with leading zeros is a text: it is a code.

    A stored number, truth or moment votes by the text it would have in a CSV file, so that a stored type that a single cell decides (whole
    numbers beside an empty cell are floats to pandas) moves the vote of that cell alone.
    """
    stored = _shortest(stored)
    found = texts(layers, stored)
    if not found:
        return f"CAST(CASE WHEN {empty(stored)} THEN {CANDIDATES.index(EMPTY)} ELSE {CANDIDATES.index(TEXT)} END AS UTINYINT)"
    text = layers.read(found[0])
    n = layers.read(f"trim({text}, {BLANKS})")

    def is_like(pattern: str) -> str:
        return f"regexp_full_match({n}, {quoting.text(pattern)})"

    none = [empty(stored)] + ([f"{text} IN ({quoting.texts(missing)})"] if missing else [])
    whole = "[+-]?(0|[1-9][0-9]{0,17})"
    day, clock = (
        f"TRY_CAST(left({n}, 10) AS DATE) IS NOT NULL",
        f"TRY_CAST(regexp_extract({n}, '{TIME}') AS TIME) < TIME '24:00:00'",
    )
    places = f"length({n}) - strpos({n}, '.') - 1 + {CANDIDATES.index(DECIMALS[0])}"
    rules = [
        (" OR ".join(none), EMPTY),
        (f"{n} IN ('true', 'false')", "truth"),
        (f"{n} IN ('0', '1')", "bit"),
        (f"lower({n}) IN ({quoting.texts(WORDS)})", "boolean"),
        (is_like(whole), "integer"),
        (is_like(f"[+-]?(0|[1-9][0-9]{{0,14}})?\\.[0-9]{{1,{len(DECIMALS)}}}"), places),
        (f"{is_like(NUMBER)} AND NOT regexp_matches({n}, '^[+-]?0[0-9]')", "real"),
        (f"{is_like(DATE)} AND {day}", "date"),
        (f"{is_like(f'{DATE}[T ]{TIME}{OFFSET}')} AND {day} AND {clock}", "instant"),
        (f"{is_like(MOMENT)} AND {day} AND {clock}", "datetime"),
        (f"{is_like(TIME)} AND {clock}", "time"),
    ]
    whens = " ".join(
        f"WHEN {rule} THEN {CANDIDATES.index(kind) if kind in CANDIDATES else kind}" for rule, kind in rules
    )
    return f"CAST(CASE {whens} ELSE {CANDIDATES.index(TEXT)} END AS UTINYINT)"


def _shortest(stored: Stored) -> Stored:
    """Short floats by the shortest text that means them: as doubles they would all have nine decimals and more."""
    if stored.type != "FLOAT":
        return stored
    cell = stored.cell
    whole = f"abs({cell}) < 1e15 AND trunc({cell}) = {cell}"
    text = f"(CASE WHEN {whole} THEN CAST(CAST({cell} AS BIGINT) AS VARCHAR) ELSE CAST({cell} AS VARCHAR) END)"
    return Stored(f"(CASE WHEN isnan({cell}) THEN NULL ELSE {text} END)", "VARCHAR", None)
