"""Opening: what can be known to fail fails before anything is spent."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from understudy.errors import Refused, TableError
from understudy.schema import Boolean, Categorical, Identifier, Integer, Schema
from understudy.workflow.describe import describe
from understudy.workflow.synthesize import synthesize


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-30", "1e-10"])
def test_an_epsilon_too_small_for_any_noise_is_refused_before_it_is_spent(
    epsilon, tmp_path
):
    path = tmp_path / "people.csv"
    path.write_text("smoker\nyes\n")
    schema = Schema(columns=(Boolean(name="smoker"),))
    with pytest.raises(Refused, match=r"noise alone.*Nothing was spent"):
        synthesize(path, schema, epsilon=epsilon, delta=0)
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize("accounting", ["gdp", "zcdp"])
def test_a_budget_too_small_for_any_gaussian_noise_is_refused_before_it_is_spent(
    accounting, tmp_path
):
    path = tmp_path / "people.csv"
    path.write_text("smoker\nyes\n")
    schema = Schema(columns=(Boolean(name="smoker"),))
    with pytest.raises(Refused, match=r"noise alone.*Nothing was spent"):
        synthesize(path, schema, epsilon="1e-12", delta="1e-20", accounting=accounting)
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_the_smallest_epsilon_is_not_refused(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("smoker\nyes\n")
    columns = (*(Boolean(name=f"c{i}") for i in range(30)), Boolean(name="smoker"))
    path.write_text(",".join(c.name for c in columns) + "\n")
    assert synthesize(
        path, Schema(columns=columns), epsilon="1e-5", delta=0
    ).guarantee.epsilon == Fraction(1, 10**5)


def test_a_schema_that_could_not_be_read_again_is_refused_before_anything_is_spent(
    tmp_path,
):
    """Two hundred thousand bins are no bins that a file may state: a release with them
    would be paid for, and lost when it is opened.
    """
    path = tmp_path / "people.csv"
    path.write_text("x\n5\n")
    schema = Schema(
        columns=(
            Integer(
                name="x", min=0, max=399_999, bins=(*range(0, 400_000, 2), 400_000)
            ),
        )
    )
    with pytest.raises(
        Refused, match=r'could not be read again. column "x": .*Nothing was spent'
    ):
        synthesize(path, schema, epsilon=1)
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_columns_come_back_in_the_order_of_the_table_and_not_of_the_schema(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,b,c,id\n1,0,1,7\n" * 3)
    columns = (
        Boolean(name="c"),
        Identifier(name="id"),
        Boolean(name="a"),
        Boolean(name="b"),
    )
    release = synthesize(path, Schema(columns=columns), epsilon=1)
    assert list(release.schema) == ["a", "b", "c"]
    assert release.sample(5, kind="pyarrow").column_names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ("31,M", "name 1 is a number"),
        ("M;-3,75", "name 2 is a number"),
        ("M,1e5", "name 2 is a number"),
        ("M\t1,234.50", "name 2 is a number"),
        ("F,1994-05-31", "name 2 is a date"),
        ("F,1994-05-31 12:30", "name 2 is a date"),
        ("31.5.1994,F", "name 1 is a date"),
        ("F,5/31/94", "name 2 is a date"),
        (",M,31", "name 3 is a number"),
        ("M,1960", "name 2 is a number"),
        ("M,1960,1985,Oslo", "name 2 is a number"),
        ("1960,1961,1962", "name 1 is a number"),
        ("M,1960,1985,1987", "name 2 is a number"),
        ("M,1960,x,1961,1962", "name 2 is a number"),
        ("M,1960,1961,1962,7", "name 5 is a number"),
    ],
)
def test_a_first_row_in_the_place_of_names_is_refused_and_not_repeated(
    first, says, tmp_path
):
    """The names of columns are public: somebody's row must not become them."""
    path = tmp_path / "people.csv"
    path.write_text(f"\n{first}\n" * 3)
    for make in (describe, lambda table: synthesize(table, epsilon=1)):
        with pytest.raises(
            TableError,
            match=rf"^people.csv:2: looks like a row and not like names \({says}\). Add",
        ) as told:
            make(path)
        cells = [cell for cell in re.split(r"[,;\t]", first) if cell]
        assert not any(cell in str(told.value) for cell in cells)
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_numbers_are_names_where_a_schema_or_a_frame_says_so(tmp_path):
    import pandas as pd

    path = tmp_path / "years.csv"
    path.write_text("2024,sex\n1,F\n" * 3)
    columns = (Boolean(name="2024"), Categorical(name="sex", values=("F", "M")))
    assert list(synthesize(path, Schema(columns=columns), epsilon=1).schema) == [
        "2024",
        "sex",
    ]
    assert list(describe(pd.DataFrame({"2024": [1, 0]}))) == ["2024"]


def test_years_beside_words_are_names(tmp_path):
    path = tmp_path / "lands.csv"
    path.write_text("land,1960,1961,1962\n" + "Norway,1,2,3\n" * 40)
    assert list(describe(path)) == ["land", "1960", "1961", "1962"]


def test_the_row_numbers_of_a_frame_are_left_out_with_a_notice(tmp_path):
    import pandas as pd

    path = tmp_path / "people.csv"
    pd.DataFrame({"sex": ["F", "M"] * 50}).to_csv(path)
    drafted = describe(path)
    assert (drafted["index"].type, drafted["index"].is_modelled) == (
        "identifier",
        False,
    )
    release = synthesize(path, epsilon=5, anyway=True)
    assert [column.name for column in release.schema.columns if column.is_modelled] == [
        "sex"
    ]
    texts = [notice.text for notice in release.notices]
    assert "Left out: index (row numbers without a name)." in texts
