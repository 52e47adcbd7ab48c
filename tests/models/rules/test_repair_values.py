"""Settled rows: every rule is kept by the values, also inside a bin, and values stay in
their bins while they can.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy.errors import Refused
from understudy.models import ProductModel
from understudy.models.rules.repair_values import broken_rows, repair_broken_values
from understudy.schema import DecodedCells, Schema, parse_predicate

DATES = Schema.parse("""
columns:
  start: {type: date, min: 2015-01-01, max: 2024-12-31, bins: 4, nullable: false}
  end: {type: date, min: 2015-01-01, max: 2024-12-31, bins: 4}
rules: [start <= end]
""")
SUMS = Schema.parse("""
columns:
  wage: {type: integer, min: 0, max: 100000, step: 5, nullable: false}
  rent: {type: real, min: 0, max: 5000, decimals: 2, nullable: false}
  income: {type: real, min: 0, max: 105000, decimals: 2, nullable: false}
rules: [wage + rent = income]
""")
CHAIN = Schema.parse("""
columns:
  born: {type: datetime, min: 2020-01-01, max: 2020-12-31, resolution: 1h, bins: 2}
  admitted: {type: date, min: 2020-01-01, max: 2020-12-31, bins: 2}
  left: {type: datetime, min: 2020-01-01, max: 2020-12-31, resolution: 15min, bins: 2}
rules:
  - born < admitted and admitted <= left
""")


def drawn(schema: Schema, rows: int, seed: int = 0, **options):
    """Rows as a model without any idea of the rules draws them: codes, values before
    and after they are settled.
    """
    rng = np.random.default_rng(seed)
    codes = ProductModel.uniform(schema, rows).sample(rows, rng)
    loose = {name: schema.codecs[name].decode(codes[name], rng) for name in schema}
    made = repair_broken_values(
        schema,
        codes,
        loose,
        rng,
        redraw=lambda name, here: (
            schema.codecs[name].decode(codes[name][here], rng).index
        ),
        **options,
    )
    return codes, loose, made


def bins_of(schema: Schema, name: str, cells: DecodedCells):
    return (
        np.searchsorted(
            np.array(schema.codecs[name].bins.edges), cells.index, side="right"
        )
        - 1
    )


@pytest.mark.parametrize("schema", [DATES, SUMS, CHAIN], ids=["order", "sum", "chain"])
def test_no_row_of_many_breaks_a_rule(schema):
    codes, loose, made = drawn(schema, 50_000)
    assert broken_rows(schema, loose, 50_000).sum() > 500, (
        "the test needs something to mend"
    )
    assert not broken_rows(schema, made, 50_000).any()
    moved = sum(
        (bins_of(schema, n, made[n]) != codes[n])[made[n].state == 0].sum()
        for n in schema
    )
    assert moved < 0.02 * 50_000, "values stay in their bins"


def test_what_kept_the_rules_is_left_as_it_was():
    _, loose, made = drawn(DATES, 2_000)
    fine = ~broken_rows(DATES, loose, 2_000)
    for name in DATES:
        np.testing.assert_array_equal(made[name].index[fine], loose[name].index[fine])


def test_an_order_inside_a_bin_has_the_distribution_of_two_uniform_draws_in_order():
    """Drawing again accepts what is in order: the earlier of two dates in one bin of w
    days is early, by the triangular law.
    """
    schema = replace(
        DATES,
        columns=tuple(
            replace(c, bins=(c.bins[0], c.bins[-1]), nullable=False)
            for c in DATES.columns
        ),
    )
    _, _, made = drawn(schema, 20_000)
    width = schema.codecs["start"].bins.edges[1] - schema.codecs["start"].bins.edges[0]
    share = (made["start"].index - schema.codecs["start"].bins.edges[0]) / width
    # P(min of two uniforms ≤ x) = 1 − (1 − x)²; the Kolmogorov bound at 1e-6 for 20,000
    # rows is 0.019, plus what moving adds.
    ranks = np.arange(1, 20_001) / 20_000
    assert np.abs(np.sort(1 - (1 - share) ** 2) - ranks).max() < 0.025
    assert np.abs(np.sort(share) - ranks).max() > 0.2, "a uniform law would not do"


def test_pinned_values_stay():
    rng = np.random.default_rng(0)
    codes = ProductModel.uniform(DATES, 500).sample(500, rng)
    point = DATES["start"].low + 700
    codes = {"start": np.zeros(500, np.uint8), "end": np.zeros(500, np.uint8)}
    rows = {name: DATES.codecs[name].decode(codes[name], rng) for name in DATES}
    rows["start"] = DecodedCells(np.full(500, point), rows["start"].state)
    made = repair_broken_values(
        DATES,
        codes,
        rows,
        rng,
        redraw=lambda name, here: (
            DATES.codecs[name].decode(codes[name][here], rng).index
        ),
        pinned={"start"},
    )
    assert np.all(made["start"].index == point)
    assert np.all(made["end"].index >= point)


def test_a_row_that_cannot_be_mended_takes_the_values_of_one_that_can():
    """Labels do not move: the whole row of rule columns is taken over from another."""
    schema = Schema.parse("""
columns:
  town: {type: categorical, values: [Bern, Zug], nullable: false}
  tax: {type: integer, min: 0, max: 99, bins: [0, 50], nullable: false}
rules: ["if town = 'Zug' then tax < 10"]
""")
    codes = {
        "town": np.array([1, 1, 0], np.uint8),
        "tax": np.array([1, 0, 1], np.uint8),
    }
    rng = np.random.default_rng(1)
    rows = {name: schema.codecs[name].decode(codes[name], rng) for name in schema}
    made = repair_broken_values(
        schema,
        codes,
        rows,
        rng,
        redraw=lambda name, here: (
            schema.codecs[name].decode(codes[name][here], rng).index
        ),
    )
    assert not broken_rows(schema, made, 3).any()


def test_without_a_row_to_take_from_one_is_searched_for_or_it_is_refused():
    schema = replace(
        Schema.parse(
            "columns: {a: {type: integer, min: 0, max: 999, bins: 2, nullable: false}}"
        ),
        impossible=(parse_predicate("a != 777"),),
    )
    codes = {"a": np.zeros(1, np.uint8)}
    rng = np.random.default_rng(0)
    rows = {"a": schema.codecs["a"].decode(codes["a"], rng)}
    redraw = lambda name, here: schema.codecs[name].decode(codes[name][here], rng).index  # noqa: E731
    made = repair_broken_values(schema, codes, rows, rng, redraw=redraw)
    assert made["a"].index.tolist() == [777]
    with pytest.raises(Refused, match="no row was found"):
        repair_broken_values(schema, codes, rows, rng, redraw=redraw, searches=False)


def test_numbers_near_the_limit_do_not_wrap():
    schema = Schema.parse(f"""
columns:
  a: {{type: integer, min: 0, max: {2**61}, bins: 2, nullable: false}}
  b: {{type: integer, min: 0, max: {2**61}, bins: 2, nullable: false}}
  total: {{type: integer, min: 0, max: {2**62 - 1}, bins: 2, nullable: false}}
rules: [a + b = total]
""")
    _, _, made = drawn(schema, 300)
    totals = [
        int(a) + int(b) for a, b in zip(made["a"].index, made["b"].index, strict=True)
    ]
    assert totals == made["total"].index.tolist()
