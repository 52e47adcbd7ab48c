"""Marginals: sensitivity by brute force, noise on every cell, prices that add up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kit.curator.contexts import context_of, neighbouring, no_noise
from kit.curator.listed import Listed
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.sensitivity import marginal_sensitivity
from understudy.curator.mechanisms import marginals
from understudy.curator.mechanisms.marginals import measure_marginals
from understudy.errors import Refused
from understudy.measurements import Centring, Identity, Partition
from understudy.schema import (
    Boolean,
    Categorical,
    Identifier,
    Schema,
    Unit,
    parse_predicate,
)

SCHEMA = Schema(
    columns=(
        Categorical(name="colour", values=("red", "green", "blue"), nullable=False),
        Boolean(name="smoker", nullable=False),
    )
)
UNIVERSE = [
    {"colour": c, "smoker": s} for c in ("red", "green", "blue") for s in (False, True)
]
PAIR = ("colour", "smoker")
MAPS = {
    "counts": (Identity(3), Identity(2)),
    "coarse": (Partition((0, 0, 1)), Identity(2)),
    "centred": (Centring(3), Centring(2)),
    "mixed": (Centring(3), Partition((0, 0))),
}


def exact(rows, maps):
    context = context_of(rows, SCHEMA, noise=no_noise)
    return measure_marginals(
        context, SCHEMA, [PAIR], amount=context.payments.amount_left, maps=[maps]
    )[0].values


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("maps", MAPS.values(), ids=MAPS)
def test_no_neighbour_moves_a_marginal_by_more_than_its_price_assumes(maps, relation):
    """Linear answers: the move depends only on which rows differ, so datasets of up to
    2 rows (and all pairs of rows) are all there is.
    """
    claim = marginal_sensitivity(maps, relation)
    reached = [Fraction(0), Fraction(0)]
    for here, there in neighbouring(UNIVERSE, 3, relation):
        moved = (exact(there, maps) - exact(here, maps)).ravel()
        reached = [
            max(reached[0], Fraction(int(np.abs(moved).sum()))),
            max(reached[1], Fraction(int(moved @ moved))),
        ]
    assert reached == [claim.l1, claim.l2_squared]


@pytest.mark.parametrize("relation", Neighbours)
def test_every_dataset_of_six_rows_stays_within_the_claim(relation):
    claim = marginal_sensitivity(MAPS["counts"], relation)
    tables = {}
    universe = UNIVERSE[:3]
    for here, there in neighbouring(universe, 6, relation):
        for rows in (here, there):
            key = tuple(sorted(str(r) for r in rows))
            if key not in tables:
                tables[key] = Listed(rows, SCHEMA).counts([PAIR])[0]
        moved = (
            tables[tuple(sorted(map(str, here)))]
            - tables[tuple(sorted(map(str, there)))]
        )
        assert np.abs(moved).sum() <= claim.l1
        assert (moved**2).sum() <= claim.l2_squared


@pytest.mark.parametrize("accounting", Accounting)
def test_the_price_is_paid_and_never_exceeded(accounting):
    context = context_of(UNIVERSE, SCHEMA, accounting=accounting)
    before = context.payments.amount_left
    measured = measure_marginals(
        context, SCHEMA, [("colour",), PAIR, ()], amount=before / 3, weights=[1, 2, 1]
    )
    paid = before - context.payments.amount_left
    assert paid == sum((m.cost.amount for m in measured), Fraction(0))
    assert before / 3 * Fraction(999, 1000) <= paid <= before / 3


@pytest.mark.parametrize("accounting", Accounting)
def test_every_cell_is_noised_the_empty_ones_too(accounting):
    """All rows sit in one cell. Noise must look the same on the others: its spread is
    compared cell by cell at 1e-6.
    """
    context = context_of(
        [UNIVERSE[0]] * 5,
        SCHEMA,
        accounting=accounting,
        epsilon=2500 if accounting is Accounting.PURE else 100,
    )
    repeats, share = 4000, context.payments.amount_left / 50
    noise = np.array(
        [
            m.values
            for _ in range(40)
            for m in measure_marginals(context, SCHEMA, [PAIR] * 100, amount=share)
        ]
    )
    noise[:, 0, 0] -= 5
    spread = noise.reshape(repeats, -1).var(axis=0, ddof=1)
    low, high = stats.chi2.ppf([1e-7, 1 - 1e-7], repeats - 1) / (repeats - 1)
    wide = 1.25  # the laws are not normal: their kurtosis widens the interval
    assert (spread > 0).all()
    assert spread.max() / spread.min() < (high * wide) / (low / wide)


def test_structural_zeros_get_neither_noise_nor_rows():
    schema = Schema(
        columns=SCHEMA.columns,
        impossible=(parse_predicate("colour = 'red' and smoker = true"),),
    )
    context = context_of([{"colour": "red", "smoker": True}] * 100, schema)
    values = measure_marginals(
        context, schema, [PAIR], amount=context.payments.amount_left
    )[0].values
    assert values[0, 1] == 0
    assert (np.delete(values.ravel(), 1) != 0).any()


@pytest.mark.parametrize("relation", Neighbours)
def test_a_row_that_moves_into_a_structural_zero_is_paid_for(relation):
    """Under replace a row may leave a counted cell for one that is not counted: even a
    single coarse bin then moves.
    """
    schema = Schema(
        columns=SCHEMA.columns,
        impossible=(parse_predicate("colour = 'red' and smoker = true"),),
    )
    maps = (Partition((0, 0, 0)), Partition((0, 0)))
    values, scales = [], []
    for row in UNIVERSE[:2]:
        context = context_of(
            [row],
            schema,
            neighbours=relation,
            accounting=Accounting.PURE,
            delta=0,
            noise=no_noise,
        )
        found = measure_marginals(
            context, schema, [PAIR], amount=Fraction(1), maps=[maps]
        )[0]
        values.append(int(found.values.sum()))
        scales.append(found.scale)
    assert abs(values[0] - values[1]) == 1 <= scales[0]


def test_an_exchanged_id_may_have_no_row_that_counts():
    """Under replace the number of rows is agreed on for rows, never for ids: even the
    total then has a price and noise.
    """
    by_id = Schema(
        columns=(Identifier(name="pid"), *SCHEMA.columns), unit=Unit(id="pid")
    )
    context = context_of(
        [{**UNIVERSE[0], "pid": 1}], by_id, neighbours=Neighbours.REPLACE
    )
    total = measure_marginals(
        context, by_id, [()], amount=context.payments.amount_left / 2
    )[0]
    assert total.scale > 0
    assert total.cost.amount > 0


def test_many_unlike_prices_add_up_to_a_number_that_can_be_written():
    context = context_of(
        [], SCHEMA, noise=no_noise
    )  # what is drawn is no part of it, and each price has a law of its own
    measured = measure_marginals(
        context,
        SCHEMA,
        [("colour",)] * 400,
        amount=context.payments.amount_left,
        weights=[1 + i / 7 for i in range(400)],
    )
    total = sum((m.cost for m in measured), Cost(Accounting.GDP, Fraction(0)))
    assert len(str(total.amount)) < 1000


def test_the_law_follows_the_accounting():
    laws = {
        c: measure_marginals(
            context_of([], SCHEMA, accounting=c), SCHEMA, [()], amount=Fraction(1, 100)
        )[0].law
        for c in Accounting
    }
    assert laws == {
        Accounting.PURE: Law.DISCRETE_LAPLACE,
        Accounting.GDP: Law.ROUNDED_GAUSSIAN,
        Accounting.ZCDP: Law.DISCRETE_GAUSSIAN,
    }


def test_more_cells_than_one_answer_may_have_are_answered_one_after_the_other(
    monkeypatch,
):
    """A ledger holds so many bytes of an answer: what did not fit was paid for and
    lost.
    """
    monkeypatch.setattr(marginals, "MAX_ANSWER_CELLS", 6)
    rows = [{"colour": "red", "smoker": True}] * 5
    context = context_of(rows, SCHEMA, noise=no_noise)
    cliques = [PAIR, ("colour",), ("smoker",), ()]
    found = measure_marginals(
        context, SCHEMA, cliques, amount=context.payments.amount_left
    )
    assert [m.clique for m in found] == cliques
    assert [int(m.values.sum()) for m in found] == [5, 5, 5, 5]
    assert len(context.payments.charges) == 2  # 6 cells, then 3 + 2 + 1
    assert sum(cost.amount for _, cost in context.payments.charges) == sum(
        m.cost.amount for m in found
    )


def test_a_marginal_too_large_for_any_answer_is_refused_before_the_charge(monkeypatch):
    monkeypatch.setattr(marginals, "MAX_ANSWER_CELLS", 5)
    context = context_of([], SCHEMA)
    with pytest.raises(
        Refused, match="colour, smoker: its 6 cells are more than one answer may have"
    ):
        measure_marginals(
            context, SCHEMA, [("colour",), PAIR], amount=context.payments.amount_left
        )
    assert context.payments.charges == []
