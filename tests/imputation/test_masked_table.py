"""What is written: copies, how they were made, and what is said about them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import ReleaseError

PEOPLE = pd.DataFrame(
    {
        "person": [f"p{i:05d}" for i in range(400)],
        "age": [20 + i * 7 % 60 for i in range(400)],
        "sex": ["F" if i % 3 else "M" for i in range(400)],
        "note": [f"=1+{i % 5}" for i in range(400)],
    }
)


@pytest.fixture
def folder(tmp_path):
    masked = us.mask(PEOPLE, replaced=["age"], copies=2, seed=1)
    masked.write(tmp_path / "masked")
    return tmp_path / "masked"


def test_a_folder_of_copies_says_how_they_were_made(folder):
    document = json.loads((folder / "copies.json").read_text())
    assert document["rule"]["kind"] == "partial"
    assert document["replaced"] == [{"column": "age", "method": "cart"}]
    assert "without differential privacy" in document["promise"]
    copies = us.load_copies(folder)
    assert len(copies) == 2
    assert [len(frame) for frame in copies] == [400, 400]


def test_identifiers_are_left_out_and_formulas_guarded(folder):
    text = (folder / "copy-01.csv").read_text()
    assert "p00001" not in text
    assert "person" not in text
    assert "person" not in (folder / "copies.json").read_text()
    assert ",'=1+1" in text


def test_the_analysis_of_a_folder_is_that_of_the_copies(folder):
    masked = us.mask(PEOPLE, replaced=["age"], copies=2, seed=1)
    there = us.analyse(folder, "age ~ sex").combined.variance
    assert there == pytest.approx(us.analyse(masked, "age ~ sex").combined.variance)


def test_a_folder_gives_the_copies_that_were_in_memory(tmp_path):
    """Labels that look missing or like numbers, words for no, dates, guarded texts."""
    rows = np.arange(60)
    labels = np.array(["NA", "None", "nan", "01", "=1+1", "null"])
    table = pd.DataFrame(
        {
            "label": labels[rows % 6],
            "zip": np.array(["00501", "02138", "x1"])[rows % 3],
            "=odd name": rows % 4,
            "smoker": np.where(rows % 3, "ja", "nein"),
            "born": pd.to_datetime("1980-01-01") + pd.to_timedelta(rows * 30, unit="D"),
            "age": np.where(rows % 7, 20 + rows % 5, np.nan),
            "cost": rows / 8,
        }
    )
    table.loc[5, ["label", "smoker"]] = None
    schema = us.Schema.parse(
        "columns:\n"
        "  label: {type: categorical, values: [NA, None, nan, '01', =1+1, 'null']}\n"
        "  zip: {type: categorical, values: ['00501', '02138', x1]}\n"
        "  =odd name: {type: integer, min: 0, max: 3}\n"
        "  smoker: {type: boolean, true: [ja], false: [nein]}\n"
        "  born: {type: date, min: 1980-01-01, max: 1985-01-01}\n"
        "  age: {type: integer, min: 0, max: 99}\n"
        "  cost: {type: real, min: 0, max: 10, step: 0.125}\n"
    )
    masked = us.mask(table, schema=schema, replaced=["age"], copies=1, seed=1)
    masked.write(tmp_path / "odd")
    there, here = us.load_copies(tmp_path / "odd").load(0), masked.frame(0)
    assert list(there.columns) == list(here.columns)
    for name in here.columns:
        one, two = there[name], here[name]
        assert one.isna().tolist() == two.isna().tolist(), name
        known = two.notna()
        assert one[known].tolist() == two[known].tolist(), name
    assert there.label.isna().sum() == 1


def test_a_folder_of_before_is_read_without_a_word_on_its_columns(folder):
    path = folder / "copies.json"
    document = json.loads(path.read_text())
    del document["columns"]
    path.write_text(json.dumps(document))
    assert us.analyse(folder, "age ~ sex").names == ("Intercept", "sex[T.M]")


def test_a_copy_that_was_changed_is_refused(folder):
    with (folder / "copy-02.csv").open("a") as file:
        file.write("99,F,x\n")
    with pytest.raises(ReleaseError, match="was changed"):
        us.analyse(folder, "age ~ sex")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "something else"},
        {"files": [{"name": "../secret.csv", "sha256": ""}]},
        {"files": []},
        {"rule": {"kind": "guess"}},
        {"columns": "age"},
    ],
)
def test_a_manifest_that_is_none_is_refused(folder, change):
    path = folder / "copies.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ReleaseError):
        us.load_copies(folder)


def test_masking_is_written_down_in_the_ledger(tmp_path):
    with us.Ledger.create(tmp_path / "l.ledger", dataset="d", cap=us.Budget(1, 0)):
        pass
    us.mask(PEOPLE, replaced=["age"], copies=1, ledger=tmp_path / "l.ledger")
    with us.Ledger.open(tmp_path / "l.ledger") as ledger:
        assert "masked copies" in str(ledger.entries()[-1].detail)
