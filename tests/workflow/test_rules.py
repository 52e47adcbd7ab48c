"""Rules through a whole run: kept by every row that leaves, refused early where no row
can keep them.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from understudy.accounting.ledger import Ledger
from understudy.errors import Refused, SchemaError
from understudy.releases.release import load_release
from understudy.schema import Schema
from understudy.workflow.planning.plan import plan
from understudy.workflow.synthesize import synthesize

PAGE = """
columns:
  arrived: {type: date, min: 2020-01-01, max: 2023-12-31}
  left: {type: date, min: 2020-01-01, max: 2023-12-31}
  wage: {type: integer, min: 0, max: 5000, nullable: false}
  rent: {type: integer, min: 0, max: 5000, nullable: false}
  income: {type: integer, min: 0, max: 10000, nullable: false}
  town: {type: categorical, values: [Bern, Biel, Zug, Baar], nullable: false}
  canton: {type: categorical, values: [BE, ZG], nullable: false}
rules:
  - arrived <= left
  - wage + rent = income
  - {from: town, to: canton, map: {Bern: BE, Biel: BE, Zug: ZG, Baar: ZG}}
broken: drop
"""


@pytest.fixture
def people() -> pl.DataFrame:
    """A table that keeps the rules, but for some rows that do not."""
    rng = np.random.default_rng(0)
    n = 2_000
    arrived = rng.integers(18_262, 19_500, n)
    wage, rent = rng.integers(0, 4_000, n), rng.integers(0, 900, n)
    town = rng.integers(0, 4, n)
    wrong = rng.random(n) < 0.05
    return pl.DataFrame(
        {
            "arrived": pl.Series(arrived).cast(pl.Int32).cast(pl.Date),
            "left": pl.Series(arrived + np.where(wrong, -9, rng.integers(0, 20, n)))
            .cast(pl.Int32)
            .cast(pl.Date),
            "wage": wage,
            "rent": rent,
            "income": wage + rent + np.where(wrong, 7, 0),
            "town": np.array(["Bern", "Biel", "Zug", "Baar"])[town],
            "canton": np.array(["BE", "BE", "ZG", "ZG"])[town],
        }
    )


def broken(rows: pl.DataFrame) -> int:
    homes = {"Bern": "BE", "Biel": "BE", "Zug": "ZG", "Baar": "ZG"}
    wrong = (
        (pl.col("arrived") > pl.col("left")).fill_null(False)
        | (pl.col("wage") + pl.col("rent") != pl.col("income"))
        | (
            pl.col("town").cast(pl.String).replace_strict(homes)
            != pl.col("canton").cast(pl.String)
        )
    )
    return rows.filter(wrong).height


@pytest.mark.parametrize("synthesizer", ["independent", "mst"])
def test_no_row_that_leaves_breaks_a_rule(people, synthesizer, tmp_path):
    """Also where the columns of a rule were never measured together, as by
    `independent`.
    """
    assert broken(people) > 50
    release = synthesize(
        people,
        Schema.parse(PAGE),
        epsilon=1,
        synthesizer=synthesizer,
        ledger=tmp_path / "l",
    )
    assert broken(release.sample(30_000, seed=1)) == 0
    release.write(tmp_path / "out.csv", 5_000, seed=2)
    assert broken(pl.read_csv(tmp_path / "out.csv", try_parse_dates=True)) == 0
    release.save(tmp_path / "r.understudy")
    again = load_release(tmp_path / "r.understudy")
    assert again.schema == release.schema
    assert broken(again.sample(2_000, seed=3)) == 0
    given = release.sample(500, seed=4, given={"town": "Zug", "arrived": "2021-05-05"})
    assert broken(given) == 0
    assert set(given["canton"].cast(pl.String)) == {"ZG"}
    assert given["arrived"].n_unique() == 1


def test_rules_that_no_row_can_keep_are_refused_before_anything_is_spent(
    people, tmp_path
):
    schema = Schema.parse(
        PAGE.replace(
            "- wage + rent = income", "- {name: rich, always: wage + rent > 20000}"
        )
    )
    with pytest.raises(
        SchemaError, match=r"rule rich: no row can keep it.*Nothing was spent"
    ):
        synthesize(people, schema, epsilon=1, ledger=tmp_path / "l")
    assert not (tmp_path / "l").exists()
    with pytest.raises(SchemaError, match="rule rich"):
        plan(schema, epsilon=1)


def test_dropping_is_refused_where_the_number_of_rows_is_public(people, tmp_path):
    for refused in (
        lambda: synthesize(
            people,
            Schema.parse(PAGE),
            epsilon=1,
            neighbours="replace",
            ledger=tmp_path / "l",
        ),
        lambda: plan(Schema.parse(PAGE), epsilon=1, neighbours="replace"),
    ):
        with pytest.raises(Refused, match="broken: drop changes the number of rows"):
            refused()
    assert not (tmp_path / "l").exists()


def test_the_guarantee_names_the_rules(people, tmp_path):
    release = synthesize(people, Schema.parse(PAGE), epsilon=1, ledger=tmp_path / "l")
    assert "that in every row wage + rent = income" in release.guarantee.public
    assert "that rows which break a rule are left out" in release.guarantee.public
    with Ledger.open(tmp_path / "l"):
        pass


VISITS = """
unit: {id: patient, max_rows: 3}
columns:
  patient: {type: identifier, generate: true}
  sex: {type: categorical, values: [F, M], nullable: false, constant: true}
  town: {type: categorical, values: [Bern, Biel, Zug], nullable: false, constant: true}
  canton: {type: categorical, values: [BE, ZG], nullable: false}
  cost: {type: integer, min: 0, max: 999, nullable: false}
rules:
  - {from: town, to: canton, map: learn}
count_broken: true
"""


def test_people_with_several_rows_come_back_as_such(tmp_path):
    """Fresh keys, a paid number of rows for each, constant columns constant, a bought
    map kept.
    """
    rng = np.random.default_rng(0)
    people = 3_000
    rows = rng.choice([1, 2, 3, 9], people, p=[0.5, 0.3, 0.1, 0.1])
    who = np.repeat(np.arange(people), rows)
    sex, town = rng.integers(0, 2, people)[who], rng.integers(0, 3, people)[who]
    frame = pl.DataFrame(
        {
            "patient": who,
            "sex": np.array(["F", "M"])[sex],
            "town": np.array(["Bern", "Biel", "Zug"])[town],
            "canton": np.array(["BE", "BE", "ZG"])[town],
            "cost": rng.integers(0, 999, who.size),
        }
    )
    release = synthesize(
        frame, Schema.parse(VISITS), epsilon=4, ledger=tmp_path / "l", synthesizer="mst"
    )
    assert "how many rows each patient has" in release.guarantee.learned
    assert "the map from town to canton" in release.guarantee.learned
    assert sum("rows break a rule" in line for line in release.guarantee.learned) <= 1
    assert {step.asked for step in release.statement.steps} >= {
        "rows per unit",
        "marginals",
    }
    release.save(tmp_path / "r.understudy")
    sample = load_release(tmp_path / "r.understudy").sample(seed=1)
    each = sample.group_by("patient").agg(
        pl.len(),
        pl.col("sex").n_unique().alias("sexes"),
        pl.col("town").n_unique().alias("towns"),
    )
    assert each["sexes"].max() == each["towns"].max() == 1
    shares = each["len"].value_counts().sort("len")["count"].to_numpy() / each.height
    # The noisy histogram has a standard deviation of about 10 patients in 3,000 here;
    # 0.03 is nine of them.
    assert np.abs(shares - [0.5, 0.3, 0.2]).max() < 0.03
    assert not set(sample["patient"].to_list()) & set(range(people))
    assert sample.filter(
        (pl.col("town").cast(pl.String) == "Zug")
        & (pl.col("canton").cast(pl.String) != "ZG")
    ).is_empty()
