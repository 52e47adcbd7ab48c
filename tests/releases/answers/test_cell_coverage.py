"""Bins that a question cuts: answers say what the rows of the same release say, and
what rules forbid is nobody.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models import ProductModel
from understudy.releases import Guarantee, Release, ReleaseKind
from understudy.releases.answers import cell_coverage as module
from understudy.releases.answers.cell_coverage import cover_cells
from understudy.schema import (
    Boolean,
    Date,
    Integer,
    Schema,
    codec_of,
    holds_for_row,
    parse_predicate,
)

ROWS = 40_000
SCHEMA = Schema(
    columns=(
        Integer(
            name="income",
            min=0,
            max=99_999,
            bins=(0, 1, 25_000, 50_000, 100_000),
            nullable=False,
        ),
        Date(
            name="seen",
            min=dt.date(2020, 1, 1),
            max=dt.date(2021, 12, 31),
            bins=(18262, 18628, 18993),
        ),
        Boolean(name="smoker", nullable=False),
    )
)
COUNTS = {
    "income": [4_000, 24_000, 8_000, 4_000],
    "seen": [28_000, 8_000, 4_000],
    "smoker": [30_000, 10_000],
}


def made(kind: ReleaseKind = ReleaseKind.MODEL) -> Release:
    cost = Cost(Accounting.GDP, Fraction(1, 1000))
    looks = Measurements(
        tuple(
            Measurement(
                (name,),
                (Identity(len(found)),),
                np.array(found),
                Law.ROUNDED_GAUSSIAN,
                Fraction(1),
                cost,
            )
            for name, found in COUNTS.items()
        )
    )
    promise = Guarantee(
        epsilon=Fraction(1),
        delta=Fraction(1, 10**9),
        accounting=Accounting.GDP,
        amount=Fraction(33, 1000),
    )
    model = (
        ProductModel.from_measurements(SCHEMA, looks)
        if kind is ReleaseKind.MODEL
        else None
    )
    return Release(
        guarantee=promise, schema=SCHEMA, kind=kind, measurements=looks, model=model
    )


@pytest.fixture(scope="module")
def release() -> Release:
    return made()


@pytest.mark.parametrize(
    ("asked", "sql"),
    [
        ("income > 0", None),
        ("income = 50000", None),
        ("income > 50000", None),
        ("income != 50000", None),
        ("income > 10000 and income < 20000", None),
        ("not (income < 10000 or income >= 20000)", None),
        ("income = 40000 or income = 7", None),
        ("seen = 2020-06-01", "seen = DATE '2020-06-01'"),
        ("seen <= 2020-12-30", "seen <= DATE '2020-12-30'"),
        (
            "income < 5000 and seen < 2020-03-01",
            "income < 5000 and seen < DATE '2020-03-01'",
        ),
        ("income < 5000 or smoker", None),
        ("if income < 5000 then smoker = true", "income >= 5000 or smoker"),
    ],
)
def test_a_cut_bin_counts_as_rows_lie_in_it(
    release: Release, asked: str, sql: str | None
):
    rows = release.sample(ROWS, seed=1, kind="duckdb")
    count = len(rows.filter(sql or asked).fetchall())
    found = release.answer(f"count where {asked}")
    assert abs(found.estimate - count) < 5 * np.sqrt(min(count, ROWS - count)) + 5
    assert found.low <= found.estimate <= found.high


def test_the_interval_still_reaches_from_none_of_a_cut_bin_to_all_of_it(
    release: Release,
):
    found = release.answer("count where seen <= 2020-12-30")
    assert found.low == 0
    assert abs(found.high - 28_000) < 20


def test_tables_without_a_model_are_cut_by_what_was_measured(release: Release):
    for asked in ("income < 5000", "seen > 2020-12-01"):
        alone, other = (
            one.answer(f"count where {asked}").estimate
            for one in (made(ReleaseKind.TABLES), release)
        )
        assert alone == pytest.approx(other, rel=0.01)


def test_where_columns_are_compared_inside_a_bin_half_is_taken():
    schema = Schema.parse(
        "columns: {a: {type: integer, min: 0, max: 999}, b: {type: integer, min: 0, max: 999}}"
    )
    share = cover_cells(
        parse_predicate("a < b"), schema, ("a", "b"), schema.codecs
    ).share
    assert set(share.ravel()) == {0.0, 0.5, 1.0}


def test_where_pieces_are_too_many_bins_stay_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_QUESTION_CELLS", 4)
    share = cover_cells(
        parse_predicate("income > 0 and income < 30000"),
        SCHEMA,
        ("income",),
        SCHEMA.codecs,
    ).share
    assert share.tolist() == [0, 1, 0.5, 0]


A = Integer(name="a", min=0, max=7, bins=(0, 1, 4, 8))
B = Integer(name="b", min=0, max=7, bins=(0, 3, 8), nullable=False)
CODECS = {"a": codec_of(A), "b": codec_of(B)}
VALUES = {"a": [*range(8), None], "b": [*range(8)]}
ATOMS = [
    f"{x} {op} {n}" for x in "ab" for op in ("<", ">=", "=", "!=") for n in (0, 2, 5, 7)
]
ATOMS += ["a < b", "b <= a", "a != b", "a + 2 * b >= 9", "a is missing", "a + b = 7"]
SAID = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
        | inner.map("not ({})".format)
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(SAID, st.lists(SAID, max_size=2))
def test_all_and_any_are_right_about_every_row_that_keeps_the_rules(
    asked: str, never: list[str]
):
    """By brute force; and the share of a question about columns one by one is that of
    the cell's own rows.
    """
    schema = Schema(columns=(A, B), impossible=tuple(map(parse_predicate, never)))
    predicate = parse_predicate(asked)
    found = cover_cells(predicate, schema, ("a", "b"), CODECS)
    rows = [
        dict(zip("ab", values, strict=True)) for values in product(*VALUES.values())
    ]
    kept = [
        row
        for row in rows
        if not any(holds_for_row(p, row, CODECS) for p in schema.impossible)
    ]
    alone = all(len(holds_of) == 1 for holds_of in _atoms(asked, *never))
    for cell in np.ndindex(found.share.shape):
        here = [
            row
            for row in kept
            if (CODECS["a"].code(row["a"]), CODECS["b"].code(row["b"])) == cell
        ]
        true = [holds_for_row(predicate, row, CODECS) for row in here]
        assert not (found.sure[cell] and not all(true))
        assert found.possible[cell] or not any(true)
        assert bool(found.sure[cell]) <= bool(found.possible[cell])
        if alone and here:
            assert found.share[cell] == pytest.approx(np.mean(true))


def _atoms(*said: str) -> list[set[str]]:
    return [
        set(atom) & {"a", "b"}
        for text in said
        for atom in ATOMS
        if atom in text and "missing" not in atom
    ]


def test_an_answer_keeps_the_rules_that_rows_keep():
    schema = Schema.parse("""
columns:
  admitted: {type: integer, min: 0, max: 999, nullable: false}
  discharged: {type: integer, min: 0, max: 999, nullable: false}
  wage: {type: integer, min: 0, max: 999, nullable: false}
  age: {type: integer, min: 0, max: 110, nullable: false}
  smoker: {type: boolean, nullable: false}
rules:
  - admitted <= discharged
  - admitted + wage = discharged
  - if age < 15 then smoker = false
""")
    release = Release(
        guarantee=Guarantee.without_data(),
        schema=schema,
        model=ProductModel.uniform(schema, total=1000.0),
    )
    for nobody in (
        "admitted > discharged",
        "admitted + wage != discharged",
        "age < 15 and smoker",
    ):
        found = release.answer(f"count where {nobody}")
        assert (found.estimate, found.low, found.high, found.supported) == (
            0,
            0,
            0,
            True,
        )
    same = release.answer("count where admitted = discharged").estimate
    assert release.answer("count where admitted >= discharged").estimate == same > 0
    at_most, less = (
        release.answer(f"count where admitted {op} discharged").estimate
        for op in ("<=", "<")
    )
    assert at_most > less
