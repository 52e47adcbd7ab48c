"""`understudy census`: a folder of tables that add up, and a plan that costs nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from kit.cli import Shell
from understudy.censuses.output.files import _write_table

SCHEMA = """
columns:
  state: {type: categorical, values: [n, s], nullable: false}
  sex: {type: categorical, values: [f, m], nullable: false}
census:
  hierarchy: {columns: [state]}
  invariants: [{level: state, query: total, keep: counts}]
"""


@pytest.fixture
def words(tmp_path: Path) -> list[object]:
    (tmp_path / "people.csv").write_text("state,sex\n" + "n,f\n" * 40 + "s,m\n" * 30)
    (tmp_path / "people.yaml").write_text(SCHEMA)
    return ["census", "people.csv", "--schema", "people.yaml"]


def test_the_folder_holds_products_that_agree(words, shell: Shell, tmp_path: Path):
    facts = shell(*words, "--rho", 1, "-o", "out", "--json").json
    assert facts["persons"] == 70
    assert "among tables that agree on" in facts["guarantee"]
    assert {"persons.csv", "measurements.npz", "census.json", "card.html"} <= {
        *facts["files"]
    }
    with (tmp_path / "out/table-state-total.csv").open() as file:
        assert [row["count"] for row in csv.DictReader(file)] == ["40", "30"]
    with (tmp_path / "out/persons.csv").open() as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "out/table-state-detail.csv").open() as file:
        for cell in csv.DictReader(file):
            alike = [
                r
                for r in rows
                if (r["state"], r["sex"]) == (cell["state"], cell["sex"])
            ]
            assert len(alike) == int(cell["count"])
    again = shell(*words, "--rho", 1, "-o", "out")
    assert again.code == 1
    assert "not there yet" in again.err


def test_a_plan_spends_nothing(words, shell: Shell, tmp_path: Path):
    done = shell(*words, "--rho", 1, "--plan")
    assert done.code == 0
    assert "noise sd" in done.out
    assert (
        "Private with ε ≤ 9.52147, δ = 1e-9 when it is run; planning spends nothing"
        in done.out
    )
    assert not (tmp_path / "people.csv.ledger").exists()
    facts = shell(*words, "--epsilon", 1, "--plan", "--json").json
    assert facts["expected_errors"][0]["level"] == "nation"
    assert (facts["epsilon"], facts["delta"]) == (1, 1e-9)


def test_a_budget_is_needed(words, shell: Shell):
    done = shell(*words, "-o", "out")
    assert done.code == 1
    assert "rho or an epsilon" in done.err


def test_a_folder_that_cannot_be_made_is_refused_for_free(
    words, shell: Shell, tmp_path: Path
):
    """It was found out when all had been paid for."""
    done = shell(*words, "--rho", 1, "-o", "nowhere/out")
    assert done.code == 1
    assert "Nothing was spent" in done.err
    assert not (tmp_path / "people.csv.ledger").exists()


def test_only_what_is_published_gets_a_table(words, shell: Shell, tmp_path: Path):
    (tmp_path / "school.csv").write_text("state,school\nn,oak\ns,oak\n")
    more = "  publish: [total]\n  areas: {school: school.csv}\n"
    (tmp_path / "people.yaml").write_text(SCHEMA + more)
    planned = shell(*words, "--rho", 1, "--plan")
    assert "50 % of the budget measures queries that no published" in planned.out
    shell(*words, "--rho", 1, "-o", "out")
    card = json.loads((tmp_path / "out/census.json").read_text())
    assert card["unpublished_share"] == 0.5
    assert not (tmp_path / "out/table-state-detail.csv").exists()
    with (tmp_path / "out/table-school-total.csv").open() as file:
        (school,) = csv.DictReader(file)
    assert (school["school"], school["count"], school["standard_error"]) == (
        "oak",
        "70",
        "0.000",
    )
    assert "Bias B" in (tmp_path / "out/card.html").read_text()


def test_two_queries_of_one_file_name_get_two_files(shell: Shell, tmp_path: Path):
    """One table took the place of the other."""
    people = "state,sex,old,sex_old\n" + "n,f,yes,a\n" * 9
    columns = "columns:\n" + "".join(
        f"  {name}: {{type: categorical, values: {values}, nullable: false}}\n"
        for name, values in {
            "state": "[n, s]",
            "sex": "[f, m]",
            "old": "['yes', 'no']",
            "sex_old": "[a, b]",
        }.items()
    )
    plan = "  plan: {queries: {sex * old: 1, sex_old: 1}}\n"
    (tmp_path / "people.csv").write_text(people)
    (tmp_path / "people.yaml").write_text(
        f"{columns}census:\n  hierarchy: {{columns: [state]}}\n{plan}"
    )
    shell("census", "people.csv", "--schema", "people.yaml", "--rho", 1, "-o", "out")
    heads = {
        (tmp_path / f"out/table-state-sex_old{end}.csv")
        .read_text()
        .splitlines()[0][:17]
        for end in ("", "-2")
    }
    assert heads == {"state,sex,old,cou", "state,sex_old,cou"}


def test_tables_of_long_names_get_files(tmp_path: Path):
    """No file system takes names of more than 255 bytes: a release that was paid for
    could not be written.
    """
    for name in ("é" * 150, "é" * 150 + "x"):
        _write_table({"count": np.zeros(1, int)}, f"table-nation-{name}", tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("method", ["gls", "topdown"])
def test_the_folder_is_read_again(words, shell: Shell, tmp_path: Path, method):
    shell(*words, "--rho", 1, "--method", method, "-o", "out")
    again = us.load_census(tmp_path / "out", tmp_path / "people.yaml", method=method)
    with (tmp_path / "out/table-state-detail.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["count"]) for row in rows] == [
        *again.counts("state", "detail").ravel()
    ]
    card = json.loads((tmp_path / "out/census.json").read_text())
    assert again.sentence() == card["guarantee"]
    (tmp_path / "people.yaml").write_text(SCHEMA.replace("[n, s]", "[n, s, w]"))
    with pytest.raises(us.errors.ReleaseError, match="of this design"):
        us.load_census(tmp_path / "out", tmp_path / "people.yaml")
    (tmp_path / "out/census.json").write_text("{}")
    with pytest.raises(us.errors.ReleaseError):
        us.load_census(tmp_path / "out", tmp_path / "people.yaml")
