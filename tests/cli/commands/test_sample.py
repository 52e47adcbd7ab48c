"""More rows from a release: free, repeatable, conditional."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from kit.cli import Shell, rows_of, spent


def test_rows_without_a_cost(shell: Shell, release: Path, tmp_path: Path) -> None:
    assert shell("sample", release, "-n", 321, "-o", "more.csv").code == 0
    assert len(rows_of(tmp_path / "more.csv")) == 321
    assert spent(tmp_path / "people.csv.ledger") == 1.0


def test_a_seed_repeats(shell: Shell, release: Path, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.csv"):
        assert (
            shell(
                "sample",
                release,
                "-n",
                200,
                "--seed",
                3 if name != "c.csv" else 4,
                "-o",
                name,
            ).code
            == 0
        )
    a, b, c = ((tmp_path / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c


def test_given(shell: Shell, release: Path, tmp_path: Path) -> None:
    done = shell(
        "sample",
        release,
        "-n",
        50,
        "--given",
        "sex=F",
        "--given",
        "age=40",
        "-o",
        "f.csv",
        "--json",
    )
    assert done.code == 0, done.err
    assert done.json["rows"] == 50
    assert {(row["sex"], row["age"]) for row in rows_of(tmp_path / "f.csv")} == {
        ("F", "40")
    }


def test_ranges_and_several_values_are_given(
    shell: Shell, release: Path, tmp_path: Path
) -> None:
    done = shell(
        *("sample", release, "-n", 80, "-o", "f.csv"),
        *("--given", "age=30..34", "--given", "age=70"),
    )
    assert done.code == 0, done.err
    ages = {int(row["age"]) for row in rows_of(tmp_path / "f.csv")}
    assert ages <= {30, 31, 32, 33, 34, 70}
    assert len(ages) > 3


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-o", "x.xlsx"], 1),
        (["-o", "r.understudy"], 1),
        (["-o", "x.csv", "--given", "sex=Q"], 1),
        (["-o", "x.csv", "--given", "height=3"], 1),
        (["-o", "x.csv", "--given", "sex"], 2),
        (["-o", "x.csv", "-n", "-4"], 2),
        ([], 2),
    ],
)
def test_what_cannot_work_writes_nothing(
    shell: Shell, release: Path, tmp_path: Path, words: list[str], code: int
) -> None:
    before = release.read_bytes()
    done = shell("sample", release, *words)
    assert done.code == code
    assert done.err.startswith("understudy: ")
    assert release.read_bytes() == before
    assert not (tmp_path / "x.csv").exists()


def test_a_file_that_is_no_release(shell: Shell, people: Path, tmp_path: Path) -> None:
    done = shell("sample", people, "-o", "x.csv")
    assert done.code == 1
    assert not (tmp_path / "x.csv").exists()


def test_parts_in_a_folder(shell: Shell, release: Path, tmp_path: Path) -> None:
    done = shell(
        "sample", release, "-n", 250, "--partition-rows", 100, "-o", "parts", "--json"
    )
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
        "part-00002.parquet",
    ]
    counted = duckdb.sql(
        f"SELECT count(*) FROM '{tmp_path}/parts/*.parquet'"
    ).fetchall()
    assert counted == [(250,)]
    again = shell("sample", release, "-n", 250, "--partition-rows", 100, "-o", "parts")
    assert again.code == 1
    assert "not an empty folder" in again.err
    assert shell("sample", release, "--partition-rows", 0, "-o", "others").code == 2
    assert not (tmp_path / "others").exists()
    assert shell("sample", release, "--partition-rows", 10**9, "-o", "others").code == 1
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".partial")]


def test_texts_that_a_spreadsheet_would_run_are_guarded_unless_they_are_to_be_kept(
    shell: Shell, people: Path, tmp_path: Path
) -> None:
    people.write_text("kind\n" + "=1+1\n@x\n" * 100)
    (tmp_path / "kinds.yaml").write_text(
        "columns:\n  kind: {type: categorical, values: ['=1+1', '@x']}\n"
    )
    words = (
        "synthesize",
        people,
        "--schema",
        "kinds.yaml",
        "--epsilon",
        8,
        "--synthesizer",
        "independent",
    )
    for flags in ((), ("--keep-formulas",)):
        assert (
            shell(*words, "-o", "a.csv", "--release", "r.understudy", *flags).code == 0
        )
        assert (
            shell("sample", "r.understudy", "-n", 50, "-o", "b.csv", *flags).code == 0
        )
        wanted = {"=1+1", "@x"} if flags else {"'=1+1", "'@x"}
        for name in ("a.csv", "b.csv"):
            assert {row["kind"] for row in rows_of(tmp_path / name)} - {""} == wanted
