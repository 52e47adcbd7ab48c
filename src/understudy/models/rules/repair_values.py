"""Settling: values inside their bins that keep every rule, also those that are finer
than the bins.

A model knows cells. Two dates in the same bin may still be in the wrong order once they
are drawn, and parts hardly ever add up to their total by chance. So rows are drawn as
usual, and those that break a rule are settled, in this order:

1. drawn again inside their bins: what is then accepted has exactly the distribution of
   the bins, given the rules;
2. moved inside their bins, no farther than needed: a sum that is off by 7 moves its
   columns by 7 in all;
3. given the values of a row that keeps every rule, in all columns that have rules.

The last always works where a batch has a single good row. Every step but the third
leaves each value in its bin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.models.arrays import Flags
from understudy.models.rules.domains import OutOfSteps
from understudy.models.rules.row_finder import (
    MAX_REPLACEMENT_STEPS,
    RowFinder,
    all_rules,
)
from understudy.models.rules.structural_zeros import (
    MAX_SEARCHED_ROWS,
    draw_donors,
)
from understudy.schema import BinEdges, DecodedCells, Lattice, Predicate, Schema
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    LinearComparison,
    Literal,
    Not,
    Operator,
    Or,
)
from understudy.schema.predicates.comparable import (
    family_of_column,
    scale_step_of,
    scale_value_of,
)
from understudy.schema.predicates.on_values import has_value, true_rows
from understudy.schema.predicates.rules import affirmation_of

# Rounds of drawing again inside the bins.
REDRAW_ROUNDS = 12

# Rounds of moving values inside their bins.
MOVE_ROUNDS = 40

# Forbidden predicates up to which all rounds are made. Beyond, their number shrinks
# in proportion, so that the work stays the same.
MAX_FULL_ROUNDS_PREDICATES = 100

DecodedRows = dict[str, DecodedCells]
RedrawValues = Callable[[str, NDArray[np.int64]], NDArray[np.int64]]
"""New lattice indices of a column, inside their bins, for some rows."""


def broken_rows(schema: Schema, rows: Mapping[str, DecodedCells], count: int) -> Flags:
    """Which decoded rows break a rule of the schema."""
    bad = np.zeros(count, np.bool_)
    for predicate in schema.forbidden_predicates:
        bad |= true_rows(predicate, schema.codecs, rows)
    return bad


def repair_broken_values(
    schema: Schema,
    codes: Mapping[str, NDArray[np.integer]],
    rows: Mapping[str, DecodedCells],
    rng: Generator,
    *,
    redraw: RedrawValues,
    pinned: Collection[str] = (),
    inside: bool = False,
    searches: bool = True,
) -> DecodedRows:
    """The same rows with every rule kept; `pinned` columns keep their values.

    With `inside`, values are moved inside their bins alone, and rows for which that is
    not enough stay as they are. Without `searches`, no row is looked for beyond those
    that there are, and it is refused where none of them keeps the rules.
    """
    made = dict(rows)
    count = len(next(iter(made.values())).index) if made else 0
    bad = broken_rows(schema, made, count)
    if not bad.any():
        return made
    ruled = sorted(set().union(*(p.columns for p in schema.forbidden_predicates)))
    for name in ruled:
        made[name] = DecodedCells(made[name].index.copy(), made[name].state.copy())
    free = [
        name
        for name in ruled
        if name not in pinned and isinstance(schema.codecs[name].bins, BinEdges)
    ]
    for moves in _repair_rounds(len(schema.forbidden_predicates)):
        here = np.flatnonzero(bad)
        part = {
            name: DecodedCells(made[name].index[here], made[name].state[here])
            for name in ruled
        }
        if moves is not RepairMove.SHIFT:
            _redraw_values(part, free, here, redraw)
        if moves is not RepairMove.REDRAW:
            _shift_values(schema, part, free, codes, here, rng)
        for name in free:
            made[name].index[here] = part[name].index
        bad[here] = broken_rows(schema, part, here.size)
        if not bad.any():
            return made
    if not inside:
        _replace_broken_rows(schema, made, ruled, bad, rng, searches=searches)
    return made


class RepairMove(Enum):
    """What a round of repair does with the values of broken rows."""

    REDRAW = "draws them again inside their bins"
    SHIFT = "moves them inside their bins"
    BOTH = "draws them again, then moves them"


def _repair_rounds(predicates: int) -> list[RepairMove]:
    """What each round does: fewer rounds where there are hundreds of rules to look at."""
    share = min(1.0, MAX_FULL_ROUNDS_PREDICATES / max(predicates, 1))
    redraws, moves = math.ceil(REDRAW_ROUNDS * share), math.ceil(MOVE_ROUNDS * share)
    shifts = [
        RepairMove.BOTH if turn % 8 == 0 else RepairMove.SHIFT
        for turn in range(REDRAW_ROUNDS, REDRAW_ROUNDS + moves)
    ]
    return [*[RepairMove.REDRAW] * redraws, *shifts]


def _redraw_values(
    rows: DecodedRows,
    free: Sequence[str],
    here: NDArray[np.int64],
    redraw: RedrawValues,
) -> None:
    for name in free:
        fresh = redraw(name, here)
        cells = rows[name]
        cells.index[:] = np.where(has_value(cells), fresh, cells.index)


def _shift_values(
    schema: Schema,
    rows: DecodedRows,
    free: Sequence[str],
    codes: Mapping[str, NDArray[np.integer]],
    here: NDArray[np.int64],
    rng: Generator,
) -> None:
    """Move values inside their bins, one rule after the other, in a random order."""
    box = {name: _bin_limits(schema, name, codes[name][here]) for name in free}
    state = _RepairState(schema, rows, box, rng)
    everywhere = np.ones(here.size, np.bool_)
    for predicate in rng.permutation(np.array(schema.forbidden_predicates, object)):
        _falsify_predicate(predicate, state, everywhere)


def _replace_broken_rows(
    schema: Schema,
    made: DecodedRows,
    ruled: list[str],
    bad: Flags,
    rng: Generator,
    *,
    searches: bool,
) -> None:
    """Give broken rows the values of one that keeps every rule: of these rows, or else
    of such as are found by search, as like them as can be.
    """
    if bad.all() and searches:
        _search_values(schema, made, bad)
    here = np.flatnonzero(bad)
    source = draw_donors([], bad, here, rng)
    if np.any(source < 0):
        raise Refused(
            f"{', '.join(ruled)}: no row was found that keeps every rule of the schema."
            " Loosen its rules"
        )
    for name in ruled:
        made[name].index[here] = made[name].index[source]
        made[name].state[here] = made[name].state[source]


def _search_values(schema: Schema, made: DecodedRows, bad: Flags) -> None:
    """Replace broken rows by rows that keep every rule, until the steps of the search
    are used up; at least by the row that was found before anything was spent.
    """
    try:
        finder = RowFinder(schema, all_rules(schema))
    except OutOfSteps:
        return
    finder.refill(MAX_REPLACEMENT_STEPS)
    for row in range(min(bad.size, MAX_SEARCHED_ROWS)):
        found = finder.find_like(made, row)
        if found is not None:
            _put_row(made, row, found)
            bad[row] = False
        if finder.is_exhausted:
            break
    if bad.all():
        found = finder.find_row()
        if found is not None:
            _put_row(made, 0, found)
            bad[0] = False


def _put_row(made: DecodedRows, row: int, found: Mapping[str, DecodedCells]) -> None:
    for name, cells in found.items():
        made[name].index[row], made[name].state[row] = cells.index[0], cells.state[0]


def _bin_limits(
    schema: Schema, name: str, codes: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last lattice index of each row's bin; of a missing one, anything."""
    bins = schema.codecs[name].bins
    assert isinstance(bins, BinEdges)
    edges = np.array(bins.edges, np.int64)
    place = np.minimum(codes.astype(np.int64), len(bins) - 1)
    return edges[place], edges[place + 1] - 1


class _RepairState:
    """Rows under repair: their values, and the bins these may move in."""

    def __init__(
        self,
        schema: Schema,
        rows: DecodedRows,
        box: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]],
        rng: Generator,
    ) -> None:
        self.schema, self.rows, self.box, self.rng = schema, rows, box, rng


def _falsify_predicate(predicate: Predicate, work: _RepairState, which: Flags) -> None:
    """Make a predicate false for the rows it holds for, by moving numbers; labels stay
    as they are.
    """
    which = which & true_rows(predicate, work.schema.codecs, work.rows)
    if not which.any():
        return
    match predicate:
        case And(left, right):  # one of both is enough: another one each time
            first, second = (left, right) if work.rng.random() < 0.5 else (right, left)
            _falsify_predicate(first, work, which)
            _falsify_predicate(
                second,
                work,
                which & true_rows(predicate, work.schema.codecs, work.rows),
            )
        case Or(left, right):
            _falsify_predicate(left, work, which)
            _falsify_predicate(right, work, which)
        case Not() | IfThen():
            # Without missing values the opposite of the opposite is the thing itself;
            # with them nothing here could be moved.
            _falsify_predicate(affirmation_of(predicate), work, which)
        case LinearComparison() | ColumnComparison():
            found = _as_sum(predicate, work.schema)
            if found is not None:
                _move_indices(*found, work, which)


def _as_sum(
    predicate: LinearComparison | ColumnComparison, schema: Schema
) -> tuple[list[tuple[Fraction, str]], Operator, Fraction] | None:
    """A comparison of numbers, or of dates or times, as weights of lattice indices;
    None where there is nothing to move.
    """
    if isinstance(predicate, LinearComparison):
        terms, constant = (
            [(weight, name.column) for weight, name in predicate.terms],
            predicate.constant,
        )
    else:
        terms, constant = [(Fraction(1), predicate.left.column)], Fraction(0)
        if isinstance(predicate.right, ColumnName):
            terms.append((Fraction(-1), predicate.right.column))
        else:
            assert isinstance(predicate.right, Literal)
            found = scale_value_of(schema[predicate.left.column], predicate.right)
            if not isinstance(found, Fraction):
                return None
            constant = found
    columns = [schema[name] for _, name in terms]
    if len({family_of_column(column) for column in columns}) > 1 or not all(
        isinstance(c, Lattice) for c in columns
    ):
        return None
    steps = [
        weight * scale_step_of(c)
        for (weight, _), c in zip(terms, columns, strict=True)
        if isinstance(c, Lattice)
    ]
    return (
        [(step, name) for step, (_, name) in zip(steps, terms, strict=True)],
        predicate.operator,
        constant,
    )


def _move_indices(
    terms: list[tuple[Fraction, str]],
    operator: Operator,
    constant: Fraction,
    work: _RepairState,
    which: Flags,
) -> None:
    """Move indices inside their bins until Σ step · index no longer compares so with
    the constant, no farther than needed.
    """
    unit = math.lcm(constant.denominator, *(step.denominator for step, _ in terms))
    factors = {name: int(step * unit) for step, name in terms}
    bound = int(constant * unit)
    shuffled = work.rng.permutation([name for _, name in terms])
    order = [name for name in shuffled if name in work.box]
    # Coarse steps first, so that fine ones can fill what is left.
    order.sort(key=lambda name: -abs(factors[name]))
    at = np.flatnonzero(which)
    largest = sum(
        abs(f) * int(np.abs(work.rows[name].index).max(initial=0))
        for name, f in factors.items()
    )
    kind = np.int64 if largest + abs(bound) < 2**61 else object
    total = sum(
        (f * work.rows[name].index[at].astype(kind) for name, f in factors.items()),
        np.zeros((), kind),
    )
    excess = np.asarray(total - bound)
    if operator is Operator.EQUAL:  # to be unequal, one step anywhere will do
        wanted = np.zeros(at.size, kind) + work.rng.choice([-1, 1], at.size)
    elif operator is Operator.UNEQUAL:
        wanted = -excess
    elif operator in (Operator.LESS, Operator.AT_MOST):  # it is too small
        wanted = np.maximum(-excess + (operator is Operator.AT_MOST), 0)
    else:
        wanted = np.minimum(-excess - (operator is Operator.AT_LEAST), 0)
    for name in order:
        factor = factors[name]
        index = work.rows[name].index[at]
        low, high = (end[at] for end in work.box[name])
        step = _whole_steps(wanted, factor, exact=operator is Operator.UNEQUAL)
        moved = np.minimum(np.maximum(index.astype(kind) + step, low), high)
        wanted = wanted - (moved - index) * factor
        if operator is not Operator.UNEQUAL:  # more than enough is enough
            wanted = np.where(
                np.sign(wanted.astype(np.float64)) * _wanted_sign(operator) < 0,
                0,
                wanted,
            )
        work.rows[name].index[at] = moved.astype(np.int64)


def _wanted_sign(operator: Operator) -> int:
    if operator is Operator.EQUAL:
        return 0
    return 1 if operator in (Operator.LESS, Operator.AT_MOST) else -1


def _whole_steps(wanted: NDArray[Any], factor: int, *, exact: bool) -> NDArray[Any]:
    """Whole steps of a column that change a sum by what is wanted: not beyond it where
    it is to be exact, else at least that.
    """
    size = np.abs(wanted)
    steps = size // abs(factor) if exact else -(-size // abs(factor))
    return np.asarray(np.where(wanted < 0, -steps, steps) * (1 if factor > 0 else -1))
