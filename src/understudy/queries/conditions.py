"""Conditions as they are read: a text, or a predicate as an object, for one schema.

    read        text → predicate, strictly; if that fails, by the forgiving spelling
    label       a bare word that names no column is a label
    check       its columns take part, its constants fit them

A text is tried in its second spelling if any of the three fails in its first.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from understudy.errors import Refused, SchemaError
from understudy.queries.spelling import normalise_question, suggest_quotes
from understudy.schema import Column, Schema, parse_predicate
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

MAX_REFUSAL_CHARACTERS = 500
"""Characters of a refusal."""

PredicatePass = Callable[[Predicate, Schema], Predicate]


def label_bare_words(predicate: Predicate, names: Container[str]) -> Predicate:
    """The predicate with every compared word that names no column as a label.

    >>> from understudy.schema import Categorical
    >>> schema = Schema(columns=(Categorical(name="sex", values=("F", "M")),))
    >>> print(label_bare_words(parse_predicate("sex = F"), schema))
    sex = 'F'
    """
    match predicate:
        case And(left, right):
            return And(label_bare_words(left, names), label_bare_words(right, names))
        case Or(left, right):
            return Or(label_bare_words(left, names), label_bare_words(right, names))
        case IfThen(left, right):
            return IfThen(label_bare_words(left, names), label_bare_words(right, names))
        case Not(part):
            return Not(label_bare_words(part, names))
        case ColumnComparison(name, operator, ColumnName(word)) if word not in names:
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


READING_PASSES: tuple[PredicatePass, ...] = (label_bare_words, check_columns)
"""What follows the parser, for each spelling that is tried."""


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


def _apply_reading_passes(predicate: Predicate, schema: Schema) -> Predicate:
    for apply_pass in READING_PASSES:
        predicate = apply_pass(predicate, schema)
    return predicate


def _without_learned_type(column: Column) -> Column:
    # A schema with a type that is still to be learned lets every constant pass; in a
    # release it is known, so a constant of another type is a mistake.
    learned = tuple(part for part in column.learned if part != "type")
    return replace(column, learned=learned)


def join_conditions(one: Predicate | None, other: Predicate | None) -> Predicate | None:
    """Both conditions as one."""
    if one is None or other is None:
        return one or other
    return And(one, other)


def shorten_refusal(refused: Refused) -> Refused:
    """The refusal in one line of ordinary length: it names columns and constants of a
    stranger's text.

    >>> len(str(shorten_refusal(Refused("x" * 9000 + ". Nothing was spent")))) < 600
    True
    """
    message = " ".join(str(refused).split())
    if len(message) <= MAX_REFUSAL_CHARACTERS:
        return Refused(message)
    return Refused(f"{message[:MAX_REFUSAL_CHARACTERS]}… Nothing was spent")
