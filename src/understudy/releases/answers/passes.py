"""The passes over a question's predicate, in order, from a text to what is evaluated on
cells.

    read        text → predicate, strictly; if that fails, by the forgiving spelling
    label       a bare word that names no column is a label
    check       its columns take part in the release, its constants fit them
    simplify    what the schema's rules decide is decided
    open        what was learned of a column may hide what is asked for: those cells
                are open

The first three belong together: a text is tried in its second spelling if any of them
fails in its first. The last two are about cells, on which a predicate may be open: the
first of them narrows what is open, the second widens it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from understudy.errors import Refused, SchemaError
from understudy.measurements import Clique
from understudy.releases.answers.beyond_domain import open_beyond_domain
from understudy.releases.answers.spelling import normalise_question, suggest_quotes
from understudy.schema import Column, Schema, parse_predicate
from understudy.schema.columns.codec import Codec
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    Literal,
    Not,
    Or,
    Predicate,
)
from understudy.schema.predicates.comparable import check_predicate
from understudy.schema.simplify import simplify_by_rules

PredicatePass = Callable[[Predicate, Schema], Predicate]


@dataclass(frozen=True)
class CellPredicate:
    """A predicate, and the codecs of the cells that it is evaluated on."""

    predicate: Predicate
    codecs: Mapping[str, Codec]


CellPass = Callable[[CellPredicate, Schema], CellPredicate]


def label_bare_words(predicate: Predicate, schema: Schema) -> Predicate:
    """The predicate with every compared word that names no column as a label.

    >>> from understudy.schema import Categorical
    >>> schema = Schema(columns=(Categorical(name="sex", values=("F", "M")),))
    >>> print(label_bare_words(parse_predicate("sex = F"), schema))
    sex = 'F'
    """
    match predicate:
        case And(left, right):
            return And(label_bare_words(left, schema), label_bare_words(right, schema))
        case Or(left, right):
            return Or(label_bare_words(left, schema), label_bare_words(right, schema))
        case IfThen(left, right):
            return IfThen(
                label_bare_words(left, schema), label_bare_words(right, schema)
            )
        case Not(part):
            return Not(label_bare_words(part, schema))
        case ColumnComparison(name, operator, ColumnName(word)) if word not in schema:
            return ColumnComparison(name, operator, Literal(word))
    return predicate


def check_columns(predicate: Predicate, schema: Schema) -> Predicate:
    """The same predicate; SchemaError if a column takes no part in the release, or a
    constant does not fit its column.
    """
    left_out = {column.name for column in schema.columns}.difference(schema)
    for name in sorted(predicate.columns & left_out):
        raise SchemaError(
            f'column "{name}" takes no part in this release, so nothing can be said of'
            " it"
        )
    check_predicate(
        predicate, {name: _without_learned_type(schema[name]) for name in schema}
    )
    return predicate


def simplify_on_cells(state: CellPredicate, schema: Schema) -> CellPredicate:
    """What the rules leave of a predicate; it holds for the same rows and is open on
    fewer cells.
    """
    return replace(state, predicate=simplify_by_rules(state.predicate, schema))


def open_on_cells(state: CellPredicate, schema: Schema) -> CellPredicate:
    """The predicate and its codecs, open on cells that may hold what was asked for
    beyond what was learned of a column.
    """
    del schema  # every pass has the same form
    predicate, codecs = open_beyond_domain(state.predicate, state.codecs)
    return CellPredicate(predicate, codecs)


READING_PASSES: tuple[PredicatePass, ...] = (label_bare_words, check_columns)
"""What follows the parser, for each spelling that is tried."""

CELL_PASSES: tuple[CellPass, ...] = (simplify_on_cells, open_on_cells)
"""What follows reading, before a predicate is evaluated on cells."""


def read_predicate(text: str, schema: Schema) -> Predicate:
    """The predicate in a text: as it stands or, if that makes no sense, as people write
    it.
    """
    try:
        return _apply_reading_passes(parse_predicate(text), schema)
    except SchemaError as error:
        strict = str(error)
    try:
        return _apply_reading_passes(
            parse_predicate(normalise_question(text, schema)), schema
        )
    except SchemaError as error:
        forgiving = str(error)
    # A place ("character 6") is one of the text as it was asked, not of its other
    # spelling, so an error that names a place is taken from the strict reading.
    reason = strict if "character" in forgiving else forgiving
    raise Refused(
        f"The question cannot be read: {reason}{suggest_quotes(text, schema)}"
    )


def check_predicate_columns(predicate: Predicate, schema: Schema) -> Predicate:
    """A predicate that came as an object, after the same passes as one that was read."""
    try:
        return _apply_reading_passes(predicate, schema)
    except SchemaError as error:
        raise Refused(f"The question cannot be answered: {error}") from None


def apply_cell_passes(
    predicate: Predicate, schema: Schema, clique: Clique
) -> list[CellPredicate]:
    """The predicate after each of the passes on cells, in their order."""
    state = CellPredicate(predicate, {name: schema.codecs[name] for name in clique})
    states = []
    for apply_pass in CELL_PASSES:
        state = apply_pass(state, schema)
        states.append(state)
    return states


def _apply_reading_passes(predicate: Predicate, schema: Schema) -> Predicate:
    for apply_pass in READING_PASSES:
        predicate = apply_pass(predicate, schema)
    return predicate


def _without_learned_type(column: Column) -> Column:
    # A schema with a type that is still to be learned lets every constant pass; in a
    # release it is known, so a constant of another type is a mistake.
    learned = tuple(part for part in column.learned if part != "type")
    return replace(column, learned=learned)
