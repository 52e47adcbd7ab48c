"""What learned bounds may have clipped, by the noisy counts that found them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kit.curator.contexts import context_of
from understudy.curator.discovery.bounded_column import with_rows_beyond
from understudy.curator.discovery.bounds import learn_bounds
from understudy.curator.discovery.rows_beyond import limit_rows_beyond
from understudy.curator.discovery.vote_noise import VoteNoise
from understudy.curator.discovery.vote_steps import with_unseen_rows
from understudy.errors import SchemaError
from understudy.schema import Integer, Real, Schema, dump_schema
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX, RowsBeyond
from understudy.tables import TYPE_CANDIDATES
from understudy.tables.reading.type_votes import NUMBER_CANDIDATES

OPEN = Schema(columns=(Integer(name="x"),))
MAGNITUDES = 126


def limits_of(values):
    context = context_of([{"x": int(value)} for value in values], OPEN)
    bounds = learn_bounds(context, "x", amount=context.payments.amount_left / 100)
    assert bounds is not None
    return bounds


def test_years_beside_many_zeros_may_lie_anywhere():
    """Forty rows are far below what stands out, so bounds end beside zero."""
    bounds = limits_of([0] * 960 + list(range(1970, 2010)))
    assert -1 <= bounds.low <= bounds.high <= 1
    assert bounds.beyond.is_anywhere
    assert bounds.beyond.rows_above >= 40


def test_a_full_end_hides_little_and_a_thin_one_much():
    """Ages fill the magnitude that they end in; of a tail more may follow."""
    counts = np.zeros(MAGNITUDES, np.int64)
    counts[np.arange(68, 71)] = 200, 400, 380
    ages = limit_rows_beyond(counts, 10.0, (68, 70), (16, 95))
    counts[70] = 100
    tail = limit_rows_beyond(counts, 10.0, (68, 70), (16, 95))
    assert ages.steps_above < 100 < 300 < tail.steps_above
    assert ages.rows_above < tail.rows_above


def test_a_thin_end_that_a_tail_would_have_passed_hides_little():
    """A hundred rows up to 70 and none from 71 to 127: of a tail as heavy as 1/x² eighty
    would lie there, eight deviations of the noise; up to 95 only three are known of.
    """
    counts = np.zeros(MAGNITUDES, np.int64)
    counts[np.arange(68, 71)] = 200, 400, 100
    sharp = limit_rows_beyond(counts, 10.0, (68, 70), (16, 70))
    unsure = limit_rows_beyond(counts, 10.0, (68, 70), (16, 95))
    assert sharp.rows_above < unsure.rows_above
    assert sharp.steps_above < 150 < 300 < unsure.steps_above


def test_rows_that_the_counts_show_are_among_the_hidden():
    counts = np.zeros(MAGNITUDES, np.int64)
    counts[70], counts[71] = 400, 150
    limit = limit_rows_beyond(counts, 10.0, (70, 70), (64, 127))
    assert limit.rows_above >= 150


def test_a_declared_bound_hides_nothing_and_steps_are_rescaled():
    column = Real(name="x", min=Fraction(0), step=Fraction(1, 1000))
    closed = Real(name="x", min=Fraction(0), max=Fraction(10), step=Fraction(1, 10))
    limit = with_rows_beyond(column, closed, RowsBeyond(7, 500, 9, 450)).beyond
    assert limit == RowsBeyond(0, 0, 9, 5)
    anywhere = RowsBeyond(7, MAX_LATTICE_INDEX, 9, MAX_LATTICE_INDEX)
    assert with_rows_beyond(column, closed, anywhere).beyond.is_anywhere


def test_a_vote_for_bits_in_which_no_ones_stand_out_hides_numbers():
    ballots = np.zeros(len(TYPE_CANDIDATES), np.int64)
    ballots[TYPE_CANDIDATES.index("zero")] = 2000
    ballots[TYPE_CANDIDATES.index("integer")] = 90
    column = Integer(name="x", min=0, max=1, learned=("type", "bounds"))
    unseen = with_unseen_rows(column, "bit", ballots, VoteNoise(40.0))
    assert unseen.beyond.is_anywhere
    assert unseen.beyond.rows_above >= 90
    ballots[TYPE_CANDIDATES.index("bit")] = 900
    assert "bit" in NUMBER_CANDIDATES
    assert with_unseen_rows(column, "bit", ballots, VoteNoise(40.0)) == column


def test_a_schema_file_keeps_what_bounds_may_have_clipped():
    column = Integer(
        name="x", min=0, max=9, beyond=RowsBeyond(0, 0, 7, MAX_LATTICE_INDEX)
    )
    text = dump_schema(Schema(columns=(column,)))
    assert Schema.parse(text)["x"] == column
    with pytest.raises(SchemaError, match="four whole numbers"):
        Schema.parse("columns: {x: {type: integer, min: 0, max: 9, beyond: [1, 2, 3]}}")
