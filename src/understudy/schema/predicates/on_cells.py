"""What a predicate means on the cells of a marginal, and on rows of codes.

Truth has three values here (kleene.py). It is sound: what is TRUE of a cell holds for
every value in the cell. It is not always sharp: `age < 3 or age >= 3` is MAYBE on a bin
that holds 3, because its two sides are judged apart. What a predicate means on values
is in on_row.py and on_values.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.schema.columns.axes import CliqueAxes, RowAxes, TableAxes
from understudy.schema.columns.codec import Codec
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    In,
    InCombinations,
    IsMissing,
    LinearComparison,
    Literal,
    Not,
    Operator,
    Or,
    Predicate,
)
from understudy.schema.predicates.column_truth import (
    compare_with_constant,
    truth_of_membership,
    truth_of_missing,
)
from understudy.schema.predicates.joint_truth import (
    compare_columns,
    truth_of_combinations,
    truth_of_sum,
)
from understudy.schema.predicates.kleene import KLEENE_FALSE, KLEENE_TRUE, TruthArray


def truth_of_cells(
    predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]
) -> TruthArray:
    """FALSE, MAYBE or TRUE for every cell of a clique that holds the predicate's
    columns.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9)))}
    >>> truth_of_cells(parse_predicate("age > 4"), codecs, ("age",)).tolist()
    [0, 1, 2, 0]
    """
    truth = _evaluate_predicate(predicate, codecs, CliqueAxes(clique))
    # Columns of the clique that the predicate does not name still have an axis of 1.
    return np.broadcast_to(truth, tuple(codecs[name].size for name in clique)).copy()


def surely_true_rows(
    predicate: Predicate,
    codecs: Mapping[str, Codec],
    codes: Mapping[str, NDArray[np.integer]],
) -> NDArray[np.bool_]:
    """The rows of codes for which the predicate holds whatever their values are inside
    their bins. No table of all cells is made.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9)))}
    >>> surely_true_rows(parse_predicate("age > 4"), codecs, {"age": np.array([0, 1, 2])}).tolist()
    [False, False, True]
    """
    return np.equal(_evaluate_predicate(predicate, codecs, RowAxes(codes)), KLEENE_TRUE)


def surely_true_cells(
    predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]
) -> NDArray[np.bool_]:
    """The cells in which the predicate holds for every value."""
    return np.equal(truth_of_cells(predicate, codecs, clique), KLEENE_TRUE)


def possibly_true_cells(
    predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]
) -> NDArray[np.bool_]:
    """The cells outside which the predicate holds for no value."""
    return np.not_equal(truth_of_cells(predicate, codecs, clique), KLEENE_FALSE)


def _evaluate_predicate(
    predicate: Predicate, codecs: Mapping[str, Codec], axes: TableAxes
) -> TruthArray:
    match predicate:
        case And(left, right):
            return np.minimum(
                _evaluate_predicate(left, codecs, axes),
                _evaluate_predicate(right, codecs, axes),
            )
        case Or(left, right):
            return np.maximum(
                _evaluate_predicate(left, codecs, axes),
                _evaluate_predicate(right, codecs, axes),
            )
        case Not(part):
            opposite = KLEENE_TRUE - _evaluate_predicate(part, codecs, axes)
            return opposite.astype(np.int8)
        case IfThen(premise, conclusion):
            return _evaluate_predicate(Or(Not(premise), conclusion), codecs, axes)
        case InCombinations():
            return truth_of_combinations(predicate, codecs, axes)
        case LinearComparison():
            return truth_of_sum(predicate, codecs, axes)
        case ColumnComparison(left_name, operator, ColumnName() as right_name):
            return compare_columns(left_name, operator, right_name, codecs, axes)
    return _evaluate_column_test(predicate, codecs, axes)


def _evaluate_column_test(
    predicate: Predicate, codecs: Mapping[str, Codec], axes: TableAxes
) -> TruthArray:
    """A test of one column, laid along the axis of that column."""
    match predicate:
        case IsMissing(name, negated):
            truth = truth_of_missing(codecs[name.column], negated=negated)
        case In(name, literals, negated):
            truth = truth_of_membership(codecs[name.column], literals, negated=negated)
        case ColumnComparison(name, operator, Literal() as literal):
            truth = _truth_of_comparison(codecs[name.column], operator, literal)
        case _:
            raise TypeError(f"{type(predicate).__name__} is no predicate")
    return axes.align_table([name.column], truth)


def _truth_of_comparison(
    codec: Codec, operator: Operator, literal: Literal
) -> TruthArray:
    if operator.needs_order:
        return compare_with_constant(codec, operator, literal)
    # `=` is a list of one. Unlike an order, it is sharp for labels without order too.
    negated = operator is Operator.UNEQUAL
    return truth_of_membership(codec, (literal,), negated=negated)
