"""Sides: what rules leave of a comparison of columns with one another.

On cells such a comparison is often open: two dates in one bin may be in either order.
Where a rule says which, nothing is open: with `admitted <= discharged`, `admitted >
discharged` is true of no row, `admitted <= discharged` of every row that has both, and
`admitted >= discharged` is `admitted = discharged`. Rows with X and a comparison S do
not exist where a rule forbids X and B; so where X holds, S is what it shares with the
sides that B leaves, and nothing changes elsewhere.
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
"""What is compared with what, written in one way whichever way round it was said: a sum
whose first column weighs 1, and a constant.
"""

SideSet = frozenset[str]


def simplify_by_rules(predicate: Predicate, schema: Schema) -> Predicate:
    """A condition that holds for the same rows, of those that break no rule, and is
    open on fewer cells.

    >>> from understudy.schema import Schema, parse_predicate
    >>> page = "columns: {a: {type: integer, min: 0, max: 9}, b: {type: integer, min: 0, max: 9}}\\nrules: [a <= b]"
    >>> print(simplify_by_rules(parse_predicate("b <= a"), Schema.parse(page)))
    a = b
    """
    for said in (
        p for p in schema.forbidden_predicates if p.columns <= predicate.columns
    ):
        conjuncts = list(_split_conjuncts(said))
        for one in conjuncts:
            if form := _normalise_comparison(one, schema):
                predicate = _apply_rule(
                    predicate,
                    schema,
                    form,
                    [other for other in conjuncts if other is not one],
                )
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
    """A comparison of columns with bins; labels are open on no cell."""
    terms: tuple[tuple[Fraction, ColumnName], ...]
    match predicate:
        case ColumnComparison(left, operator, ColumnName() as right):
            terms, constant = ((Fraction(1), left), (Fraction(-1), right)), Fraction(0)
        case LinearComparison(terms, operator, constant):
            pass
        case _:
            return None
    if not all(isinstance(schema[name.column], Lattice) for _, name in terms):
        return None
    ordered = sorted(terms, key=lambda term: term[1].column)
    first, sides = ordered[0][0], _SIDES_BY_OPERATOR[operator]
    scaled = tuple((weight / first, name) for weight, name in ordered)
    return (scaled, constant / first), (
        sides
        if first > 0
        else frozenset(side.translate(_MIRRORED_SIDES) for side in sides)
    )


def _apply_rule(
    predicate: Predicate,
    schema: Schema,
    broken: tuple[ComparisonForm, SideSet],
    where: list[Predicate],
) -> Predicate:
    """The condition, given that no row is on these sides where all those conditions
    hold.
    """
    match predicate:
        case And(left, right) | Or(left, right) | IfThen(left, right):
            return type(predicate)(
                _apply_rule(left, schema, broken, where),
                _apply_rule(right, schema, broken, where),
            )
        case Not(part):
            return Not(_apply_rule(part, schema, broken, where))
    found = _normalise_comparison(predicate, schema)
    if found is None or found[0] != broken[0]:
        return predicate
    form, sides = found
    open_sides = frozenset("<=>") - broken[1]
    left_over = sides & open_sides
    if left_over == sides != open_sides:
        return predicate
    there = _predicate_of_sides(form, left_over, open_sides)
    if not where:
        return there
    condition = _conjoin_all(where)
    return Or(And(predicate, Not(condition)), And(there, condition))


def _predicate_of_sides(
    form: ComparisonForm, sides: SideSet, open_sides: SideSet
) -> Predicate:
    terms, constant = form
    valued = _conjoin_all(IsMissing(name, negated=True) for _, name in terms)
    if sides == open_sides:
        return valued
    if not sides:
        return And(valued, Not(valued))
    if len(terms) == 2 and terms[1][0] == -1 and not constant:
        return ColumnComparison(terms[0][1], _OPERATOR_BY_SIDES[sides], terms[1][1])
    return LinearComparison(
        tuple(sorted(terms, key=lambda term: term[0] < 0)),
        _OPERATOR_BY_SIDES[sides],
        constant,
    )


def _conjoin_all(predicates: Iterable[Predicate]) -> Predicate:
    return reduce(And, predicates)
