"""Simplifies a comparison of columns by the rules of the schema.

On cells such a comparison is often undecided: two dates in one bin may be in either
order. A rule may decide it. With `admitted <= discharged`, `admitted > discharged` is
true of no row, `admitted <= discharged` of every row that has both dates, and
`admitted >= discharged` is `admitted = discharged`.

A comparison is a set of sides: `<=` is {<, =}. If a rule forbids X together with the
sides B, then where X holds a comparison S is the same as S without B, and elsewhere it
stays S.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce

from understudy.schema.columns.lattice import Lattice
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    IsMissing,
    LinearComparison,
    Not,
    Operator,
    Or,
    Predicate,
)
from understudy.schema.schema import Schema

_SIDES_BY_OPERATOR = {
    Operator.EQUAL: frozenset("="),
    Operator.UNEQUAL: frozenset("<>"),
    Operator.LESS: frozenset("<"),
    Operator.AT_MOST: frozenset("<="),
    Operator.MORE: frozenset(">"),
    Operator.AT_LEAST: frozenset(">="),
}
_OPERATOR_BY_SIDES = {sides: operator for operator, sides in _SIDES_BY_OPERATOR.items()}
_MIRRORED_SIDES = str.maketrans("<>", "><")

ComparisonForm = tuple[tuple[tuple[Fraction, ColumnName], ...], Fraction]
"""A sum of columns and the constant it is compared with. The first column by name has
weight 1, so that one comparison has one form whichever way round it is written.
"""

SideSet = frozenset[str]
"""On which sides of the constant the sum may lie: any of <, = and >."""


def simplify_by_rules(predicate: Predicate, schema: Schema) -> Predicate:
    """A condition that holds for the same rows, of those that break no rule, and is
    undecided on fewer cells.

    >>> from understudy.schema import Schema, parse_predicate
    >>> bounded = "{type: integer, min: 0, max: 9}"
    >>> text = f"columns: {{a: {bounded}, b: {bounded}}}\\nrules: [a <= b]"
    >>> print(simplify_by_rules(parse_predicate("b <= a"), Schema.parse(text)))
    a = b
    """
    for forbidden in schema.forbidden_predicates:
        if not forbidden.columns <= predicate.columns:
            continue
        conjuncts = list(_split_conjuncts(forbidden))
        for conjunct in conjuncts:
            broken = _normalise_comparison(conjunct, schema)
            if broken is not None:
                others = [other for other in conjuncts if other is not conjunct]
                predicate = _apply_rule(predicate, schema, broken, others)
    return predicate


def _split_conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, And):
        yield from _split_conjuncts(predicate.left)
        yield from _split_conjuncts(predicate.right)
    else:
        yield predicate


def _normalise_comparison(
    predicate: Predicate, schema: Schema
) -> tuple[ComparisonForm, SideSet] | None:
    """The form and the sides of a comparison of lattice columns; None for any other
    predicate. Comparisons of labels are decided on every cell.
    """
    terms: tuple[tuple[Fraction, ColumnName], ...]
    match predicate:
        case ColumnComparison(left, operator, ColumnName() as right):
            terms = ((Fraction(1), left), (Fraction(-1), right))
            constant = Fraction(0)
        case LinearComparison(terms, operator, constant):
            pass
        case _:
            return None
    if not all(isinstance(schema[name.column], Lattice) for _, name in terms):
        return None
    ordered = sorted(terms, key=lambda term: term[1].column)
    first_weight = ordered[0][0]
    scaled = tuple((weight / first_weight, name) for weight, name in ordered)
    sides = _SIDES_BY_OPERATOR[operator]
    # Dividing by a negative weight turns the comparison round.
    if first_weight < 0:
        sides = frozenset(side.translate(_MIRRORED_SIDES) for side in sides)
    return (scaled, constant / first_weight), sides


def _apply_rule(
    predicate: Predicate,
    schema: Schema,
    broken: tuple[ComparisonForm, SideSet],
    conditions: list[Predicate],
) -> Predicate:
    """The predicate, given that no row is on the broken sides where all conditions
    hold.
    """
    match predicate:
        case And(left, right) | Or(left, right) | IfThen(left, right):
            return type(predicate)(
                _apply_rule(left, schema, broken, conditions),
                _apply_rule(right, schema, broken, conditions),
            )
        case Not(part):
            return Not(_apply_rule(part, schema, broken, conditions))
    normalised = _normalise_comparison(predicate, schema)
    broken_form, broken_sides = broken
    if normalised is None or normalised[0] != broken_form:
        return predicate
    form, sides = normalised
    open_sides = frozenset("<=>") - broken_sides
    left_over = sides & open_sides
    # The rule changes nothing unless it removes a side, or leaves only sides asked for.
    if left_over == sides != open_sides:
        return predicate
    simplified = _predicate_of_sides(form, left_over, open_sides)
    if not conditions:
        return simplified
    holds = _conjoin_all(conditions)
    return Or(And(predicate, Not(holds)), And(simplified, holds))


def _predicate_of_sides(
    form: ComparisonForm, sides: SideSet, open_sides: SideSet
) -> Predicate:
    """A predicate that is true of rows on these sides, if no row is on others than the
    open ones.
    """
    terms, constant = form
    # A comparison is false of a missing value, even where all sides are meant.
    valued = _conjoin_all(IsMissing(name, negated=True) for _, name in terms)
    if sides == open_sides:
        return valued
    if not sides:
        return And(valued, Not(valued))
    operator = _OPERATOR_BY_SIDES[sides]
    if len(terms) == 2 and terms[1][0] == -1 and not constant:
        return ColumnComparison(terms[0][1], operator, terms[1][1])
    added_first = sorted(terms, key=lambda term: term[0] < 0)
    return LinearComparison(tuple(added_first), operator, constant)


def _conjoin_all(predicates: Iterable[Predicate]) -> Predicate:
    return reduce(And, predicates)
