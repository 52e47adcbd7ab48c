"""A census of persons in households, from a file to linked files."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from understudy.censuses.output.files import write_census
from understudy.errors import LedgerError, Refused
from understudy.workflow.run_options import RunOptions

SCHEMA = """
columns:
  home: identifier
  state: {type: categorical, values: [n, s], nullable: false}
  age: {type: categorical, values: [child, adult], nullable: false}
  kind: {type: categorical, values: [own, rent, facility], nullable: false}
  role: {type: categorical, values: [head, other], nullable: false}
impossible: ["age = 'child' and role = 'head'", "kind = 'facility' and role = 'head'"]
census:
  hierarchy: {columns: [state]}
  plan: {queries: {total: 1, "kind * role": 1, detail: 1}}
  invariants: [{level: state, query: total, keep: counts}]
  households:
    key: home
    max_persons: 5
    columns: [kind]
    householder: {role: head}
    share: 0.2
"""
UNIT = "unit: {id: home, max_rows: 5}\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(2)
    lines = ["home,state,age,kind,role"]
    for home in range(150):
        state, kind = rng.choice(["n", "s"]), rng.choice(["own", "rent"])
        lines.append(f"{home},{state},adult,{kind},head")
        for _ in range(rng.integers(0, 5)):
            age = rng.choice(["child", "adult"])
            lines.append(f"{home},{state},{age},{kind},other")
    lines += [",n,adult,facility,other"] * 12
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "people.yaml").write_text(SCHEMA)
    return tmp_path / "people.csv", tmp_path / "people.yaml"


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_the_files_of_persons_and_households_agree(files, tmp_path):
    people, schema = files
    release = us.census(people, schema, rho=1)
    written = write_census(release, tmp_path / "out", np.random.default_rng(1))
    assert {"persons.csv", "households.csv", "households-state-detail.csv"} <= {
        *written
    }
    persons = read(tmp_path / "out/persons.csv")
    homes = {row["home"]: row for row in read(tmp_path / "out/households.csv")}
    assert len(persons) == release.persons == len(read(people))
    assert len(homes) == release.household_count
    members = defaultdict(list)
    for row in persons:
        if row["home"]:
            members[row["home"]].append(row)
        else:
            assert row["kind"] == "facility"
    assert members.keys() == homes.keys()
    for number, home in homes.items():
        assert len(members[number]) == int(home["size"]) <= 5
        assert [row["role"] for row in members[number]].count("head") == 1
        shared = {(row["state"], row["kind"]) for row in members[number]}
        assert shared == {(home["state"], home["kind"])}
    counted = Counter((h["state"], h["size"], h["kind"]) for h in homes.values())
    for cell in read(tmp_path / "out/households-state-detail.csv"):
        place = cell["state"], cell["size"], cell["kind"]
        assert counted[place] == int(cell["count"])


def test_households_are_charged_in_the_same_run(files):
    people, schema = files
    release = us.census(people, schema, rho=1, run=RunOptions(run_id="r"))
    spent = sum(step.cost.amount for step in release.statement.steps)
    assert Fraction(99, 100) < spent <= 1
    asked = [step.asked for step in release.statement.steps]
    assert any("households" in each for each in asked)
    again = us.census(people, schema, rho=1, resume="r")
    for one, other in zip(
        release.household_measurements, again.household_measurements, strict=True
    ):
        assert (one.values == other.values).all()
    assert "with one householder each" in " ".join(release.guarantee.details())


@pytest.mark.parametrize("unit", ["", UNIT], ids=["person", "household"])
@pytest.mark.parametrize("accounting", ["zcdp", "gdp"])
def test_the_plan_foresees_the_noise_of_both_tables(files, unit, accounting):
    """A person moves one row and two households, a household five rows and itself."""
    people, schema = files
    schema.write_text(unit + SCHEMA)
    options = {"epsilon": 4, "accounting": accounting}
    errors = us.plan_census(schema, **options)
    release = us.census(people, schema, **options)
    measured = [*release.measurements, *release.household_measurements]
    for error, answer in zip(errors, measured, strict=True):
        assert error.noise_sd == pytest.approx(answer.variance**0.5, rel=1e-6)
    assert sum(error.share for error in errors) == 1
    assert release.guarantee.max_rows == (5 if unit else 1)
    assert release.guarantee.unit == ("home" if unit else "row")


def test_a_unit_that_is_neither_is_refused_for_free(files):
    people, schema = files
    schema.write_text("unit: {id: home, max_rows: 4}\n" + SCHEMA)
    with pytest.raises(Refused, match="max_rows"):
        us.census(people, schema, rho=1)
    assert not people.with_name("people.csv.ledger").exists()


def test_who_is_a_householder_stays_the_same_when_a_run_is_resumed(files):
    """It decides which households are counted at all."""
    people, schema = files
    us.census(people, schema, rho=1, run=RunOptions(run_id="r"))
    schema.write_text(SCHEMA.replace("{role: head}", "{role: other}"))
    with pytest.raises(LedgerError, match="another question"):
        us.census(people, schema, rho=1, resume="r")


def test_persons_without_a_key_are_not_left_out_silently(files):
    """With the household protected they belong to nobody whom the guarantee is about."""
    people, schema = files
    schema.write_text(UNIT + SCHEMA)
    notices = []
    run = RunOptions(notify=notices.append)
    release = us.census(people, schema, rho=10_000, run=run)
    assert release.persons == len(read(people)) - 12
    assert any("Rows without a home" in notice.text for notice in notices)


def test_without_households_there_are_none_to_ask_for(files):
    people, schema = files
    schema.write_text(SCHEMA[: SCHEMA.index("  households:")])
    release = us.census(people, schema, rho=1)
    assert release.household_count == 0
    with pytest.raises(Refused, match="no households"):
        release.household_counts("state")
