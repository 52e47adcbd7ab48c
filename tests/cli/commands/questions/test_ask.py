"""`understudy ask` and `understudy price`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.cli import Shell

QUESTION = "SELECT sex, COUNT(*) AS n FROM people WHERE age > 60 GROUP BY sex"


def test_a_question_is_priced_asked_and_stored(
    shell: Shell, people: Path, schema: Path
) -> None:
    priced = shell("price", schema, QUESTION, "--within", 50)
    assert priced.code == 0, priced.err
    assert "n: ±50 in each of 3 groups, 95 %" in priced.out
    words = ("ask", people, QUESTION, "--schema", schema, "--within", 50)
    done = shell(*words, "--budget", 1)
    assert done.code == 0, done.err
    assert "Charged: μ² = 0.0015 (measured)." in done.out
    again = shell(*words, "--json")
    assert (again.json["cost"], again.json["limit_cost"]) == (None, None)
    assert list(again.json["columns"]) == ["sex", "n", "n_low", "n_high"]
    left = shell(
        "price", schema, QUESTION, "--within", 50, "--ledger", "people.csv.ledger"
    )
    assert "privacy cost: ε = 0 by itself" in left.out
    assert "left of the run" in left.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["SELECT MAX(age) FROM people", "--within", 5, "--budget", 1], 1, "quantile"),
        (["SELECT COUNT(*) FROM people", "--within", 5], 1, "--budget 1"),
        (["SELECT COUNT(*) FROM people", "--budget", 1], 2, "--within or --epsilon"),
        (
            ["SELECT COUNT(note) FROM people", "--within", 5, "--budget", 1],
            1,
            "never released",
        ),
    ],
)
def test_what_is_refused_costs_nothing(
    shell: Shell,
    people: Path,
    schema: Path,
    words: list[object],
    code: int,
    message: str,
) -> None:
    done = shell("ask", people, *words, "--schema", schema)
    assert done.code == code
    assert message in done.err
    ledger = people.with_name("people.csv.ledger")
    if ledger.exists():
        assert '"charge"' not in shell("ledger", "show", ledger, "--json").out


def test_groups_that_the_schema_does_not_list(shell: Shell, tmp_path: Path) -> None:
    towns = tmp_path / "towns.csv"
    towns.write_text("town\n" + "Bonn\n" * 900 + "Ulm\n" * 2)
    declared = tmp_path / "towns.yaml"
    declared.write_text("columns:\n  town: {type: categorical}\n")
    words = ("ask", towns, "SELECT town, COUNT(*) AS n FROM t GROUP BY town")
    words = (*words, "--schema", declared, "--epsilon", 1, "--budget", 1)
    assert "--private-keys" in shell(*words).err
    book = ("--ledger", tmp_path / "keys.ledger")
    done = shell(*words, *book, "--private-keys", "--accounting", "pure", "--json")
    assert done.code == 0, done.err
    assert done.json["columns"]["town"] == ["Bonn", "other", None]


def test_a_question_is_tried_on_made_up_rows(shell: Shell, schema: Path) -> None:
    words = ("price", schema, QUESTION, "--within", 50, "--try")
    done = shell(*words)
    assert done.code == 0, done.err
    assert done.out.rstrip().endswith("Free (made-up rows: the numbers mean nothing).")
    assert list(shell(*words, "--json").json["made_up"]) == [
        "sex",
        "n",
        "n_low",
        "n_high",
    ]


def test_a_public_table_is_joined(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("town\n" + "Bonn\n" * 300 + "Ulm\n" * 20)
    declared = tmp_path / "people.yaml"
    declared.write_text("columns:\n  town: {type: categorical, values: [Bonn, Ulm]}\n")
    public = tmp_path / "towns.csv"
    public.write_text("town,land\nBonn,NRW\nUlm,BW\n")
    sql = "SELECT land, COUNT(*) AS n FROM p JOIN towns USING (town) GROUP BY land"
    priced = shell("price", declared, sql, "--within", 50, "--public", public)
    assert "in each of 2 groups" in priced.out, priced.err
    tried = shell("price", declared, sql, "--within", 50, "--public", public, "--try")
    assert "Free (made-up rows: the numbers mean nothing)." in tried.out, tried.err
    words = (tmp_path / "people.csv", sql, "--schema", declared, "--within", 50)
    done = shell("ask", *words, "--budget", 1, "--public", public, "--json")
    assert done.json["columns"]["land"] == ["BW", "NRW"], done.err
