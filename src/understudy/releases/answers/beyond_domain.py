"""Opens a predicate where it reaches beyond what was learned of a column.

A learned list of labels holds those that many rows share, and learned bounds leave the
outermost rows beyond them: those rows were counted as `other`, and at the nearest
bound. A question about such a label, or beyond such a bound, is about some of the rows
there, and how many is unknown. `open_beyond_domain` rewrites it so that its truth on
these cells is open (schema/predicates/on_cells.py: MAYBE), and its interval holds all
of their rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from understudy.schema import Categorical
from understudy.schema.columns.base import OutOfBoundsPolicy
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.schema.columns.lattice import Lattice
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    In,
    Literal,
    Not,
    Operator,
    Or,
    Predicate,
)
from understudy.schema.predicates.comparable import scale_step_of, scale_value_of

_MAX_LATTICE_PLACE = Fraction(1 << 60)
"""Constants are cut to this place, so that edges stay within 64 bits."""


def open_beyond_domain(
    predicate: Predicate, codecs: Mapping[str, Codec]
) -> tuple[Predicate, dict[str, Codec]]:
    """A predicate and codecs in which cells that may hold what the predicate asks for
    are open.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> from understudy.schema.predicates.on_cells import truth_of_cells
    >>> age = Integer(name="age", min=0, max=2, nullable=False, learned=("bounds",))
    >>> codecs = {"age": codec_of(age)}
    >>> opened, wider = open_beyond_domain(parse_predicate("age > 60"), codecs)
    >>> truth_of_cells(opened, wider, ("age",)).tolist()
    [0, 0, 1]
    """
    constants: dict[str, list[Literal]] = {}
    for name, literal in _compared_literals(predicate):
        constants.setdefault(name.column, []).append(literal)
    wider = {
        name: _widen_bins(codec, constants.get(name, ()))
        for name, codec in codecs.items()
    }
    return _open_label_tests(predicate, codecs), wider


def _compared_literals(predicate: Predicate) -> Iterator[tuple[ColumnName, Literal]]:
    match predicate:
        case And(left, right) | Or(left, right) | IfThen(left, right):
            yield from _compared_literals(left)
            yield from _compared_literals(right)
        case Not(part):
            yield from _compared_literals(part)
        case ColumnComparison(name, _, Literal() as literal):
            yield name, literal
        case In(name, values):
            yield from ((name, literal) for literal in values)


def _widen_bins(codec: Codec, literals: Sequence[Literal]) -> Codec:
    """Outermost bins as far out as the question goes, and a step further: what lies
    there was counted in them.
    """
    column = codec.column
    if not isinstance(column, Lattice) or not isinstance(codec.bins, BinEdges):
        return codec
    if "bounds" not in column.learned or column.outside is not OutOfBoundsPolicy.CLIP:
        return codec
    edges = list(codec.bins.edges)
    for literal in literals:
        value = scale_value_of(column, literal)
        if not isinstance(value, Fraction):
            continue
        place = value / scale_step_of(column)
        place = max(-_MAX_LATTICE_PLACE, min(place, _MAX_LATTICE_PLACE))
        # A step further than the constant: `>` and `>=` then differ on the bin.
        if place < codec.bins.edges[0]:
            edges[0] = min(edges[0], math.floor(place) - 1)
        elif place > codec.bins.edges[-1] - 1:
            edges[-1] = max(edges[-1], math.ceil(place) + 2)
    return replace(codec, bins=BinEdges(tuple(edges)))


def _open_label_tests(predicate: Predicate, codecs: Mapping[str, Codec]) -> Predicate:
    match predicate:
        case And(left, right):
            return And(
                _open_label_tests(left, codecs), _open_label_tests(right, codecs)
            )
        case Or(left, right):
            return Or(_open_label_tests(left, codecs), _open_label_tests(right, codecs))
        case IfThen(left, right):
            return IfThen(
                _open_label_tests(left, codecs), _open_label_tests(right, codecs)
            )
        case Not(part):
            return Not(_open_label_tests(part, codecs))
        case ColumnComparison(
            name, Operator.EQUAL | Operator.UNEQUAL as operator, Literal() as literal
        ):
            return _with_other(
                predicate, codecs[name.column], (literal,), operator is Operator.UNEQUAL
            )
        case In(name, values, negated):
            return _with_other(predicate, codecs[name.column], values, negated)
    return predicate


def _with_other(
    predicate: Predicate, codec: Codec, literals: Sequence[Literal], negated: bool
) -> Predicate:
    """A test for labels, open on `other` where one of them may be there."""
    column = codec.column
    if (
        not isinstance(column, Categorical)
        or column.other is None
        or "values" not in column.learned
    ):
        return predicate
    listed = (*(column.values or ()), column.other)
    if all(literal.value in listed for literal in literals):
        return predicate
    name = ColumnName(column.name)
    # A number is no label, so the truth of a comparison with one is unknown; together
    # with `other` it is open there and false elsewhere.
    open_on_other = And(
        ColumnComparison(name, Operator.EQUAL, Literal(column.other)),
        ColumnComparison(name, Operator.EQUAL, Literal(Fraction(0))),
    )
    if negated:
        return And(predicate, Not(open_on_other))
    return Or(predicate, open_on_other)
