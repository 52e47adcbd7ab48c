"""One page on what a release keeps and risks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from kit.cli import CANARY, Shell


@pytest.fixture
def people(people: Path) -> Path:
    """Fewer of them, all canaries included: attacks and learners look at every row."""
    lines = people.read_text().splitlines(keepends=True)
    people.write_text(
        "".join(lines[:401] + [line for line in lines[401:] if CANARY in line])
    )
    return people


@pytest.fixture
def release(shell: Shell, people: Path, schema: Path, tmp_path: Path) -> Path:
    done = shell(
        *(
            "synthesize",
            people,
            "--schema",
            schema,
            "--epsilon",
            1,
            "--synthesizer",
            "independent",
        ),
        *("-o", "first.csv", "--release", "r.understudy"),
    )
    assert done.code == 0, done.err
    return tmp_path / "r.understudy"


def test_a_page_and_its_twin(
    shell: Shell, people: Path, release: Path, tmp_path: Path
) -> None:
    done = shell(
        "evaluate",
        people,
        "first.csv",
        "--release",
        release,
        "--no-risk",
        "-o",
        "report.html",
    )
    assert done.code == 0, done.err
    assert "Internal: reads real data" in done.out
    assert "<!doctype html>" in (tmp_path / "report.html").read_text()
    assert (
        json.loads((tmp_path / "report.json").read_text())["utility"]["subject"]
        == "utility"
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_real_rows_in_an_odd_csv_file_and_a_holdout_of_any_kind(
    shell: Shell, people: Path, release: Path, tmp_path: Path, kind: str
) -> None:
    rows = pl.read_csv(people)
    rows.write_csv(tmp_path / "odd.csv", separator="|")
    held = tmp_path / f"held.{kind}"
    if kind == "csv":
        rows.tail(60).write_csv(held, separator="|")
    else:
        rows.tail(60).write_parquet(held)
    done = shell(
        *(
            "evaluate",
            tmp_path / "odd.csv",
            "first.csv",
            "--release",
            release,
            "--no-risk",
            "--delimiter",
            "|",
        ),
        *("--holdout", held, "--ledger", f"{people}.ledger"),
    )
    assert done.code == 0, done.err
    wrong = shell(
        "evaluate",
        held,
        "first.csv",
        "--release",
        release,
        "--no-risk",
        "--delimiter",
        "|",
    )
    assert (wrong.code == 0) == (kind == "csv"), (
        "of the real table alone it is said, so it must be one that is split"
    )


def test_the_look_is_noted_in_the_ledger(
    shell: Shell, people: Path, release: Path
) -> None:
    shell("evaluate", people, "first.csv", "--release", release, "--no-risk")
    assert "evaluate" in shell("ledger", "show", f"{people}.ledger").out


def test_the_publishable_part(shell: Shell, release: Path, tmp_path: Path) -> None:
    done = shell(
        "evaluate", "--without-real", "--release", release, "-o", "public.html"
    )
    assert done.code == 0, done.err
    assert "may be published" in done.out
    assert "Internal" not in (tmp_path / "public.html").read_text()


def test_something_to_compare_is_needed(shell: Shell, people: Path) -> None:
    assert shell("evaluate", people).code == 2
    done = shell("evaluate", "--without-real")
    assert done.code == 1
    assert "give one" in done.err


def test_a_report_never_overwrites_what_it_reads(
    shell: Shell, people: Path, release: Path
) -> None:
    before = people.read_bytes()
    assert shell("evaluate", people, "first.csv", "-o", people).code == 1
    assert people.read_bytes() == before


def test_attacks_are_told_what_an_intruder_knows(
    shell: Shell, people: Path, release: Path
) -> None:
    told = [
        "--quasi",
        "age",
        "--quasi",
        "sex",
        "--sensitive",
        "smoker",
        "--radius",
        "age=1.5",
        "--shadows",
        "8",
    ]
    told += [
        "--formula",
        "logit: smoker ~ age",
        "--formula",
        "age ~ sex",
        "--copy",
        "first.csv",
    ]
    done = shell("evaluate", people, "first.csv", "--release", release, *told, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["risk"]["facts"]["quasi_identifiers"] == ["age", "sex"]
    assert found["risk"]["facts"]["sensitive"] == ["smoker"]
    assert found["risk"]["facts"]["copies"] == 2
    values = {
        f["name"]: f["value"]
        for f in found["risk"]["findings"] + found["utility"]["findings"]
    }
    assert values["membership_shadows"] is not None
    titles = [
        f["title"]
        for f in found["utility"]["findings"]
        if f["name"].startswith("estimates")
    ]
    assert [t.rpartition("(")[2] for t in titles] == ["logit)", "gaussian)"]


def test_groups_are_scored_as_sdnist_does(
    shell: Shell, people: Path, release: Path
) -> None:
    told = (
        "evaluate",
        people,
        "first.csv",
        "--release",
        release,
        "--no-risk",
        "--json",
    )
    done = shell(*told, "--group", "sex")
    assert done.code == 0, done.err
    found = {f["name"]: f for f in json.loads(done.out)["utility"]["findings"]}
    assert 0 < found["sdnist"]["value"] <= 1000
    assert {part["name"] for part in found["sdnist"]["parts"]} >= {"F", "M"}
    refused = shell(*told, "--group", "nothing")
    assert refused.code == 1
    assert "nothing" in refused.err


def test_a_radius_is_a_column_and_a_number(
    shell: Shell, people: Path, release: Path
) -> None:
    for text in ("age", "age=x", "=3", "age=-1", "age=inf"):
        done = shell(
            "evaluate", people, "first.csv", "--release", release, "--radius", text
        )
        assert done.code == 2
        assert "such as age=3" in done.err


def test_several_synthetic_tables_are_set_side_by_side(
    shell: Shell, people: Path, release: Path, tmp_path: Path
) -> None:
    second = shell("sample", release, "-n", 300, "--seed", 2, "-o", "second.csv")
    assert second.code == 0, second.err
    told = (
        "--release",
        release,
        "--quasi",
        "age",
        "--quasi",
        "sex",
        "--sensitive",
        "smoker",
    )
    done = shell(
        "evaluate", people, "first.csv", "second.csv", *told, "-o", "both.html"
    )
    assert done.code == 0, done.err
    page = (tmp_path / "both.html").read_text()
    assert "first (this page)" in page
    assert re.search(r"^second +0\.\d+ +0\.\d+$", done.out, re.MULTILINE), done.out
    assert "a choice the guarantee does not cover" in done.out


def test_the_terminal_says_what_has_no_number_and_why(
    shell: Shell, people: Path, release: Path
) -> None:
    done = shell(
        "evaluate",
        people,
        "first.csv",
        "--release",
        release,
        "--quasi",
        "age",
        "--quasi",
        "sex",
    )
    assert done.code == 0, done.err
    assert "  Linkage to a named file: no file with names was given" in done.out
    attack = re.search(
        r"^Membership.*  0\.\d+  the guarantee allows at most (0\.\d+)(?:, within|$)",
        done.out,
        re.MULTILINE,
    )
    assert attack is not None, done.out
    assert 0.5 < float(attack[1]) < 0.7
    assert re.search(
        r"^  Scoreboard, .*: it needs a holdout", done.out, re.MULTILINE
    ), done.out
    groups = re.search(
        r"^Risk groups .* by age, sex: ([\d,]+) low, ([\d,]+) medium, ([\d,]+) high\.$",
        done.out,
        re.MULTILINE,
    )
    assert groups is not None, done.out
    rows = people.read_text().count("\n") - 1
    assert sum(int(n.replace(",", "")) for n in groups.groups()) == rows


def test_json_lines_are_compared_by_the_keys_of_a_schema(
    shell: Shell, people: Path, release: Path, schema: Path, tmp_path: Path
) -> None:
    frame = pl.read_csv(people, infer_schema=False)
    frame.write_ndjson(tmp_path / "people.jsonl")
    for words in (("--schema", schema), ("--release", release)):
        done = shell("evaluate", "people.jsonl", "first.csv", *words, "--no-risk")
        assert done.code == 0, done.err


def test_a_public_table_is_read_by_the_same_options(
    shell: Shell, people: Path, schema: Path
) -> None:
    odd = people.with_name("odd.csv")
    odd.write_text(people.read_text().replace(",", "|"))
    public = people.with_name("public.csv")
    public.write_text(odd.read_text())
    words = ("--schema", schema, "--epsilon", 1, "--delimiter", "|")
    done = shell("synthesize", odd, *words, "--public", public, "-o", "out.csv")
    assert done.code == 0, done.err
