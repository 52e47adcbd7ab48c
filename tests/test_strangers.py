"""The benchmark on files of strangers: its scorer finds every fault that is planted, and
its way through the commands works on two small made tables.
"""

from __future__ import annotations

import csv
import io
import random
import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (BENCHMARKS, BENCHMARKS / "peers"):
        monkeypatch.syspath_prepend(str(folder))


def make_columns(rows: int = 400) -> dict[str, list[str]]:
    """One column of each kind: labels, whole numbers as pandas and as others write
    them, fractions as R writes them, multiples of 25, days, and a number for each row.
    """
    rng = random.Random(4)
    return {
        "id": [f"p{i}" for i in range(rows)],
        "sex": [rng.choice(["Female", "Male"]) for _ in range(rows)],
        "age": [str(rng.randint(18, 80)) for _ in range(rows)],
        "arm": [rng.choice(["1.0", "2.0", ""]) for _ in range(rows)],
        "dose": [f"{rng.randint(1, 40) / 2:g}" for _ in range(rows)],
        "mass": [str(25 * rng.randint(100, 200)) for _ in range(rows)],
        "day": [f"2024/0{rng.randint(1, 9)}/1{rng.randint(0, 9)}" for _ in range(rows)],
    }


def look(columns: dict[str, list[str]], **changed: list[str]):
    from looks import compare_files, read_texts

    def frame(table: dict[str, list[str]]):
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        text.seek(0)
        return read_texts(text)

    return compare_files(frame(columns), frame({**columns, **changed}))


def test_a_file_looks_like_itself() -> None:
    found = look(make_columns())
    assert found.identifiers == ("id",)
    assert [column.name for column in found.columns] == list(make_columns())[1:]
    assert not any(column.findings for column in found.columns)
    assert found.one_way == found.two_way == 0


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("age", lambda text: f"{text}.5", "type"),
        ("dose", lambda text: text.partition(".")[0], "type"),
        ("arm", lambda text: text.removesuffix(".0"), "spelling"),
        ("arm", lambda text: text or "NA", "spelling"),
        ("dose", lambda text: text if "." in text else f"{text}.0", "spelling"),
        ("day", lambda text: text.replace("/", "-"), "spelling"),
        ("sex", str.lower, "spelling"),
        ("mass", lambda text: str(int(text) + 1), "grain"),
        ("dose", lambda text: f"{float(text) + 0.25:g}", "grain"),
        ("age", lambda text: "" if int(text) < 30 else text, "cannot occur"),
        ("age", lambda text: str(int(text) + 5), "cannot occur"),
        ("sex", lambda text: "Men" if text == "Male" else text, "cannot occur"),
        ("day", lambda text: text.replace("2024", "2023"), "cannot occur"),
        ("age", lambda text: str(max(int(text), 50)), "mean"),
        ("age", lambda text: "49" if 22 < int(text) < 76 else text, "sd"),
        ("mass", lambda _: "", "empty"),
    ],
)
def test_a_planted_fault_is_found(name: str, change, fault: str) -> None:
    columns = make_columns()
    found = look(columns, **{name: [change(text) for text in columns[name]]})
    (column,) = (column for column in found.columns if column.name == name)
    assert any(key.endswith(f": {fault}") for key in column.findings)
    others = [column for column in found.columns if column.name != name]
    assert not any(column.findings for column in others)


def test_distances_are_those_of_shares_of_rows() -> None:
    columns = {"a": ["x"] * 50 + ["y"] * 50, "b": ["0"] * 50 + ["1"] * 50}
    found = look(columns, b=["1"] * 50 + ["0"] * 50)
    assert found.one_way == 0
    assert found.two_way == 1
    found = look(columns, a=["x"] * 75 + ["y"] * 25)
    assert found.one_way == pytest.approx(0.25 / 2)


def test_two_made_tables_go_all_the_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files in, commands run, results kept, goals printed."""
    import strangers
    from stranger_report import read_runs

    for title, rows in (("clinic", 3_000), ("ward", 60)):
        columns = make_columns(rows)
        with (tmp_path / f"{title}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    results = tmp_path / "results.json"
    files = f"{tmp_path / 'clinic.csv'},{tmp_path / 'ward.csv'}"
    command = ["--files", files, "--runs", "1", "--results", str(results)]
    runs = strangers.main([*command, "--modes", "bare,draft"])
    assert [(run.table, run.mode) for run in runs] == [
        (table, mode) for table in ("clinic", "ward") for mode in ("bare", "draft")
    ]
    for run in runs[:2]:
        assert run.state == "ran"
        assert run.scored == 6
        assert 0 < run.one_way < 0.5
        assert run.peak > 1
    kept = read_runs(results)
    assert [run.scored for run in kept] == [run.scored for run in runs]
    said = capsys.readouterr().out
    assert "draft: means within 10 % of a standard deviation in" in said


def test_a_package_that_is_not_installed_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import peers
    import strangers

    monkeypatch.setattr(peers, "ENVIRONMENTS", tmp_path)
    path = tmp_path / "small.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    command = ["--files", str(path), "--runs", "1", "--modes", "sdv"]
    (run,) = strangers.main(command)
    assert run.state.startswith("not installed")


def test_every_table_of_the_catalogue_has_its_package_in_the_group() -> None:
    from stranger_tables import TABLES, list_requirements

    def plain(name: str) -> str:
        return re.split(r"[<>=]", name)[0].lower().replace("_", "-")

    wanted = {plain(name) for name in list_requirements()}
    assert {plain(table.package) for table in TABLES.values()} == wanted
    assert len(TABLES) >= 20
