"""The owner's draft of a schema: types, and what to drop, from a look at the rows.

A draft is made on the private side and costs nothing, because nothing of it leaves by
itself: it becomes public when its owner reads it and uses it. It holds no value and no
bound of the rows unless the owner says that they are public knowledge. A handful of odd
cells does not change it: a type needs 99 of 100 cells. Whether cells may be empty is
left to the owner, who knows it without looking.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from understudy.errors import SchemaError
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Datetime,
    Identifier,
    Integer,
    Real,
    Schema,
    Text,
    Time,
    UndeclaredColumn,
    guess_identifier,
)
from understudy.schema.columns.from_dtype import DEFAULT_FLOAT_DECIMALS, column_of_type
from understudy.schema.columns.number_spelling import NumberSpelling
from understudy.schema.columns.storage_types import storage_to_declare
from understudy.schema.columns.temporal import Date
from understudy.tables.drafting.cell_summary import (
    MAX_DRAFT_ODD_SHARE,
    NUMBER_MISSING_CODES,
    CellSummary,
    count_ballots,
    count_table_ballots,
    elect_draft_type,
    summarise_cells,
)
from understudy.tables.drafting.draft_domain import (
    DEFAULT_RARE_BELOW,
    MAX_DRAFT_VALUES,
    with_domain,
)
from understudy.tables.drafting.moment_draft import with_resolution
from understudy.tables.drafting.number_draft import (
    KEY_NOTE,
    draft_number,
    propose_number_facts,
)
from understudy.tables.drafting.repeating_ids import propose_unit
from understudy.tables.drafting.spelling import describe_spelling
from understudy.tables.drafting.weekday_draft import propose_weekdays
from understudy.tables.reading.moment_votes import (
    AMBIGUOUS_KINDS,
    LOCAL_KINDS,
    choose_spelling,
)
from understudy.tables.reading.number_votes import (
    STEP_CANDIDATES,
    has_trailing_zeros,
    has_whole_point,
)
from understudy.tables.reading.parse import (
    DOUBLE_TYPES,
    TEXT_TYPES,
    texts_sql,
)
from understudy.tables.reading.type_votes import (
    EMPTY_CANDIDATE,
    NUMBER_CANDIDATES,
    TEXT_CANDIDATE,
    TYPE_CANDIDATES,
    kind_of_vote,
)
from understudy.tables.sources.header import INDEX_NOTE
from understudy.tables.sources.source import TableSource
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers

MIN_LABELLED_CELLS = 20
"""Filled cells from which texts that nearly all differ are taken for a key."""

FLAG_VOTES = frozenset({"truth", "boolean", "zero", "bit", EMPTY_CANDIDATE})
"""Cells that say yes or no, which identify nobody whatever their column's name says."""

SPAN_NOTE = "lengths of time, in seconds"

BOOLEAN_WORD_PAIRS = (
    ("true", "false"),
    ("yes", "no"),
    ("t", "f"),
    ("y", "n"),
    ("1", "0"),
)


def draft_schema(
    source: TableSource,
    *,
    public_domains: bool = False,
    rare_below: int = DEFAULT_RARE_BELOW,
) -> Schema:
    """A schema for the owner to edit; with `public_domains` also the values and bounds
    that at least `rare_below` rows of the table hold.
    """
    columns = [
        propose_weekdays(source, propose_number_facts(source, column))
        for column in _draft_columns(source)
    ]
    if public_domains:
        columns = [
            with_domain(source, column, rare_below=rare_below) for column in columns
        ]
    return Schema(columns=tuple(columns))


def draft_observed_schema(source: TableSource) -> Schema:
    """What the rows show and nothing else, with all values and bounds: for comparisons
    inside, never for an owner.
    """
    columns = [
        # Also values that a single row holds, which is why no owner gets to see this
        # schema.
        with_domain(source, column, rare_below=1)
        for column in _draft_columns(source)
    ]
    return Schema(columns=tuple(columns))


def _draft_columns(source: TableSource) -> list[Column]:
    voting = [name for name in source.names if _is_voted_on(source, name)]
    ballots = count_table_ballots(source, voting)
    return [
        _with_storage_type(
            _draft_column(source, name, ballots.get(name)), source.dtypes.get(name)
        )
        for name in source.names
    ]


def _is_voted_on(source: TableSource, name: str) -> bool:
    """Whether the cells of a column say what type it has."""
    if name == source.index_name or _names_identifier(source, name):
        return False
    stored = source.stored_column(name).type
    if stored in (*TEXT_TYPES, *DOUBLE_TYPES):
        return True
    return isinstance(column_of_type(name, stored), Integer)


def _names_identifier(source: TableSource, name: str) -> bool:
    """Whether a column's name says that it identifies people, and its cells do not
    contradict it: `phone` may say who has one.
    """
    if not guess_identifier(name):
        return False
    votes = set(map(kind_of_vote, count_ballots(source, name)))
    return not votes <= FLAG_VOTES or votes <= {EMPTY_CANDIDATE}


def _with_storage_type(column: Column, stated: str | None) -> Column:
    """The column with the storage type that its owner is to declare, where that is none
    that a cell decides.
    """
    return replace(column, dtype=storage_to_declare(column, stated))


def _draft_column(
    source: TableSource, name: str, ballots: dict[str, int] | None
) -> Column:
    if name == source.index_name:
        return Identifier(name=name, note=INDEX_NOTE)
    if _names_identifier(source, name):
        return propose_unit(source, Identifier(name=name, note="its name says so"))
    stored = source.stored_column(name)
    if stored.type in TEXT_TYPES:
        return _draft_from_cells(source, name, ballots)
    column = column_of_type(name, stored.type, dtype=source.dtypes.get(name))
    if isinstance(column, Integer) or stored.type in DOUBLE_TYPES:
        note = SPAN_NOTE if _holds_spans(source, name) else ""
        assert isinstance(column, Integer | Real)
        column = replace(_draft_from_numbers(source, column, ballots), note=note)
    if isinstance(column, Datetime):
        return with_resolution(source, _in_zone(column, stored.zone))
    if isinstance(column, Time):
        return with_resolution(source, column)
    if isinstance(column, Integer | Real):
        return draft_number(source, column, summarise_cells(source, name))
    return column


def _holds_spans(source: TableSource, name: str) -> bool:
    """Whether a frame stores lengths of time, which are read as seconds."""
    dtype = source.dtypes.get(name, "").lower()
    return dtype.startswith(("timedelta", "duration", "interval"))


def _draft_from_numbers(
    source: TableSource, column: Integer | Real, ballots: dict[str, int] | None
) -> Integer | Real:
    """Stored numbers with the step that nearly all of them show; whole numbers turn to
    floats as soon as a frame holds an empty cell.
    """
    cast = count_ballots(source, column.name) if ballots is None else ballots
    elected = elect_draft_type(cast)
    # Zeros and ones elect truth, but a frame of numbers means numbers by them.
    step = Fraction(1) if elected == "boolean" else STEP_CANDIDATES.get(elected or "")
    if step is None:
        return column
    if step < 1:
        return replace(column, step=step) if isinstance(column, Real) else column
    number = column if isinstance(column, Integer) else Integer(name=column.name)
    number = replace(number, step=int(step))
    return replace(number, min=0, max=1) if _are_bits(cast) else number


def _are_bits(ballots: dict[str, int]) -> bool:
    """Whether all numbers are 0 or 1, of whose bounds nothing is left to learn."""
    return set(map(kind_of_vote, ballots)) <= {"zero", "bit", EMPTY_CANDIDATE}


def _draft_from_cells(
    source: TableSource, name: str, ballots: dict[str, int] | None
) -> Column:
    """The type that nearly all cells can be read as."""
    look = summarise_cells(source, name)
    cast = count_ballots(source, name) if ballots is None else ballots
    elected = elect_draft_type(cast)
    if elected == TEXT_CANDIDATE and any(map(_is_number_type, map(kind_of_vote, cast))):
        # Numbers, perhaps, with a letter where there is none.
        numeric = elect_draft_type(count_ballots(source, name, NUMBER_MISSING_CODES))
        if _is_number_type(numeric):
            look = summarise_cells(source, name, NUMBER_MISSING_CODES)
            elected = numeric
    if elected is None:
        return UndeclaredColumn(name=name, note="every cell is empty")
    if elected == "boolean":
        return _draft_boolean(source, name, look)
    if elected == TEXT_CANDIDATE or elected in AMBIGUOUS_KINDS:
        column = _labels_or_text(name, look)
        return replace(column, note=describe_spelling(source, name) or column.note)
    ballots = count_ballots(source, name, look.missing)
    if _is_number_type(elected):
        return _draft_number(source, name, elected, look, ballots)
    return _draft_time(source, name, elected, look, _standing_votes(ballots))


def _standing_votes(ballots: dict[str, int]) -> dict[str, int]:
    """The votes that are more than a few, in the order of the candidates."""
    least = MAX_DRAFT_ODD_SHARE * sum(ballots.values())
    return {
        name: ballots[name] for name in TYPE_CANDIDATES if ballots.get(name, 0) > least
    }


def _is_number_type(elected: str | None) -> bool:
    return elected in NUMBER_CANDIDATES


def _draft_number(
    source: TableSource,
    name: str,
    elected: str,
    look: CellSummary,
    ballots: dict[str, int],
) -> Column:
    marks = source.numbers or NumberSpelling()
    step = STEP_CANDIDATES.get(elected, Fraction(1, 10**DEFAULT_FLOAT_DECIMALS))
    common: dict[str, Any] = {"name": name, "missing": look.missing}
    common["thousands"] = marks.thousands
    if step < 1:
        # That decimals are all written is what a schema means without saying so.
        standing = _standing_votes(ballots)
        zeros = None if has_trailing_zeros(elected, standing) else False
        real = Real(**common, step=step, decimal=marks.decimal, trailing_zeros=zeros)
        return real.with_whole_point(has_whole_point(ballots))
    number = Integer(**common, step=int(step))
    number = number.with_whole_point(has_whole_point(ballots))
    if _are_bits(ballots):
        return replace(number, min=0, max=1)
    return draft_number(source, number, look)


def _draft_time(
    source: TableSource,
    name: str,
    elected: str,
    look: CellSummary,
    votes: dict[str, int],
) -> Column:
    common: dict[str, Any] = {"name": name, "missing": look.missing}
    if elected == "date":
        return Date(**common)
    common["format"] = choose_spelling(elected, votes, is_resolution_clear=True).format
    if LOCAL_KINDS.get(elected) == "date":
        return Date(**common)
    if elected == "time":
        return with_resolution(source, Time(**common))
    # Cells may differ in their offsets; only UTC orders all of them.
    if elected == "instant":
        note = "cells say how far they are from UTC"
        return with_resolution(source, Datetime(**common, zone="UTC", note=note))
    return with_resolution(source, Datetime(**common))


def _labels_or_text(name: str, look: CellSummary) -> Column:
    """Labels where values come again; a key where nearly all differ and are short; free
    text where they are long and mostly differ.
    """
    # Prose has spaces and some length; keys have neither.
    different = look.distinct / look.filled
    wordy = look.spaced > 0.5 and look.length >= 15
    short = not wordy and look.length < 50
    if look.filled >= MIN_LABELLED_CELLS and different >= 0.9 and short:
        return Identifier(name=name, note=KEY_NOTE)
    many = wordy or look.distinct > MAX_DRAFT_VALUES
    if look.length >= 50 or (many and different > 0.5):
        return Text(name=name, note="long or mostly different texts")
    return Categorical(name=name, missing=look.missing)


def _draft_boolean(
    source: TableSource, name: str, look: CellSummary
) -> Boolean | Integer:
    """Truth in the words the column uses, the most frequent first, so that a release
    uses them too; 0 and 1 are numbers.
    """
    counts = _count_truth_words(source, name)
    used = sorted(
        (pair for pair in BOOLEAN_WORD_PAIRS if counts.keys() & set(pair)),
        key=lambda pair: -sum(counts[word][1] for word in pair if word in counts),
    )
    if used == [BOOLEAN_WORD_PAIRS[-1]]:
        return Integer(name=name, missing=look.missing, min=0, max=1)
    words = [_spell_pair(pair, counts) for pair in used]
    # true and false are what a schema takes without being told.
    if words[0] == BOOLEAN_WORD_PAIRS[0]:
        return Boolean(name=name, missing=look.missing)
    yes, no = (tuple(side) for side in zip(*words, strict=True))
    return Boolean(name=name, missing=look.missing, true=yes, false=no)


def _spell_pair(
    pair: tuple[str, str], counts: dict[str, tuple[str, int]]
) -> tuple[str, str]:
    """Two words as the column spells them; one that it lacks as the other one."""
    yes, no = pair
    spelled = counts.get(yes, counts.get(no, (yes, 0)))[0]
    # "Yes" stands beside "No", and YES beside NO.
    convert = str.upper if spelled.isupper() else str.title
    like = str.lower if spelled.islower() else convert
    return counts.get(yes, (like(yes), 0))[0], counts.get(no, (like(no), 0))[0]


def _count_truth_words(source: TableSource, name: str) -> dict[str, tuple[str, int]]:
    """The words for yes and no in lower case, each with its most frequent spelling and
    the number of cells that hold it in any.
    """
    layers = QueryLayers()
    text = texts_sql(layers, source.stored_column(name))[0]
    cells = layers.query(source.relation, [f"trim({text}) AS t"])
    words = quoting.text_literals(word for pair in BOOLEAN_WORD_PAIRS for word in pair)
    rows = source.engine.run(
        f"SELECT lower(t), mode(t), count(*) FROM ({cells}) WHERE lower(t) IN ({words})"
        " GROUP BY lower(t)",
        doing=f'looking at column "{name}"',
    )
    return {word: (spelled, int(count)) for word, spelled, count in rows}


def _in_zone(column: Datetime, zone: str | None) -> Datetime:
    """The column in the zone its source shows it in, where that is one with a name."""
    if column.zone is None or zone is None:
        return column
    try:
        # Names that the time zone database lacks, such as offsets, are refused by the
        # schema.
        return replace(column, zone=zone)
    except SchemaError:
        return column
