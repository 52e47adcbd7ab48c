"""A draft: types from the rows, and nothing of a value in it unless the owner says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.cli import CANARY, Shell
from understudy.schema import Categorical, Integer, Schema


def test_a_draft_leaves_values_and_bounds_open(
    shell: Shell, people: Path, tmp_path: Path
) -> None:
    done = shell("describe", people, "-o", "draft.yaml")
    assert (done.code, done.out, done.err) == (0, "", "")
    draft = Schema.load(tmp_path / "draft.yaml")
    assert {c.name: c.type for c in draft.columns} == {
        "age": "integer",
        "sex": "categorical",
        "smoker": "boolean",
        "note": "categorical",
    }
    # What everybody knows of ages is no bound of the rows.
    assert (draft["age"].min, draft["age"].max) == (0, 120)
    assert draft["sex"] == Categorical(name="sex")
    assert CANARY not in (tmp_path / "draft.yaml").read_text()


def test_public_domains_writes_them_down(
    shell: Shell, people: Path, tmp_path: Path
) -> None:
    people.write_text(people.read_text().replace(CANARY, "M"))
    assert shell("describe", people, "--public-domains", "-o", "draft.yaml").code == 0
    draft = Schema.load(tmp_path / "draft.yaml")
    assert draft["age"] == Integer(name="age", min=18, max=90)
    assert draft["sex"] == Categorical(
        name="sex", values=("F", "M"), nullable=False
    )  # no cell of it is empty


def test_json_says_what_is_open(shell: Shell, people: Path) -> None:
    told = shell("describe", people, "-o", "draft.yaml", "--json").json
    assert {c["name"]: c["open"] for c in told["columns"]} == {
        "age": None,
        "sex": "values",
        "smoker": None,
        "note": "values",
    }
    assert "Using it makes it public" in told["reminder"]


def test_a_draft_can_be_used_as_it_is(
    shell: Shell, people: Path, tmp_path: Path
) -> None:
    assert shell("describe", people, "-o", "draft.yaml").code == 0
    done = shell(
        "synthesize",
        people,
        "--schema",
        "draft.yaml",
        "--epsilon",
        2,
        "-o",
        "out.csv",
        "--json",
    )
    assert done.code == 0, done.err
    assert "the values of sex, note" in done.json["learned"]


@pytest.mark.parametrize(
    "words",
    [
        ["missing.csv", "-o", "x.yaml"],
        ["people.csv", "-o", "people.csv"],
        ["people.csv", "-o", "no/x.yaml"],
    ],
)
def test_what_cannot_work_writes_nothing(
    shell: Shell, people: Path, tmp_path: Path, words: list[str]
) -> None:
    before = people.read_bytes()
    assert shell("describe", *words).code == 1
    assert people.read_bytes() == before
    assert not (tmp_path / "x.yaml").exists()


def test_an_edited_schema_is_not_written_over_by_accident(
    shell: Shell, people: Path, tmp_path: Path
) -> None:
    edited = tmp_path / "edited.yaml"
    edited.write_text("columns: {age: {type: integer, min: 0, max: 90}}")
    done = shell("describe", people, "-o", "edited.yaml")
    assert (done.code, done.err) == (
        1,
        "understudy: edited.yaml: exists already. Name another file, or say --overwrite. Nothing was written.\n",
    )
    assert "max: 90" in edited.read_text()
    assert shell("describe", people, "-o", "edited.yaml", "--overwrite").code == 0
    assert "max: 90" not in edited.read_text()


def test_a_draft_lies_beside_its_table_unless_told(shell: Shell, people: Path) -> None:
    assert shell("describe", people).code == 0
    draft = people.with_name("people.yaml")
    assert list(Schema.load(draft)) == ["age", "sex", "smoker", "note"]
    done = shell("describe", people)
    assert (done.code, "exists already" in done.err) == (1, True)


def test_a_decimal_comma_is_declared(shell: Shell, tmp_path: Path) -> None:
    rows = "".join(f"{1 + i % 9}.234,5;x\n" for i in range(90))
    (tmp_path / "pay.csv").write_text("pay;note\n" + rows)
    words = ("describe", "pay.csv", "-o", "draft.yaml", "--overwrite")
    assert shell(*words).code == 0
    assert Schema.load(tmp_path / "draft.yaml")["pay"].type == "categorical"
    done = shell(*words, "--decimal", ",", "--thousands", ".")
    assert done.code == 0, done.err
    assert Schema.load(tmp_path / "draft.yaml")["pay"].type == "real"


def test_how_csv_is_read_says_nothing_about_other_files(
    shell: Shell, tmp_path: Path
) -> None:
    import pandas as pd

    pd.DataFrame({"age": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    done = shell("describe", "t.parquet", "-o", "draft.yaml", "--decimal", ",")
    assert done.code == 1
    assert "is no CSV file" in done.err


def test_a_folder_is_described_and_no_file_in_it_is_overwritten(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "parts").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "parts" / name).write_text("age\n" + "31\n32\n" * 30)
    assert shell("describe", "parts", "-o", "draft.yaml").code == 0
    assert shell("describe", "parts/*.csv", "-o", "other.yaml").code == 0
    assert list(Schema.load(tmp_path / "draft.yaml")) == ["age"]
    done = shell("synthesize", "parts", "--epsilon", 1, "-o", "parts/b.csv")
    assert done.code == 1
    assert "lies in the folder that is read" in done.err
    done = shell("describe", "parts", "-o", "parts/b.csv", "--overwrite")
    assert done.code == 1
    assert "this file is used for something else" in done.err


def test_rules_are_comments_unless_they_are_accepted(
    shell: Shell, tmp_path: Path
) -> None:
    rows = "".join(f"{i % 50},{i % 50 + i % 7}\n" for i in range(400))
    (tmp_path / "stays.csv").write_text("came,left\n" + rows)
    told = shell("describe", "stays.csv", "-o", "draft.yaml", "--json").json
    assert (told["rules"], told["rules_accepted"]) == (["came <= left"], False)
    assert '#   - "came <= left"' in (tmp_path / "draft.yaml").read_text()
    assert Schema.load(tmp_path / "draft.yaml").rules == ()
    words = ("describe", "stays.csv", "-o", "all.yaml", "--accept-rules")
    assert shell(*words).code == 0
    accepted = Schema.load(tmp_path / "all.yaml").rules
    assert [str(rule) for rule in accepted] == ["came <= left"]
