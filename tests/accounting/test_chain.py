"""Canonical spelling, seals and units."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.accounting.chain import (
    DELTA_UNITS,
    EPSILON_UNITS,
    GENESIS_DIGEST,
    LEDGER_ENTRY_COLUMNS,
    LedgerEntry,
    canonical_json,
    digest_of,
    units_down,
    units_up,
)

ENTRY = LedgerEntry(
    number=1, time="2020-01-01T00:00:00.000+00:00", kind="note", event="e", run="", step=None, analyst="", scope="",
    epsilon=0, delta=0, detail="{}", previous=GENESIS_DIGEST,
)  # fmt: skip


def test_the_order_of_keys_does_not_matter_and_everything_else_does():
    assert digest_of({"a": 1, "b": [1, 2]}) == digest_of({"b": [1, 2], "a": 1})
    assert (
        len(
            {
                digest_of(x)
                for x in ({"a": 1}, {"a": "1"}, {"a": [1]}, ["a", 1], {"a": 1.5}, None)
            }
        )
        == 6
    )


def test_what_json_cannot_say_is_refused():
    for value in (float("nan"), {1, 2}, b"x", Fraction(1, 2)):
        with pytest.raises((TypeError, ValueError)):
            canonical_json(value)


@pytest.mark.parametrize("name", LEDGER_ENTRY_COLUMNS)
def test_a_seal_covers_every_column(name):
    other = replace(
        ENTRY,
        **{
            name: 7
            if isinstance(getattr(ENTRY, name), int) or name == "step"
            else "other"
        },
    )
    assert other.seal() != ENTRY.seal()


def test_a_seal_does_not_cover_itself():
    assert replace(ENTRY, digest="x").seal() == ENTRY.seal()


@given(
    st.fractions(min_value=0, max_value=100),
    st.sampled_from([EPSILON_UNITS, DELTA_UNITS]),
)
def test_prices_round_up_and_caps_down(value, units):
    assert (
        Fraction(units_down(value, units), units)
        <= value
        <= Fraction(units_up(value, units), units)
    )
    assert units_up(value, units) - units_down(value, units) <= 1


def test_a_small_delta_is_a_whole_number_of_units():
    assert (
        units_up(Fraction(1, 10**12), DELTA_UNITS)
        == units_down(Fraction(1, 10**12), DELTA_UNITS)
        == 1000
    )
