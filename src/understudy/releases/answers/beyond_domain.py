"""What a question reaches beyond what was learned of a column.

A list of labels that was bought shows those that many rows share, and bounds that were bought leave the outermost rows beyond them:
those rows were counted as `other`, and at the nearest bound. A question about such a label, or beyond such a bound, is about some of the
rows there, and nobody knows how many. `reaching` rewrites it so that its truth on these cells is open (schema/predicates/on_cells.py: MAYBE), and its
interval holds them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from understudy.schema import Categorical
from understudy.schema.columns.base import Outside
from understudy.schema.columns.codec import Codec, Edges
from understudy.schema.columns.discrete import Lattice
from understudy.schema.predicates.ast import And, Comparison, IfThen, In, Literal, Name, Not, Operator, Or, Predicate
from understudy.schema.predicates.comparable import spot, unit_of

_FURTHEST = 1 << 60


def reaching(predicate: Predicate, codecs: Mapping[str, Codec]) -> tuple[Predicate, dict[str, Codec]]:
    """A predicate and codecs in which cells that may hold what the predicate asks for are open.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> from understudy.schema.predicates.on_cells import cells
    >>> age = codec_of(Integer(name="age", min=0, max=2, nullable=False, learned=("bounds",)))
    >>> opened, wider = reaching(parse_predicate("age > 60"), {"age": age})
    >>> cells(opened, wider, ("age",)).tolist()
    [0, 0, 1]
    """
    constants: dict[str, list[Literal]] = {}
    for name, literal in _constants(predicate):
        constants.setdefault(name.column, []).append(literal)
    wider = {name: _widened(codec, constants.get(name, ())) for name, codec in codecs.items()}
    return _opened(predicate, codecs), wider


def _constants(predicate: Predicate) -> Iterator[tuple[Name, Literal]]:
    match predicate:
        case And(left, right) | Or(left, right) | IfThen(left, right):
            yield from _constants(left)
            yield from _constants(right)
        case Not(part):
            yield from _constants(part)
        case Comparison(name, _, Literal() as literal):
            yield name, literal
        case In(name, values):
            yield from ((name, literal) for literal in values)


def _widened(codec: Codec, literals: Sequence[Literal]) -> Codec:
    """Outermost bins as far out as the question goes, and a step further: what lies there was counted in them."""
    column = codec.column
    if not isinstance(column, Lattice) or not isinstance(codec.bins, Edges):
        return codec
    if "bounds" not in column.learned or column.outside is not Outside.CLIP:
        return codec
    edges = list(codec.bins.edges)
    for literal in literals:
        found = spot(column, literal)
        if not isinstance(found, Fraction):
            continue
        place = min(max(found / unit_of(column), Fraction(-_FURTHEST)), Fraction(_FURTHEST))
        if place < codec.bins.edges[0]:
            edges[0] = min(edges[0], math.floor(place) - 1)
        elif place > codec.bins.edges[-1] - 1:
            edges[-1] = max(edges[-1], math.ceil(place) + 2)
    return replace(codec, bins=Edges(tuple(edges)))


def _opened(predicate: Predicate, codecs: Mapping[str, Codec]) -> Predicate:
    match predicate:
        case And(left, right):
            return And(_opened(left, codecs), _opened(right, codecs))
        case Or(left, right):
            return Or(_opened(left, codecs), _opened(right, codecs))
        case IfThen(left, right):
            return IfThen(_opened(left, codecs), _opened(right, codecs))
        case Not(part):
            return Not(_opened(part, codecs))
        case Comparison(name, Operator.EQUAL | Operator.UNEQUAL as operator, Literal() as literal):
            return _with_other(predicate, codecs[name.column], (literal,), operator is Operator.UNEQUAL)
        case In(name, values, negated):
            return _with_other(predicate, codecs[name.column], values, negated)
    return predicate


def _with_other(predicate: Predicate, codec: Codec, literals: Sequence[Literal], negated: bool) -> Predicate:
    """A test for labels, open on `other` where one of them may be there."""
    column = codec.column
    if not isinstance(column, Categorical) or column.other is None or "values" not in column.learned:
        return predicate
    listed = (*(column.values or ()), column.other)
    if all(literal.value in listed for literal in literals):
        return predicate
    name = Name(column.name)
    # A number is no label, so of a comparison with one nothing is known; together with `other` it is open there and false elsewhere.
    some = And(
        Comparison(name, Operator.EQUAL, Literal(column.other)),
        Comparison(name, Operator.EQUAL, Literal(Fraction(0))),
    )
    return And(predicate, Not(some)) if negated else Or(predicate, some)
