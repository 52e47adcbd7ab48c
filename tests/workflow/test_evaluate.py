"""The verb: from files to an evaluation, noted in the ledger, with what could not be
compared listed.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm

import understudy as us
from understudy.accounting.ledger import Ledger
from understudy.errors import Refused
from understudy.findings import INTERNAL_MARKING
from understudy.schema import Categorical, Integer, Schema
from understudy.schema.formula import guard_formula
from understudy.workflow.compare import LABEL_NOT_IN_REAL
from understudy.workflow.evaluate import evaluate
from understudy.workflow.evaluation import CHOICE_WARNING

SCHEMA = us.Schema(
    columns=(
        us.Identifier(name="id"),
        us.Integer(name="age", min=18, max=90, role=us.Role.QUASI_IDENTIFIER),
        us.Categorical(name="sex", values=("F", "M"), role=us.Role.QUASI_IDENTIFIER),
        us.Boolean(name="smoker", role=us.Role.SENSITIVE),
    )
)

ROWS = 300
PLAIN = {"targets": ()}
"""Without classifiers, where a test is about something else."""


def frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, n)
    return pd.DataFrame(
        {
            "id": [f"p{seed}-{i}" for i in range(n)],
            "age": age,
            "sex": rng.choice(["F", "M"], n),
            "smoker": rng.random(n) < age / 120,
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame(ROWS, 1).to_csv(tmp_path / "real.csv", index=False)
    frame(ROWS, 2).to_csv(tmp_path / "holdout.csv", index=False)
    frame(ROWS, 3).drop(columns="id").to_csv(tmp_path / "fake.csv", index=False)
    return tmp_path


def test_from_files_to_both_assessments(folder: Path) -> None:
    stages = []
    found = evaluate(
        folder / "real.csv",
        folder / "fake.csv",
        schema=SCHEMA,
        holdout=folder / "holdout.csv",
        formulas={"smoker ~ age": "logit"},
        progress=lambda stage, done: stages.append(stage),
    )
    assert found.utility["tvd_2"].is_computed
    assert found.risk is not None
    assert found.risk.facts["quasi_identifiers"] == ["age", "sex"]
    assert found.risk.facts["sensitive"] == ["smoker"]
    assert found.risk["singling_out"].is_computed
    assert found.noted is None
    assert stages.count("done") == 2
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["marking"] == INTERNAL_MARKING
    assert held["choice"] == CHOICE_WARNING
    ages = next(each for each in found.distributions if each.column == "age")
    assert sum(ages.real) == sum(ages.synthetic) == ROWS
    assert len(ages.labels) == len(ages.real)
    assert CHOICE_WARNING in str(found)


def test_a_release_is_sampled_attacked_and_shown_beside_its_bound(folder: Path) -> None:
    release = us.synthesize(
        folder / "real.csv", SCHEMA, epsilon=1, ledger=folder / "one.ledger"
    )
    release.save(folder / "one.understudy")
    found = evaluate(
        folder / "real.csv",
        release=folder / "one.understudy",
        holdout=folder / "holdout.csv",
    )
    assert found.release is not None
    assert found.risk is not None
    attack = found.risk["membership_measurements"]
    assert attack.is_computed
    # A GDP run: the bounds are those of its μ, tighter than those of (ε, δ).
    mu = math.sqrt(release.guarantee.amount)
    bounds = [part.facts["bound"] for part in attack.parts if "true" in part.name]
    assert bounds == pytest.approx(
        [norm.cdf(norm.ppf(rate) + mu) for rate in (0.01, 0.1)], abs=1e-6
    )
    assert attack.facts["bound"] == pytest.approx(norm.cdf(mu / math.sqrt(2)), abs=1e-6)
    assert attack.interval[0] <= attack.facts["bound"]
    assert bounds[0] < 0.0271828
    assert found.to_dict()["guarantee"] == release.guarantee.sentence()
    # As a newcomer types it: the release in the place of the synthetic table.
    beside = evaluate(folder / "real.csv", release, risk=False, **PLAIN)
    assert beside.to_dict()["guarantee"] == release.guarantee.sentence()
    with pytest.raises(Refused, match="one release"):
        evaluate(folder / "real.csv", release, release=release)


def test_the_look_is_noted_before_it_is_taken(folder: Path) -> None:
    us.synthesize(folder / "real.csv", SCHEMA, epsilon=1, ledger=folder / "my.ledger")
    before = Ledger.open(folder / "my.ledger").totals()
    found = evaluate(
        folder / "real.csv",
        folder / "fake.csv",
        schema=SCHEMA,
        risk=False,
        ledger=folder / "my.ledger",
        **PLAIN,
    )
    assert found.noted == folder / "my.ledger"
    with Ledger.open(folder / "my.ledger") as book:
        last = book.entries()[-1]
        assert last.event == "evaluate"
        assert book.totals().epsilon == before.epsilon
        assert book.totals().entries == before.entries + 1


def test_a_ledger_beside_the_file_is_used_without_being_asked(folder: Path) -> None:
    us.synthesize(folder / "real.csv", SCHEMA, epsilon=1)
    found = evaluate(
        folder / "real.csv", folder / "fake.csv", schema=SCHEMA, risk=False, **PLAIN
    )
    assert found.noted == folder / "real.csv.ledger"


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "duckdb"])
def test_every_kind_of_frame(kind: str) -> None:
    table = pa.Table.from_pandas(frame(80, 1).drop(columns="id"))
    made = {
        "pandas": lambda: table.to_pandas(),
        "polars": lambda: pl.from_arrow(table),
        "pyarrow": lambda: table,
        "duckdb": lambda: duckdb.from_arrow(table),
    }[kind]()
    assert evaluate(made, made, risk=False, **PLAIN).utility["kmarginal"].value == 1000


def test_without_a_schema_the_real_table_is_looked_at_and_new_labels_show() -> None:
    real = pa.table({"job": ["a", "b"] * 50, "n": list(range(100))})
    fake = pa.table({"job": ["a", "zebra"] * 50, "n": list(range(100))})
    found = evaluate(real, fake, risk=False, **PLAIN)
    jobs = next(each for each in found.distributions if each.column == "job")
    assert jobs.synthetic[jobs.labels.index(LABEL_NOT_IN_REAL)] == 50
    assert found.utility["tvd_1"].parts[0].value == pytest.approx(0.5)


def test_a_holdout_has_a_say_in_the_schema_that_is_looked_up() -> None:
    """Else the values that only strangers have would tell strangers from members."""
    real = pa.table({"job": ["a", "b"] * 50, "n": [1, 2, 3, 4] * 25})
    apart = pa.table({"job": ["a", "c"] * 50, "n": [1, 2, 3, 9] * 25})
    found = evaluate(real, real, holdout=apart, **PLAIN)
    assert found.schema["job"].values == ("a", "b", "c")
    assert (found.schema["n"].min, found.schema["n"].max) == (1, 9)


def test_what_a_schema_leaves_open_is_filled_in_for_the_comparison(
    folder: Path,
) -> None:
    opened = us.Schema(
        columns=(
            us.Categorical(name="sex", missing=("X",)),
            us.Integer(name="age", min=0),
            us.Boolean(name="smoker"),
        )
    )
    found = evaluate(
        folder / "real.csv", folder / "fake.csv", schema=opened, risk=False, **PLAIN
    )
    assert found.schema.is_closed
    assert found.schema["sex"].values == ("F", "M")
    assert (found.schema["age"].min, found.schema["age"].max) == (0, 90)


def test_columns_that_one_table_lacks_are_left_out_and_listed(folder: Path) -> None:
    wide = replace(
        SCHEMA, columns=(*SCHEMA.columns, us.Integer(name="height", min=0, max=250))
    )
    real = frame(50, 1)
    real["height"] = 170
    found = evaluate(real, folder / "fake.csv", schema=wide, risk=False, **PLAIN)
    assert found.left_out == (("height", "it is not in the synthetic table"),)
    assert ('column "height"', "it is not in the synthetic table") in found.not_computed
    with pytest.raises(Refused, match="no column in common"):
        evaluate(pa.table({"a": [1]}), pa.table({"b": [1]}))


def test_copies_keys_and_a_named_file(folder: Path) -> None:
    real = pd.read_csv(folder / "real.csv")
    voters = real[["id", "age", "sex"]].iloc[:200]
    found = evaluate(
        real,
        real,
        schema=SCHEMA,
        copies=[real],
        intruder=us.Intruder(key="id", named=voters, radius={"age": 0}),
        **PLAIN,
    )
    assert found.risk is not None
    match = found.risk["match_risk"]
    assert match.facts["aligned"] is True
    assert match.facts["copies"] == 2
    alone = (real.groupby(["age", "sex"]).id.transform("size") == 1).mean()
    assert match.facts["true_match_rate"] == pytest.approx(alone)
    links = found.risk["linkage"]
    assert links.is_computed
    assert all(part.value == 1 for part in links.parts if part.is_computed)


def test_a_table_with_a_unit_is_compared_row_by_row(folder: Path) -> None:
    unit = replace(SCHEMA, unit=us.Unit(id="id", max_rows=2))
    release = us.synthesize(
        folder / "real.csv", unit, epsilon=1, ledger=folder / "unit.ledger"
    )
    found = evaluate(
        folder / "real.csv", release=release, holdout=folder / "holdout.csv", **PLAIN
    )
    assert found.utility["tvd_1"].is_computed
    assert found.risk is not None
    assert "bounded per unit" in found.risk["membership_measurements"].reason


def test_what_is_refused_reads_nothing(folder: Path) -> None:
    with pytest.raises(Refused, match="Give a synthetic table"):
        evaluate(folder / "real.csv")
    with pytest.raises(Refused, match='"nonsense"'):
        evaluate(
            folder / "real.csv",
            folder / "fake.csv",
            schema=SCHEMA,
            intruder=us.Intruder(quasi=["nonsense"]),
        )


@pytest.mark.parametrize("broken", ["keep", "drop", "missing"])
def test_rows_that_break_a_rule_are_compared_as_they_are(broken: str) -> None:
    schema = Schema.parse(
        "columns: {age: {type: integer, min: 0, max: 99}, smoker: {type: boolean}}\n"
        f"rules: [if age < 15 then smoker = false]\nbroken: {broken}"
    )
    real = pl.DataFrame({"age": [10, 40] * 50, "smoker": [False, True] * 50})
    fake = pl.DataFrame({"age": [10, 40] * 50, "smoker": [True, True] * 50})
    found = evaluate(real, fake, schema=schema, **PLAIN)
    assert found.utility["violations"].value == 0.5
    assert found.facts["rows_synthetic"] == 100


def test_a_key_aligns_the_tables_that_have_it(folder: Path) -> None:
    frame(100, 1)[["id", "age", "sex"]].to_csv(folder / "named.csv", index=False)
    linked = evaluate(
        folder / "real.csv",
        folder / "fake.csv",
        schema=SCHEMA,
        intruder=us.Intruder(named=folder / "named.csv", key="id"),
        **PLAIN,
    ).risk
    assert linked is not None
    assert linked["match_risk"].facts["aligned"] is False, (
        "the synthetic table's rows stand for nobody"
    )
    assert "links_of_members" in linked["linkage"].facts
    frame(100, 1)[["age", "sex"]].to_csv(folder / "nameless.csv", index=False)
    plain = evaluate(
        folder / "real.csv",
        folder / "fake.csv",
        schema=SCHEMA,
        intruder=us.Intruder(named=folder / "nameless.csv", key="id"),
        **PLAIN,
    ).risk
    assert plain is not None
    assert plain["linkage"].is_computed
    assert "links_of_members" not in plain["linkage"].facts
    pl.DataFrame({"colour": ["red"]}).write_csv(folder / "strange.csv")
    strange = evaluate(
        folder / "real.csv",
        folder / "fake.csv",
        schema=SCHEMA,
        intruder=us.Intruder(named=folder / "strange.csv"),
        **PLAIN,
    ).risk
    assert strange is not None
    assert (
        strange["linkage"].reason
        == "the file with names has none of the columns age, sex"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"intruder": us.Intruder(radius={"colour": 1.0})},
            'column "colour" is not among those',
        ),
        ({"intruder": us.Intruder(radius={"sex": 1.0})}, 'column "sex" has no numbers'),
        (
            {"intruder": us.Intruder(radius={"age": 1.0}, quasi=["sex"])},
            'column "age" has a radius and is no quasi-identifier',
        ),
        ({"intruder": us.Intruder(key="colour")}, 'column "colour" is not in real.csv'),
        (
            {"intruder": us.Intruder(on=["colour"])},
            'column "colour" is not among those',
        ),
        (
            {"copies": ["part.csv"]},
            'part.csv: column "sex" of the other tables is missing',
        ),
        (
            {"holdout": "part.csv"},
            'part.csv: column "sex" of the other tables is missing',
        ),
        (
            {"synthetic": "strange.csv"},
            "real.csv and strange.csv have no column in common",
        ),
        (
            {"real": "header.csv", "schema": None},
            'header.csv and fake.csv .* \\(column "age": every cell of it is empty',
        ),
    ],
)
def test_what_would_be_passed_over_is_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, object],
    words: str,
) -> None:
    monkeypatch.chdir(folder)
    frame(50, 4)[["age"]].to_csv(folder / "part.csv", index=False)
    pl.DataFrame({"colour": ["red"]}).write_csv(folder / "strange.csv")
    (folder / "header.csv").write_text("age,sex,smoker\n")
    given: dict[str, object] = {
        "real": "real.csv",
        "synthetic": "fake.csv",
        "schema": SCHEMA,
    } | options
    with pytest.raises(Refused, match=words):
        evaluate(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("described", ["schema", "draft"])
def test_labels_and_names_that_were_guarded_against_formulas_are_read_back(
    described, tmp_path
):
    """A synthetic CSV file spells =1+1 with an apostrophe; compared with the real one
    it is the same label.
    """
    schema = Schema(
        columns=(
            Categorical(
                name="=kind", values=("=1+1", "@x", "plain"), missing=("-none",)
            ),
            Integer(name="age", min=0, max=9, missing=("=unknown",)),
        )
    )
    cells = [("=1+1", "3"), ("@x", "=unknown"), ("plain", "5"), ("-none", "7")] * 50
    real = tmp_path / "real.csv"
    real.write_text("=kind,age\n" + "".join(f"{kind},{age}\n" for kind, age in cells))
    fake = tmp_path / "fake.csv"
    fake.write_text(
        "'=kind,age\n"
        + "".join(
            f"{guard_formula(kind)},{guard_formula(age)}\n" for kind, age in cells
        )
    )
    given = schema if described == "schema" else None
    found = evaluate(real, fake, schema=given, risk=False)
    assert found.left_out == ()
    assert {part.name: part.value for part in found.utility["tvd_1"].parts} == {
        "=kind": 0.0,
        "age": 0.0,
    }
