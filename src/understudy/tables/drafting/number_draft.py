"""The draft of a column of numbers: a key, a missing code, a natural limit, or plain
numbers. PRIVATE: exact counts, for the owner's draft alone.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from understudy.schema import Categorical, Column, Date, Identifier, Integer, Real
from understudy.schema.identifier_names import names_person
from understudy.schema.name_words import split_name_words
from understudy.tables.drafting.cell_summary import (
    MAX_BOOLEAN_ODD_SHARE,
    MIN_STEP_CELLS,
    NUMBER_MISSING_CODES,
    CellSummary,
    count_ballots,
    elect_draft_type,
)
from understudy.tables.drafting.natural_limits import (
    NumberRange,
    find_limits,
    names_time,
)
from understudy.tables.drafting.numeric_codes import find_numeric_codes
from understudy.tables.drafting.repeating_ids import propose_unit
from understudy.tables.reading import encode
from understudy.tables.reading.number_votes import STEP_CANDIDATES
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import TEXT_TYPES

MIN_KEY_CELLS, MIN_KEY_DISTINCT = 100, Fraction(999, 1000)
"""Filled cells, and the part of them that must differ, for numbers to be a key."""

MIN_LONG_KEY = 10**6
"""Numbers from here on that nearly all differ are keys even where they leave gaps, if
all have the same number of digits: amounts have fewer and more.
"""

STEP_MULTIPLES = (25, 5, 3, 2)
"""How many times the step that cells voted for a scale may be divided into, and that
again: grants in steps of 250, salaries in steps of 10,000, durations in quarters of an
hour, twenties. The widest comes first.
"""

MIN_NUMBERED_PEOPLE = 20
"""Different numbers from which a column called after people numbers them."""

MIN_COMPACT_DATES = 20
"""Numbers that must all be dates for that to be no chance."""

FIRST_COMPACT_DATE, LAST_COMPACT_DATE = 1800_01_01, 2100_12_31

MIN_CLOCK_VALUES = 30
"""Different numbers that must all be clock times for that to be no chance: of numbers
up to 2400 every second or third is none.
"""

LAST_CLOCK_MINUTE, LAST_CLOCK_NUMBER = 2359, 2400
"""The last minute of a day as such a number, and midnight where it ends the day."""

CLOCK_WORDS = frozenset({
    "time", "hhmm", "uhrzeit", "zeit", "heure", "horaire", "hora", "ora", "orario",
    "tijd", "horario",
})  # fmt: skip

CODE_WORDS = frozenset({
    "zip", "zipcode", "postcode", "postal", "postleitzahl", "plz", "cep", "fips",
    "naics", "isco", "nace",
})  # fmt: skip
"""Names of numbers that are codes of places and trades: nothing lies between two."""

MIN_ROWS_PER_CODE = 100
"""Rows of a code, in the mean, from which a list of codes can be learned."""

LABEL_CODE_NOTE = "numbers that are codes: as labels, none is made up between two"
NUMBER_CODE_NOTE = (
    "numbers that are codes, of few rows each: codes that nobody has are made up"
    " between them; `use: false` leaves the column out"
)
KEY_NOTE = "nearly every cell is different"
COMPACT_DATE_FORMAT = "%Y%m%d"
COMPACT_DATE_NOTE = (
    "cells look like dates without dashes; as 2024-02-29 they would be dates"
)
CLOCK_NOTE = "cells look like hours and minutes; as 05:17 they would be times of day"


def draft_number(
    source: TableSource, column: Integer | Real, look: CellSummary
) -> Column:
    """The column, or an identifier if it numbers people or rows."""
    if isinstance(column, Real):
        return column
    if _numbers_people(column.name, look):
        return propose_unit(
            source, Identifier(name=column.name, note="it names people")
        )
    cells = measure_range(source, column)
    if cells is None:
        return column
    if _are_compact_dates(source, column, cells):
        return _draft_compact_dates(source, column)
    if _is_key(column.name, cells, look):
        return Identifier(name=column.name, note=KEY_NOTE)
    if CODE_WORDS & set(split_name_words(column.name)):
        return _draft_codes(source, column, look)
    return column


def propose_number_facts(source: TableSource, column: Column) -> Column:
    """A column of numbers with the codes that seem to mean missing and the natural
    limits of its name, for its owner to accept.
    """
    if not isinstance(column, Integer | Real) or column.note == COMPACT_DATE_NOTE:
        return column
    # Of 0 and 1 everything is known.
    if column.is_closed:
        return column
    codes = find_numeric_codes(source, column)
    if codes:
        column = replace(column, missing=(*column.missing, *codes))
    if codes and isinstance(column, Integer):
        column = _with_coarser_step(source, column)
    if isinstance(column, Integer):
        column = _with_multiple_step(source, column)
    cells = measure_range(source, column)
    if cells is None:
        return column
    if isinstance(column, Integer) and _are_clock_numbers(source, column, cells):
        last = max(int(cells.high), LAST_CLOCK_MINUTE)
        return replace(column, min=0, max=last, note=CLOCK_NOTE)
    return _with_limits(column, cells)


def _draft_compact_dates(source: TableSource, column: Integer) -> Column:
    """Dates in a format without dashes; numbers that are stored as such have none."""
    if source.stored_column(column.name).type in TEXT_TYPES:
        return Date(
            name=column.name, missing=column.missing, format=COMPACT_DATE_FORMAT
        )
    return replace(column, note=COMPACT_DATE_NOTE)


def _draft_codes(source: TableSource, column: Integer, look: CellSummary) -> Column:
    """Codes as labels where enough rows hold each; codes that are stored as numbers
    stay numbers.
    """
    is_text = source.stored_column(column.name).type in TEXT_TYPES
    if is_text and look.filled >= MIN_ROWS_PER_CODE * look.distinct:
        return Categorical(name=column.name, missing=look.missing, note=LABEL_CODE_NOTE)
    return replace(column, note=NUMBER_CODE_NOTE)


def _numbers_people(name: str, look: CellSummary) -> bool:
    return names_person(name) and look.distinct >= MIN_NUMBERED_PEOPLE


def measure_range(source: TableSource, column: Integer | Real) -> NumberRange | None:
    """What the numbers of a column span; None where it has none."""
    index, cells = _query_index(source, column)
    ((low, high, distinct),) = source.engine.run(
        # An estimate is enough: it is compared with round limits, and costs little
        # memory.
        f"SELECT min({index}), max({index}), approx_count_distinct({index}) FROM {cells}",
        doing=f'looking at column "{column.name}"',
    )
    if low is None:
        return None
    step = Fraction(column.step)
    return NumberRange(float(low * step), float(high * step), int(distinct))


def _query_index(source: TableSource, column: Integer | Real) -> tuple[str, str]:
    """A column's lattice indices: their name, and the query that has them."""
    layers = QueryLayers()
    index = encode.index_sql(layers, column, source.stored_column(column.name))
    return "v", f"({layers.query(source.relation, [f'{index} AS v'])})"


def _with_coarser_step(source: TableSource, column: Integer) -> Integer:
    """The column with the step of its numbers alone: 999 among tens is a code."""
    spelled = [text for code in column.missing for text in (code, f"{code}.0")]
    codes = tuple(dict.fromkeys((*NUMBER_MISSING_CODES, *spelled)))
    elected = elect_draft_type(count_ballots(source, column.name, codes))
    step = STEP_CANDIDATES.get(elected or "", Fraction(1))
    return replace(column, step=max(int(step), column.step))


def _with_multiple_step(source: TableSource, column: Integer) -> Integer:
    """The column with a multiple of its step where its numbers are multiples of that.
    Most columns, those without a coarse step, are spared a pass over their cells.
    """
    if column.step == 1:
        return column
    index, cells = _query_index(source, column)
    kept = ", ".join(f"count(*) FILTER ({index} % {k} = 0)" for k in STEP_MULTIPLES)
    ((filled, others, *counts),) = source.engine.run(
        f"SELECT count({index}), count(*) FILTER ({index} <> 0), {kept} FROM {cells}",
        doing=f'looking at column "{column.name}"',
    )
    if others < MIN_STEP_CELLS:
        return column
    for times, count in zip(STEP_MULTIPLES, counts, strict=True):
        if filled - count <= MAX_BOOLEAN_ODD_SHARE * filled:
            # 10,000 is ten times a thousand: five times, and then twice.
            wider = replace(column, step=column.step * times)
            return _with_multiple_step(source, wider)
    return column


def _is_key(name: str, cells: NumberRange, look: CellSummary) -> bool:
    """Numbers of which nearly none comes twice and that run through, or are long:
    numbers of things, not amounts and not points in time.
    """
    if look.filled < MIN_KEY_CELLS or look.distinct < MIN_KEY_DISTINCT * look.filled:
        return False
    if names_time(name):
        return False
    runs_through = cells.high - cells.low + 1 <= 2 * look.filled
    same_length = len(str(int(cells.low))) == len(str(int(cells.high)))
    return runs_through or (cells.low >= MIN_LONG_KEY and same_length)


def _are_compact_dates(
    source: TableSource, column: Integer, cells: NumberRange
) -> bool:
    """Whether all numbers are dates such as 20240229."""
    # The range decides first: most columns are spared a pass over their cells.
    is_within = cells.low >= FIRST_COMPACT_DATE and cells.high <= LAST_COMPACT_DATE
    if not is_within or column.step != 1:
        return False
    index, query = _query_index(source, column)
    # `try`: a number that is no date gives NULL and not an error that quotes it.
    day = f"try_strptime(CAST({index} AS VARCHAR), '%Y%m%d')"
    ((filled, days),) = source.engine.run(
        f"SELECT count({index}), count({day}) FROM {query}",
        doing=f'looking at column "{column.name}"',
    )
    return bool(filled == days >= MIN_COMPACT_DATES)


def _are_clock_numbers(
    source: TableSource, column: Integer, cells: NumberRange
) -> bool:
    """Whether all numbers of a column that is called a time are such as 517 and 2359."""
    if not CLOCK_WORDS & set(split_name_words(column.name)):
        return False
    is_within = cells.low >= 0 and 100 < cells.high <= LAST_CLOCK_NUMBER
    if not is_within or cells.distinct < MIN_CLOCK_VALUES:
        return False
    index, query = _query_index(source, column)
    minutes = f"{index} * {column.step} % 100"
    ((odd,),) = source.engine.run(
        f"SELECT count(*) FILTER ({minutes} >= 60) FROM {query}",
        doing=f'looking at column "{column.name}"',
    )
    return bool(odd == 0)


def _with_limits(column: Integer | Real, cells: NumberRange) -> Integer | Real:
    """The column with the natural limits that its name says and its cells keep."""
    limits = find_limits(column.name, cells)
    if limits is None:
        return column
    note = "; ".join(filter(None, (column.note, limits.note)))
    step = Fraction(column.step)
    # On the lattice: every cell lies on it, so none is cut off by rounding down.
    low = limits.low // step * step
    high = None if limits.high is None else limits.high // step * step
    if isinstance(column, Real):
        return replace(column, min=low, max=high, note=note)
    last = None if high is None else int(high)
    return replace(column, min=int(low), max=last, note=note)
