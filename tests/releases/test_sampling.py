"""Rows of a release: how many, with which seed, and with which columns given."""

from __future__ import annotations

import numpy as np
import pytest

from kit.releases.builders import (
    EVERY_TYPE,
    SMALL,
    codes_of,
    release,
)
from understudy.errors import Refused
from understudy.models import DenseModel, ProductModel
from understudy.releases import Guarantee, Release, ReleaseKind
from understudy.schema import Categorical, Integer, Schema


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


def binned_release() -> Release:
    """Ages in two bins, of which the second holds three times as many rows, and a town
    that goes with the age.
    """
    schema = Schema(
        columns=(
            Integer(name="age", min=0, max=99, bins=(0, 50, 100)),
            Categorical(name="town", values=("A", "B", "C"), nullable=False),
        )
    )
    shares = np.array([[0.2, 0.05, 0.0], [0.1, 0.3, 0.3], [0.0, 0.0, 0.05]])
    model = DenseModel(schema, 1000.0, ("age", "town"), shares)
    return Release(guarantee=Guarantee.without_data(), schema=schema, model=model)


def test_several_given_values_share_rows_as_the_model_does():
    frame = binned_release().sample(given={"town": ["A", "B"]}, seed=1, kind="polars")
    counts = dict(frame["town"].value_counts().iter_rows())
    assert counts == {"A": 300, "B": 350}, "650 of 1,000 rows match"
    young = frame.filter(frame["age"] < 50)
    assert len(young) == 250


def test_a_given_range_holds_and_counts_the_parts_of_bins_that_it_cuts():
    made = binned_release()
    frame = made.sample(given={"age": "40..59"}, seed=1, kind="polars")
    assert frame["age"].min() == 40
    assert frame["age"].max() == 59
    density = made.evidence.bin_densities["age"]
    below = 1 - density.below(0, 40)
    above = density.below(1, 60)
    assert len(frame) == round(250 * below + 700 * above)
    assert (frame["age"] < 50).sum() == pytest.approx(250 * below, abs=1)
    assert made.sample(5, given={"age": "90.."})["age"].min() >= 90
    assert made.sample(5, given={"age": "..3"})["age"].max() <= 3
    # A sliver of a bin is drawn too, and the bounds of the column stay bounds.
    thin = made.sample(400, given={"age": "98..500"}, seed=2, kind="polars")["age"]
    assert sorted(set(thin)) == [98, 99]


def test_values_ranges_and_missing_can_be_mixed():
    given = {"age": [None, 7, "60..62"], "town": ("B", "C")}
    frame = binned_release().sample(600, given=given, seed=3, kind="polars")
    assert set(frame["age"]) == {None, 7, 60, 61, 62}
    assert set(frame["town"]) == {"B", "C"}
    # Towns of missing ages are C alone, as in the model.
    assert set(frame.filter(frame["age"].is_null())["town"]) == {"C"}


def test_what_the_model_expects_nowhere_is_given_all_the_same():
    frame = binned_release().sample(
        40, given={"age": "0..49", "town": ["C"]}, kind="polars"
    )
    assert set(frame["town"]) == {"C"}
    assert frame["age"].max() < 50


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("30..20", "no value lies in the given range"),
        ("200..300", "no value lies in the given range"),
        ("x..20", "LOW..HIGH"),
        ("18-30", "not in its domain"),
    ],
)
def test_a_range_that_holds_nothing_is_refused(text, said):
    with pytest.raises(Refused, match=said) as caught:
        binned_release().sample(3, given={"age": text})
    assert text not in str(caught.value)
    with pytest.raises(Refused, match="no value is given"):
        binned_release().sample(3, given={"age": []})


def test_a_label_may_look_like_a_range():
    schema = Schema(columns=(Categorical(name="band", values=("1..5", "6..9")),))
    model = ProductModel.uniform(schema, total=30.0)
    made = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    assert set(made.sample(given={"band": "1..5"}, kind="polars")["band"]) == {"1..5"}
