"""Releases: what they hold, what they give, and what they refuse."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import understudy.releases as room
from kit.releases import hostile
from kit.releases.builders import (
    EVERY_TYPE,
    SMALL,
    codes_of,
    guarantee,
    measured,
    model_of,
    release,
)
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.errors import Refused, ReleaseError
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models import ProductModel
from understudy.releases import Guarantee, Release, ReleaseKind, to_bytes
from understudy.releases.contents import environment
from understudy.schema import Categorical, Integer, Schema


def test_the_table_of_contents():
    names = (
        "Answer BudgetStatement BudgetStep Card CardEntry Evidence FRAME_KINDS Guarantee GuaranteeKind "
        "MarginalVerdict Question QuestionKind RELEASE_FORMAT_VERSION Release ReleaseKind"
        " from_bytes load save to_bytes to_frame write_rows"
    )
    assert " ".join(sorted(room.__all__)) == names


@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        ("pandas", pd.DataFrame),
        ("polars", pl.DataFrame),
        ("pyarrow", pa.Table),
        ("numpy", dict),
    ],
)
def test_the_kind_of_frame_that_came_in_goes_out(kind, frame):
    assert isinstance(release(frame=kind).sample(), frame)
    assert isinstance(release(frame=None).sample(kind=kind), frame)


def test_as_many_rows_as_the_noisy_estimate():
    assert release().rows == 42  # the model's total is 41.6
    assert len(release().sample()) == 42
    assert len(release().sample(7)) == 7
    assert len(release().sample(0)) == 0


@pytest.mark.parametrize("total", [0.0, 0.3])
def test_no_rows_where_the_estimate_is_not_positive(total):
    empty = Release(
        guarantee=Guarantee.without_data(),
        schema=SMALL,
        model=ProductModel.uniform(SMALL, total),
    )
    assert len(empty.sample(kind="pandas")) == 0
    assert list(empty.sample(kind="polars").columns) == list(SMALL)
    assert len(empty.sample(5, kind="pandas")) == 5


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "duckdb", "numpy"])
def test_columns_stand_in_schema_order(kind):
    frame = release(EVERY_TYPE).sample(5, kind=kind)
    names = (
        list(frame)
        if kind == "numpy"
        else frame.column_names
        if kind == "pyarrow"
        else list(frame.columns)
    )
    assert names == list(EVERY_TYPE)


def test_a_seed_repeats_and_no_seed_does_not():
    one = release(EVERY_TYPE)
    assert one.sample(100, seed=3).equals(one.sample(100, seed=3))
    assert not one.sample(100, seed=3).equals(one.sample(100, seed=4))
    assert not one.sample(100).equals(one.sample(100))


@pytest.mark.parametrize("rows", [-1, 1.5, "3", True])
def test_a_number_of_rows_is_a_whole_number(rows):
    with pytest.raises(Refused, match="number of rows"):
        release().sample(rows)


def test_more_rows_than_any_disk_holds_are_refused(tmp_path):
    with pytest.raises(
        Refused, match=r"At most 1,000,000,000,000 rows .* Nothing was sampled"
    ):
        release().write(tmp_path / "a.csv", 10**20)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", [-1, 1.5, "3", True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(Refused, match="seed"):
        release().sample(3, seed=seed)


@pytest.mark.parametrize("model", ["product", "dense", "sparse"])
def test_given_columns_hold_what_was_given(model):
    frame = release(model=model).sample(20, given={"sex": "F"}, seed=1)
    assert frame["sex"].tolist() == ["F"] * 20


def test_given_values_follow_the_conditional_distribution():
    """A pair that always agrees: given one, the other is known."""
    schema = Schema(
        columns=tuple(
            Categorical(name=n, values=("x", "y"), nullable=False) for n in "ab"
        )
    )
    from understudy.models import DenseModel

    tied = DenseModel(schema, 100.0, ("a", "b"), np.array([[0.2, 0.0], [0.0, 0.8]]))
    both = Release(guarantee=Guarantee.without_data(), schema=schema, model=tied)
    frame = both.sample(given={"a": "y"}, kind="pandas")
    assert len(frame) == 80  # as many as the model expects to match
    assert frame["b"].tolist() == ["y"] * 80


def test_as_many_rows_as_have_the_given_number_not_all_of_its_bin():
    schema = Schema(
        columns=(Integer(name="age", min=0, max=99, bins=(0, 50, 100), nullable=False),)
    )
    model = ProductModel(schema, 1000.0, {"age": np.array([0.5, 0.5])})
    even = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    assert len(even.sample(given={"age": 37}, kind="pandas")) == 10


def test_a_given_number_stays_itself_though_its_bin_is_wide():
    frame = release().sample(30, given={"age": 37}, seed=1)
    assert frame["age"].tolist() == [37] * 30
    assert release().sample(3, given={"age": None})["age"].isna().all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sex": "x"}, 'column "sex"'),
        ({"age": 500}, 'column "age"'),
        ({"nobody": 1}, "takes no part"),
    ],
)
def test_a_given_value_outside_its_domain_is_refused_without_repeating_it(given, said):
    with pytest.raises(Refused, match=said) as caught:
        release().sample(3, given=given)
    assert "500" not in str(caught.value)


class Unconditional:
    """A model that can only sample."""

    kind = "product"

    def __init__(self, model):
        self.schema, self.total = model.schema, model.total
        self.marginal, self.sample, self.to_parts = (
            model.marginal,
            model.sample,
            model.to_parts,
        )


def test_a_model_that_cannot_condition_refuses_to():
    plain = release()
    blunt = Release(
        guarantee=plain.guarantee, schema=SMALL, model=Unconditional(plain.model)
    )
    assert len(blunt.sample(3)) == 3
    with pytest.raises(Refused, match="cannot fix columns"):
        blunt.sample(3, given={"sex": "F"})


def test_microdata_are_one_fixed_table():
    codes = codes_of(SMALL, 10)
    rows = release(model=None, kind=ReleaseKind.MICRODATA, microdata=codes)
    assert len(rows.sample()) == 10
    assert rows.sample(kind="pandas")["smoker"].equals(
        rows.sample(kind="pandas")["smoker"]
    )
    assert len(rows.sample(4)) == 4
    with pytest.raises(Refused, match="no more to give"):
        rows.sample(11)
    with pytest.raises(Refused, match="fixed table"):
        rows.sample(given={"sex": "F"})


def test_tables_alone_have_no_rows_to_give():
    tables = release(model=None, kind=ReleaseKind.TABLES)
    assert tables.tables()
    with pytest.raises(Refused, match="tables, not a model"):
        tables.sample()


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": ReleaseKind.TABLES},
        {"kind": ReleaseKind.MICRODATA},
        {"microdata": codes_of(SMALL, 3)},
        {"guarantee": Guarantee.without_data()},
        {
            "guarantee": Guarantee(
                epsilon=Fraction(1), accounting=Accounting.PURE, amount=Fraction(1)
            )
        },
        {
            "guarantee": Guarantee(
                epsilon=Fraction(1),
                accounting=Accounting.GDP,
                amount=Fraction(1, 10**6),
            )
        },
        {
            "guarantee": Guarantee(
                epsilon=Fraction(1), accounting=Accounting.GDP, amount=Fraction(1)
            )
        },  # the threshold's δ is not covered
        {"frame": "excel"},
        {"options": {"callback": print}},
        {"options": {"share": float("nan")}},
    ],
)
def test_a_release_that_contradicts_itself_is_refused(changes):
    with pytest.raises(ReleaseError):
        release(**changes)


@pytest.mark.parametrize(
    "schema", [Schema(columns=(Integer(name="age"),)), Schema(columns=())]
)
def test_a_schema_with_something_left_to_learn_or_nothing_in_it_is_refused(schema):
    with pytest.raises(ReleaseError, match="schema"):
        Release(
            guarantee=Guarantee.without_data(), schema=schema, kind=ReleaseKind.TABLES
        )


@pytest.mark.parametrize(
    "codes",
    [
        {"sex": np.zeros(3, np.uint8)},
        {**codes_of(SMALL, 3), "sex": np.full(3, 9, np.uint8)},
        {**codes_of(SMALL, 3), "sex": np.zeros(4, np.uint8)},
        {**codes_of(SMALL, 3), "sex": np.zeros(3, np.int64)},
    ],
)
def test_microdata_outside_the_schema_are_refused(codes):
    with pytest.raises(ReleaseError, match="microdata"):
        release(model=None, kind=ReleaseKind.MICRODATA, microdata=codes)


def test_it_shows_itself():
    text = repr(release())
    assert (
        text.splitlines()[0]
        == "guarantee  Private with ε = 1, δ = 1e-9 for adding or removing one row."
    )
    assert "public by your declaration or the table's header: the values of sex" in text
    assert "42 by default, the noisy estimate" in text


def test_a_notebook_shows_names_and_never_runs_them():
    name = "<script>alert(1)</script>"
    schema = Schema(columns=(Integer(name=name, min=0, max=1),))
    shown = Release(
        guarantee=Guarantee.without_data(public=('<img src=x onerror="alert(2)">',)),
        schema=schema,
        model=ProductModel.uniform(schema, 1.0),
        synthesizer="<b>",
    )._repr_html_()
    for bad in ("<script", "<img", "<b>", 'onerror="'):
        assert bad not in shown
    assert "&lt;script&gt;" in shown


def test_nothing_but_what_was_paid_for_leaves():
    """Every field of the file is known; there is none in which a count of rows, a path,
    a hash of rows or a time could stand.
    """
    document = json.loads(hostile.unzip(to_bytes(release()))["release.json"])
    assert " ".join(sorted(document)) == (
        "card environment format frame gaps guarantee kind measurements microdata model notes schema sparse statement synthesizer version"
    )
    assert set(document["statement"]) == {
        "dataset",
        "epsilon",
        "delta",
        "steps",
        "ledger",
        "run",
        "day",
    }
    assert set(document["environment"]) == {"understudy", "python", "numpy", "duckdb"}
    assert date.fromisoformat(document["statement"]["day"])


def test_the_environment_says_versions_and_nothing_about_the_machine():
    import getpass
    import platform

    text = json.dumps(environment())
    assert platform.node() not in text
    assert getpass.getuser() not in text


def test_the_same_measurements_may_be_used_by_two_kinds_of_release():
    held = measured()
    for model, kind in (("product", ReleaseKind.MODEL), (None, ReleaseKind.TABLES)):
        assert release(model=model, kind=kind, measurements=held).measurements is held


def test_a_wide_given_asks_for_a_number_of_rows():
    many = Schema(
        columns=tuple(
            Integer(name=f"c{i}", min=0, max=63, nullable=False) for i in range(5)
        )
    )
    wide = Release(
        guarantee=Guarantee.without_data(),
        schema=many,
        model=ProductModel.uniform(many, 10.0),
    )
    fixed = {f"c{i}": 1 for i in range(5)}
    with pytest.raises(Refused, match="Say how many rows"):
        wide.sample(given=fixed)
    assert len(wide.sample(2, given=fixed, kind="pandas")) == 2


def test_a_measurement_may_cost_all_there_is_and_not_more():
    def of(amount):
        one = Measurement(
            ("sex",),
            (Identity(2),),
            np.array([1, 2]),
            Law.ROUNDED_GAUSSIAN,
            Fraction(3),
            Cost(Accounting.GDP, amount),
        )
        held = Measurements((one,))
        return Release(
            guarantee=guarantee(),
            schema=SMALL,
            measurements=held,
            model=model_of(SMALL, "product"),
        )

    assert of(guarantee().amount).rows == 42
    with pytest.raises(ReleaseError, match="cost more"):
        of(guarantee().amount + Fraction(1, 10**30))
