"""The catalogue: a file is told from the others by its words, goes in and out, and
nothing is dropped in silence.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kit.schema.formats import ALL, CSVW, SDV, SMARTNOISE
from understudy.errors import SchemaError
from understudy.schema import Schema
from understudy.schema.formats import (
    FOREIGN_FORMATS,
    load_format,
    read_format,
    save_format,
    write_format,
)

RICH = """\
unit: {id: patient, max_rows: 5}
rows: 12000
columns:
  patient: identifier
  remarks: text
  age: {type: integer, min: 0, max: 110, bins: [0, 18, 65], missing: [-7, -8], role: quasi-identifier, nullable: false}
  sex: {type: categorical, values: [F, M, X], other: elsewhere}
  grade: {type: categorical, values: [low, mid, high], ordered: true}
  cause: {type: categorical, values: [A00, C00], levels: {chapter: {infectious: [A00], neoplasms: [C00]}}}
  dose: {type: real, decimals: 2, min: 0, max: 250, outside: missing}
  admitted: {type: date, min: 2015-01-01, max: 2024-12-31}
  discharged: {type: date, min: 2015-01-01, max: 2024-12-31}
  seen: {type: datetime, zone: Europe/Zurich, resolution: 15min, bounds: learn}
  rounds: {type: time, resolution: 1h}
  smoker: {type: boolean, true: [ja], false: [nein]}
  town: {type: categorical, values: learn}
  score:
impossible:
  - age < 15 and smoker = true
rules:
  - admitted <= discharged
"""

PLAIN = """\
columns:
  age: {type: integer, min: 0, max: 110, nullable: false}
  sex: {type: categorical, values: [F, M, X]}
  town: {type: categorical, values: learn}
"""

WRITTEN = sorted(
    name for name, known in FOREIGN_FORMATS.items() if known.write is not None
)


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_file_is_told_by_its_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / "metadata"
    path.write_text(ALL[name])
    assert load_format(path).format == name
    loaded = (
        yaml.safe_load(ALL[name])
        if FOREIGN_FORMATS[name].yaml
        else json.loads(ALL[name])
    )
    assert read_format(loaded) == load_format(path)


def test_our_own_files_are_a_format_too(tmp_path: Path) -> None:
    schema = Schema.parse(RICH)
    schema.save(tmp_path / "own.yaml")
    assert load_format(tmp_path / "own.yaml").schema == schema
    assert save_format(schema, tmp_path / "again.yaml", "understudy") == ()
    assert Schema.load(tmp_path / "again.yaml") == schema


@pytest.mark.parametrize("name", WRITTEN)
def test_what_every_format_can_say_comes_back(name: str, tmp_path: Path) -> None:
    schema = Schema.parse(PLAIN)
    notes = save_format(schema, tmp_path / "out", name)
    back = load_format(tmp_path / "out")
    assert back.format == name
    assert back.schema["age"] == schema["age"] or (
        name == "dpsynth" and any("nullable" in note for note in notes)
    )
    assert [c.name for c in back.schema.columns] == ["age", "sex", "town"]
    assert not back.schema["town"].is_closed
    assert back.schema["sex"] == schema["sex"] or name in ("smartnoise", "dpsynth")


@pytest.mark.parametrize("name", WRITTEN)
def test_a_second_trip_changes_nothing(name: str) -> None:
    once = read_format(write_format(Schema.parse(RICH), name).document, name).schema
    again = read_format(write_format(once, name).document, name).schema
    assert again == once


@pytest.mark.parametrize("name", WRITTEN)
def test_every_word_is_kept_or_noted(name: str) -> None:
    """Each thing that a round trip loses stands in the notes of the way out or of the
    way back, with its column.
    """
    schema = Schema.parse(RICH)
    out = write_format(schema, name)
    back = read_format(out.document, name)
    notes = "\n".join((*out.notes, *back.notes))
    kept = {column.name: column for column in back.schema.columns}
    for column in schema.columns:
        if kept.get(column.name) != column:
            assert f'column "{column.name}"' in notes, (
                f"{column.name} changed and nobody said so"
            )
    assert back.schema.impossible == schema.impossible or "`impossible`" in notes
    assert back.schema.rules == schema.rules or "`rules`" in notes
    assert back.schema.unit == schema.unit or "unit" in notes
    assert back.schema.rows == schema.rows or "`rows`" in notes


def test_an_unknown_key_is_noted_wherever_it_stands() -> None:
    document = json.loads(SDV)
    document["tables"]["visits"]["columns"]["age"]["colour"] = "red"
    document["tables"]["visits"]["season"] = "spring"
    notes = read_format(document).notes
    assert 'column "age": `colour` has no counterpart and is left out' in notes
    assert "`season` has no counterpart and is left out" in notes


def test_one_table_of_several_is_asked_for() -> None:
    document = json.loads(SDV)
    document["tables"]["beds"] = {
        "columns": {"bed": {"sdtype": "id"}, "ward": {"sdtype": "categorical"}}
    }
    with pytest.raises(SchemaError, match="2 tables"):
        read_format(document)
    assert list(read_format(document, table="beds").schema) == ["ward"]
    with pytest.raises(SchemaError, match="no table"):
        read_format(document, table="cellar")


def test_a_file_that_nobody_s_words_describe() -> None:
    with pytest.raises(SchemaError, match="no known format"):
        read_format({"hello": "world"})
    with pytest.raises(SchemaError, match="one of understudy, csvw"):
        read_format({"hello": "world"}, "excel")
    with pytest.raises(SchemaError, match="only read"):
        write_format(Schema.parse(PLAIN), "nist")


def test_a_yaml_error_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(SMARTNOISE.replace("lower: 0, upper: 110", "lower: 90, upper: 17"))
    with pytest.raises(
        SchemaError, match=r"m\.yaml:9: column \"age\": max \(17\) is below min \(90\)"
    ):
        load_format(path)


def test_a_json_error_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(SDV.replace('"primary_key": "visit",', '"primary_key": "visit"'))
    with pytest.raises(SchemaError, match=r"m\.json:\d+:\d+: not valid JSON"):
        load_format(path)


def test_json_numbers_stay_exact(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(CSVW.replace("250.50", "250.10"))
    dose = load_format(path).schema["dose"]
    assert str(dose.max) == "2501/10"  # type: ignore[attr-defined]


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"fields": [], "fields": [{"name": "a", "type": "any"}]}')
    with pytest.raises(SchemaError, match=r"m\.json:1: `fields` stands here twice"):
        load_format(path)


def test_saving_is_whole_or_not_at_all(tmp_path: Path) -> None:
    schema: Schema = Schema.parse("columns: {rows: {type: integer, min: 0, max: 1}}")
    with pytest.raises(SchemaError, match="SmartNoise keeps this word"):
        save_format(schema, tmp_path / "out.yaml", "smartnoise")
    with pytest.raises(SchemaError, match="Nothing was written"):
        save_format(schema, tmp_path / "nowhere" / "out.json", "sdv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", [name for name, known in FOREIGN_FORMATS.items() if known.write]
)
def test_a_column_called_learn_keeps_its_name(name: str) -> None:
    schema = Schema.parse("columns: {learn: {type: integer, min: 0, max: 1}}")
    document = write_format(schema, name).document
    assert [*read_format(document, name).schema] == ["learn"]


@pytest.mark.parametrize("name", ["csvw", "dpsynth"])
def test_spellings_that_a_format_cannot_say_are_noted(name: str) -> None:
    words = "{type: boolean, true: [ja, oui], false: [nein]}"
    notes = write_format(Schema.parse(f"columns: {{a: {words}}}"), name).notes
    assert any("only the first spelling of true" in note for note in notes)
    assert not any("spelling of false" in note for note in notes)
