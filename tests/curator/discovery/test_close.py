"""Discovery: what nobody declared is bought; what is declared is free."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import pytest

from kit.curator.contexts import context_of, no_noise
from understudy.accounting.cost import Accounting
from understudy.curator import Curator
from understudy.curator.discovery.bounded_column import with_learned_bounds
from understudy.curator.discovery.close import LOST_COLUMN_NOTE, close_schema
from understudy.curator.discovery.shares import discovery_shares
from understudy.errors import Refused
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Integer,
    OutOfBoundsPolicy,
    Real,
    Schema,
    UndeclaredColumn,
    describe_declared,
    describe_learned,
    parse_predicate,
)
from understudy.synthesizers import ignore_progress
from understudy.tables import Table, open_table
from understudy.tables.sql.engine import Engine

RNG = np.random.default_rng(5)
ROWS = [
    {
        "age": str(int(a)),
        "place": str(p),
        "born": str(date(1990, 1, 1 + int(a) % 28)),
        "smoker": str(s),
    }
    for a, p, s in zip(
        RNG.integers(18, 80, 6000),
        RNG.choice(["A", "B", "C"], 6000),
        RNG.choice(["yes", "no"], 6000),
        strict=True,
    )
]


def test_a_closed_schema_with_bins_costs_nothing():
    columns = (
        Boolean(name="smoker"),
        Integer(name="age", min=0, max=99, bins=(0, 18, 65, 100)),
        Integer(name="k", min=0, max=63),
    )
    schema = Schema(columns=columns)
    context = context_of([], schema)
    before = context.payments.amount_left
    closed, known, _ = close_schema(
        context, schema, amount=before, delta=Fraction(0), progress=ignore_progress
    )
    assert closed == schema
    assert context.payments.amount_left == before
    assert len(known) == len(known.sparse) == 0


def test_an_open_schema_is_closed_within_the_share():
    schema = Schema(
        columns=tuple(
            UndeclaredColumn(name=n) for n in ("age", "place", "born", "smoker")
        )
    )
    context = context_of(
        ROWS, schema, epsilon=4, noise=no_noise
    )  # what noise adds by chance is test_learned's business
    curator = Curator(context, schema)
    before = context.payments.amount_left
    closed = curator.discover(
        share=Fraction(1, 2),
        delta=context.payments.delta_left,
        progress=ignore_progress,
    )
    assert [closed[n].type for n in closed] == [
        "integer",
        "categorical",
        "date",
        "categorical",
    ]
    assert closed["place"].values == ("A", "B", "C")
    assert 8 <= closed["age"].min <= 28
    assert 68 <= closed["age"].max <= 127
    assert all(closed[n].learned for n in closed)
    # Of the columns without a type two turned out to need no bins, so their part was
    # not spent.
    assert (
        Fraction(25, 100) * before
        <= before - context.payments.amount_left
        <= before / 2
    )
    assert [s.clique for s in curator.discovered_measurements.sparse] == [
        ("place",),
        ("smoker",),
    ]
    assert closed["smoker"].values == ("no", "yes")


def test_numbers_with_a_word_among_them_are_numbers_with_a_missing_code():
    """Incomes of which a fifth is "N": as a list of labels nearly all of them would be
    "other".
    """
    incomes = RNG.lognormal(10, 0.7, 6000).round().astype(int)
    rows = [{"income": "N" if i % 5 == 0 else str(v)} for i, v in enumerate(incomes)]
    schema = Schema(columns=(UndeclaredColumn(name="income"),))
    context = context_of(rows, schema, epsilon=4, noise=no_noise)
    before = context.payments.amount_left
    closed, known, table = close_schema(
        context,
        schema,
        amount=before / 2,
        delta=context.payments.delta_left,
        progress=ignore_progress,
    )
    income = closed["income"]
    assert isinstance(income, Integer)
    assert income.missing == ("N",)
    assert income.learned == ("type", "missing codes", "bounds", "bins")
    assert before - context.payments.amount_left <= before / 2
    assert known.sparse == ()
    (counts,) = table.counts([("income",)])
    assert counts[closed.codecs["income"].missing_code(0)] == 1200
    assert "the missing codes of income" in describe_learned(closed)
    assert not any("missing codes" in line for line in describe_declared(closed))


def test_labels_with_numbers_among_them_stay_labels():
    rows = [
        {"code": f"{'ABCDEFGHIJ'[i % 10]}{i % 40:02}" if i % 2 else str(250 + i % 12)}
        for i in range(6000)
    ]
    schema = Schema(columns=(UndeclaredColumn(name="code"),))
    context = context_of(rows, schema, epsilon=4, noise=no_noise)
    closed, *_ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left / 2,
        delta=context.payments.delta_left,
        progress=ignore_progress,
    )
    assert isinstance(closed["code"], Categorical)
    assert len(closed["code"].values) == 26


def test_an_open_column_has_its_share_whatever_the_others_are():
    def for_open(unknown, declared):
        columns = (
            *(Categorical(name=f"u{i}") for i in range(unknown)),
            *(Boolean(name=f"d{i}") for i in range(declared)),
        )
        return discovery_shares(Schema(columns=columns))[0]

    assert for_open(4, 0) == Fraction(2, 5)
    assert for_open(2, 2) == Fraction(1, 5)
    assert for_open(1, 49) == Fraction(1, 20)
    assert for_open(0, 3) == 0


def test_declared_bounds_stand():
    schema = Schema(columns=(Integer(name="age", min=18),))
    rows = [{"age": int(r["age"])} for r in ROWS]
    context = context_of(rows, schema)
    closed, *_ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert closed["age"].min == 18


def test_a_column_whose_bounds_do_not_stand_out_says_that_it_is_lost():
    schema = Schema(columns=(Integer(name="age"), Integer(name="flag")))
    rows = [{"age": 30 + i, "flag": None} for i in range(3)]
    context = context_of(
        [*rows, *[{"age": 40, "flag": i % 2} for i in range(2000)]],
        schema,
        noise=no_noise,
    )
    closed, *_ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert [closed[name].note for name in closed] == ["", ""]
    assert (closed["flag"].min, closed["flag"].max) == (
        0,
        1,
    )  # which is what a lost one has
    context = context_of(rows, schema, noise=no_noise)
    closed, *_ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert [closed[name].note for name in closed] == [
        LOST_COLUMN_NOTE,
        LOST_COLUMN_NOTE,
    ]
    assert all(closed[name].is_lost for name in closed)


def test_years_beside_many_zeros_keep_their_years_and_rare_ones_stay_ones():
    """Zeros hide the votes for years: as a flag all would be the year 1."""
    rng = np.random.default_rng(3)
    years = np.where(rng.random(6000) < 0.9, 0, rng.integers(1934, 2016, 6000))
    schema = Schema(columns=(UndeclaredColumn(name="year"), Integer(name="flag")))
    rows = [{"year": str(y), "flag": int(i < 2)} for i, y in enumerate(years.tolist())]
    # At this noise no single vote for a year stands out, nor do two ones.
    context = context_of(rows, schema, epsilon=Fraction(1, 6), noise=no_noise)
    closed, *_ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left,
        delta=Fraction(1, 10**9),
        progress=ignore_progress,
    )
    year = closed["year"]
    assert isinstance(year, Integer)
    assert (year.min, year.max >= 2015) == (0, True)
    assert (closed["flag"].min, closed["flag"].max) == (0, 1)


def test_learned_dates_stay_on_the_calendar():
    schema = Schema(columns=(Date(name="day"),))
    context = context_of([{"day": date(9999, 12, 31)}] * 5000, schema)
    closed, *_ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert closed["day"].max <= date(9999, 12, 31)


@pytest.mark.parametrize(
    "column", [Date(name="day"), Datetime(name="day")], ids=lambda column: column.type
)
@pytest.mark.parametrize("beyond", [2**50, -(2**50)])
def test_bounds_that_noise_alone_found_beyond_the_calendar_are_its_ends(column, beyond):
    """Once in a thousand runs on few rows an empty bin stands out, wherever it lies; a
    paid run does not end in an error for it.
    """
    found = with_learned_bounds(column, beyond, beyond + 2**40)
    assert found.is_closed
    assert found.min.year == found.max.year == (9999 if beyond > 0 else 1)


@pytest.mark.parametrize(
    ("column", "ends"),
    [
        (Integer(name="x", dtype="TINYINT"), (-128, 127)),
        (Integer(name="x", dtype="uint8", step=10), (0, 250)),
        (
            Real(name="x", dtype="DECIMAL(4,2)", step=Fraction(1, 10)),
            (Fraction(-999, 10), Fraction(999, 10)),
        ),
    ],
    ids=lambda part: getattr(part, "dtype", ""),
)
def test_bounds_reach_no_further_than_what_the_column_is_stored_as(column, ends):
    """Noise in one far bin would widen the type that comes back: once in a hundred runs
    on ten columns.
    """
    found = with_learned_bounds(column, -(2**50), 2**50)
    assert (found.min, found.max) == ends
    assert with_learned_bounds(column, 2**50, 2**51).min == ends[1]


def test_delta_zero_with_open_categories_is_refused_and_free():
    schema = Schema(columns=(Categorical(name="place"),))
    context = context_of([], schema, accounting=Accounting.PURE, delta=0)
    with pytest.raises(Refused, match=r"place.*δ = 0.*Nothing was spent"):
        close_schema(
            context,
            schema,
            amount=Fraction(1, 2),
            delta=Fraction(0),
            progress=ignore_progress,
        )
    assert context.payments.amount_left == 1


@pytest.mark.parametrize(
    ("declared", "values"), [({"max": 10}, 1000), ({"min": 1000}, 10)]
)
def test_a_declared_bound_stands_even_where_the_values_lie_beyond_it(declared, values):
    schema = Schema(columns=(Integer(name="x", **declared),))
    context = context_of([{"x": values}] * 5000, schema)
    closed, *_ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert all(getattr(closed["x"], name) == bound for name, bound in declared.items())
    assert closed["x"].min <= closed["x"].max


def test_bounds_at_the_end_of_the_lattice_are_bounds():
    schema = Schema(columns=(Integer(name="x"),))
    context = context_of([{"x": -(2**62) + 1}] * 5000, schema)
    closed, *_ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert closed["x"].is_closed


INCOME = Integer(name="income", min=0, max=10**6)
INCOMES = [
    {"income": int(v)}
    for v in np.where(RNG.random(6000) < 0.4, 0, RNG.lognormal(10, 0.7, 6000)).clip(
        0, 10**6
    )
]


@pytest.mark.parametrize("accounting", Accounting)
def test_a_bounded_column_gets_bins_whose_counts_are_kept(accounting):
    schema = Schema(columns=(INCOME, Boolean(name="smoker")))
    context = context_of(
        [{**row, "smoker": True} for row in INCOMES],
        schema,
        accounting=accounting,
        epsilon=4,
    )
    curator = Curator(context, schema)
    before = context.payments.amount_left
    closed = curator.discover(
        share=Fraction(1, 5), delta=Fraction(0), progress=ignore_progress
    )
    assert before - context.payments.amount_left <= before / 5
    assert closed["income"].learned == ("bins",)
    assert closed["income"].bins[:2] == (0, 1)  # those without income
    assert ("income",) in curator.discovered_measurements
    (counted,) = curator.discovered_measurements
    assert counted.plain
    assert counted.law is context.law
    assert counted.values.shape == closed.sizes(("income",))
    assert abs(counted.values[0] - sum(row["income"] == 0 for row in INCOMES)) < 1000
    assert closed["smoker"] == schema["smoker"]


def test_every_bit_of_the_share_for_bins_is_used():
    schema = Schema(columns=(INCOME,))
    context = context_of(INCOMES, schema)
    before = context.payments.amount_left
    close_schema(
        context, schema, amount=before / 5, delta=Fraction(0), progress=ignore_progress
    )
    assert (
        Fraction(99, 100) * before / 5
        <= before - context.payments.amount_left
        <= before / 5
    )


def test_bought_bounds_are_followed_by_bought_bins():
    schema = Schema(columns=(Integer(name="income"),))
    context = context_of(INCOMES, schema, epsilon=4)
    closed, known, _ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left / 2,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert closed["income"].learned == ("bounds", "bins")
    assert ("income",) in known


def test_bins_begin_where_a_condition_turns():
    schema = Schema(
        columns=(INCOME, Boolean(name="poor")),
        impossible=(parse_predicate("income > 12345 and poor = true"),),
    )
    context = context_of([{**row, "poor": False} for row in INCOMES], schema)
    closed, *_ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left / 5,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert 12346 in closed["income"].bins
    assert closed.zeros(("income", "poor")).any()


@pytest.mark.parametrize(
    "rows", [[], [{"income": 5}], [{"income": None}] * 50, [{"income": 77}] * 2]
)
def test_an_empty_or_tiny_table_gets_bins_like_any_other(rows):
    """What noise says is all there is to say: nothing fails, and the column does not
    tell how few there were.
    """
    schema = Schema(columns=(INCOME,))
    context = context_of(rows, schema)
    closed, known, _ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left / 5,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert closed["income"].is_closed
    assert len(known) == 1


def test_a_constant_column_has_its_value_and_tells_so_only_by_counts():
    schema = Schema(columns=(INCOME,))
    context = context_of([{"income": 31_415}] * 6000, schema)
    closed, known, _ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left / 5,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    assert 31_415 in closed["income"].bins
    assert 31_416 in closed["income"].bins
    assert known[0].values.size > 1


def test_more_columns_mean_fewer_bins_for_each():
    found = {}
    for others in (1, 30):
        columns = (INCOME, *(Boolean(name=f"b{i}") for i in range(others)))
        rows = [row | {f"b{i}": True for i in range(others)} for row in INCOMES]
        context = context_of(rows, Schema(columns=columns), epsilon="0.5")
        total = context.payments.amount_left
        part = sum(discovery_shares(Schema(columns=columns)), Fraction(0))
        closed, *_ = close_schema(
            context,
            Schema(columns=columns),
            amount=total * part,
            delta=Fraction(0),
            progress=ignore_progress,
        )
        found[others] = len(closed["income"].bins)
    assert found[30] < found[1]


def test_it_is_told_how_much_lies_beyond_the_bounds():
    narrow = Integer(name="income", min=0, max=20_000)
    context = context_of(INCOMES, Schema(columns=(narrow,)), epsilon=4, noise=no_noise)
    closed, *_ = close_schema(
        context,
        Schema(columns=(narrow,)),
        amount=context.payments.amount_left,
        delta=Fraction(0),
        progress=ignore_progress,
    )
    beyond = sum(row["income"] > 20_000 for row in INCOMES)
    told = re.search(r"about ([\d,]+) above", closed["income"].note)
    assert int(told[1].replace(",", "")) == beyond
    assert "below" not in closed["income"].note


def test_nothing_is_told_where_nothing_stands_out():
    for column in (
        INCOME,
        replace(INCOME, max=20_000, outside=OutOfBoundsPolicy.MISSING),
    ):
        context = context_of(INCOMES, Schema(columns=(column,)), noise=no_noise)
        closed, *_ = close_schema(
            context,
            Schema(columns=(column,)),
            amount=context.payments.amount_left,
            delta=Fraction(0),
            progress=ignore_progress,
        )
        assert closed["income"].note == ""


def test_bins_get_twice_an_even_share_and_a_fifth_of_the_run_at_most():
    def for_bins(long, short):
        columns = (
            *(Integer(name=f"l{i}", min=0, max=10**6) for i in range(long)),
            *(Boolean(name=f"s{i}") for i in range(short)),
        )
        return discovery_shares(Schema(columns=columns))[1]

    assert for_bins(1, 9) == Fraction(2, 50)
    assert for_bins(5, 5) == for_bins(10, 0) == Fraction(1, 5)
    assert for_bins(0, 3) == 0


def test_a_column_without_a_type_that_turns_out_to_need_no_bins_leaves_its_part():
    """Of four columns one needs bins: it has twice an even share, and the rest of the
    fifth is not spent.
    """
    schema = Schema(
        columns=tuple(
            UndeclaredColumn(name=n) for n in ("age", "place", "born", "smoker")
        )
    )
    rows = [
        {**row, "age": str(i % 9), "born": str(i * 7919 % 100_003)}
        for i, row in enumerate(ROWS)
    ]
    context = context_of(rows, schema, epsilon=4)
    before = context.payments.amount_left
    closed, *_ = close_schema(
        context,
        schema,
        amount=before * sum(discovery_shares(schema)),
        delta=context.payments.delta_left,
        progress=ignore_progress,
    )
    assert [name for name in closed if "bins" in closed[name].learned] == ["born"]
    assert (
        Fraction(45, 100) * before
        < before - context.payments.amount_left
        <= Fraction(1, 2) * before
    )


def test_rows_are_encoded_once_in_a_run_without_schema(tmp_path, monkeypatch):
    """Discovery counts the bins of encoded rows; what is measured next uses the codes."""
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    done: list[str] = []
    stream = Engine.stream

    def noted(engine: Engine, query: str, *, doing: str) -> object:
        done.append(doing)
        return stream(engine, query, doing=doing)

    monkeypatch.setattr(Engine, "stream", noted)
    schema = Schema(columns=tuple(UndeclaredColumn(name=name) for name in ROWS[0]))
    with open_table(path) as source:
        context = replace(context_of([], schema), table=Table(source, schema))
        curator = Curator(context, schema)
        curator.discover(
            share=Fraction(1, 2),
            delta=curator.delta_left,
            progress=ignore_progress,
        )
        curator.hand_over()
        curator.measure([(name,) for name in curator.schema], share=Fraction(1, 2))
        curator.measure([tuple(curator.schema)[:2]], share=Fraction(1, 2))
    assert "age" in curator.schema
    assert done.count("encoding rows") == 1


@pytest.mark.parametrize(("label", "other"), [("Other", "unlisted"), ("B", "other")])
def test_the_rest_has_a_name_that_no_label_reads_like(label, other):
    """Of faiths, "Other" and "other" stood in one column."""
    schema = Schema(columns=(Categorical(name="faith"),))
    rows = [{"faith": "A"}] * 900 + [{"faith": label}] * 900
    context = context_of(rows, schema, epsilon=4, noise=no_noise)
    closed, _, _ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left / 2,
        delta=context.payments.delta_left,
        progress=ignore_progress,
    )
    assert set(closed["faith"].values) == {"A", label}
    assert closed["faith"].other == other


def test_words_beside_values_that_are_nowhere_stay_labels():
    """In one list of labels of 240 noise votes as if there were numbers among them: the
    words were taken for missing codes, and a column of two labels came back empty.
    """
    # Votes for these stand out, and none of the places where they could lie does.
    spread = [str(sign * 2**power) for power in range(8, 38) for sign in (1, -1)]
    words = ["female"] * 400 + ["male"] * 400
    schema = Schema(columns=(UndeclaredColumn(name="sex"),))
    context = context_of(
        [{"sex": cell} for cell in words + spread], schema, epsilon=2, noise=no_noise
    )
    closed, known, _ = close_schema(
        context,
        schema,
        amount=context.payments.amount_left / 2,
        delta=context.payments.delta_left,
        progress=ignore_progress,
    )
    assert closed["sex"].values == ("female", "male")
    assert not closed["sex"].is_lost
    assert [measured.clique for measured in known.sparse] == [("sex",)]
