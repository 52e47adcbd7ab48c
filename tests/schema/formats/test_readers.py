"""What each tool's words come to mean, on files as their users write them."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from typing import Any

import pytest

from kit.schema.formats import (
    CSVW,
    DPSYNTH,
    FRICTIONLESS,
    NIST,
    SDV,
    SDV_SINGLE,
    SMARTNOISE,
)
from understudy.errors import SchemaError
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Identifier,
    Integer,
    OutOfBoundsPolicy,
    Real,
    Schema,
    Text,
    UndeclaredColumn,
    Unit,
    codec_of,
)
from understudy.schema.formats import read_format, write_format
from understudy.schema.formats.document import parse_tree
from understudy.schema.formats.draft import SchemaDraft
from understudy.schema.formats.moments import kind_of_pattern, to_iso_text
from understudy.schema.yaml.nodes import DocumentSource


def read(text: str) -> tuple[Schema, str]:
    from understudy.schema.formats.catalogue import (
        FOREIGN_FORMATS,
        _choose_table,
        detect_format,
    )

    source = DocumentSource("m")
    tree = parse_tree(text, source)
    known = FOREIGN_FORMATS[detect_format(tree) or ""]
    draft = SchemaDraft(source)
    known.read(_choose_table(tree, source, known, None), draft)
    return draft.schema(), "\n".join(draft.notes)


def test_smartnoise() -> None:
    schema, notes = read(SMARTNOISE)
    assert schema.unit == Unit(id="patient", max_rows=5)
    assert schema.rows is None
    assert "`rows` is an estimate" in notes
    assert schema["age"] == Integer(name="age", min=0, max=110, nullable=False)
    assert schema["dose"] == Real(name="dose", min=Fraction(0), max=Fraction(501, 2))
    assert schema["sex"] == Categorical(name="sex")
    assert 'column "sex": `cardinality`' in notes
    assert schema["smoker"] == Boolean(name="smoker")
    assert schema["admitted"] == Datetime(name="admitted")
    assert "`censor_dims`" in notes


def test_smartnoise_protects_rows_where_it_is_told_to() -> None:
    schema, notes = read(SMARTNOISE.replace("max_ids: 5", "row_privacy: true"))
    assert schema.unit == Unit()
    assert "the unit is the row" in notes
    assert isinstance(schema["patient"], Identifier)


def test_smartnoise_in_its_earlier_words() -> None:
    schema, notes = read(
        SMARTNOISE.replace("private_id", "is_key")
        .replace("lower", "min")
        .replace("upper", "max")
    )
    assert schema == read(SMARTNOISE)[0]
    assert "is_key" not in notes


def test_two_private_ids_are_refused() -> None:
    with pytest.raises(SchemaError, match="two columns are marked `private_id`"):
        read(
            SMARTNOISE.replace(
                "sex: {type: string, cardinality: 3}",
                "sex: {type: string, private_id: true}",
            )
        )


def test_sdv() -> None:
    schema, notes = read(SDV)
    assert isinstance(schema["visit"], Identifier)
    assert schema["age"] == Integer(name="age", min=0, max=110, nullable=False)
    assert schema["dose"] == Real(
        name="dose", min=Fraction(0), max=Fraction(501, 2), step=Fraction(1, 100)
    )
    assert schema["sex"] == Categorical(name="sex", values=("F", "M", "X"))
    assert schema["grade"] == Categorical(
        name="grade", values=("low", "mid", "high"), ordered=True
    )
    assert schema["town"] == Categorical(name="town")
    assert schema["admitted"] == Date(
        name="admitted",
        min=date(2015, 1, 1),
        max=date(2024, 12, 31),
        format="%d/%m/%Y",
    )
    assert "a pattern of their own" not in notes
    assert isinstance(schema["mail"], Identifier)
    assert 'column "visit": `regex_format`' in notes


def test_sdv_of_one_table() -> None:
    schema, notes = read(SDV_SINGLE)
    assert schema["age"] == Integer(name="age")
    assert schema["dose"] == Real(name="dose")
    assert 'column "dose": no number of decimals is stated' in notes
    assert schema["sex"] == Categorical(name="sex")


def test_alternate_keys_of_sdv_are_left_out_of_releases() -> None:
    document = json.loads(SDV)
    document["tables"]["visits"]["alternate_keys"] = ["age", ["town", "admitted"]]
    found = read_format(document)
    assert isinstance(found.schema["age"], Identifier)
    assert isinstance(found.schema["town"], Categorical)
    assert (
        "`alternate_keys` of several columns have no counterpart and are left out"
        in found.notes
    )


def test_a_sequence_key_asks_for_a_unit() -> None:
    document = json.loads(SDV_SINGLE) | {"sequence_key": "sex"}
    found = read_format(document)
    assert isinstance(found.schema["sex"], Identifier)
    assert any("unless you add `unit`" in note for note in found.notes)


def test_frictionless() -> None:
    schema, notes = read(FRICTIONLESS)
    assert isinstance(schema["visit"], Identifier)
    assert schema["age"] == Integer(
        name="age", min=0, max=110, nullable=False, missing=("-7",)
    )
    assert schema["dose"] == Real(
        name="dose",
        min=Fraction(0),
        max=Fraction(501, 2),
        missing=("-7",),
        note="mg per day",
    )
    assert schema["sex"] == Categorical(
        name="sex", values=("F", "M", "X"), missing=("-7",)
    )
    assert schema["grade"] == Categorical(
        name="grade", values=("1", "2"), ordered=True, missing=("-7",)
    )
    assert schema["smoker"] == Boolean(
        name="smoker", true=("ja",), false=("nein",), missing=("-7",)
    )
    assert schema["admitted"] == Date(
        name="admitted", min=date(2015, 1, 1), max=date(2024, 12, 31), missing=("-7",)
    )
    assert schema["town"] == Categorical(name="town", missing=("-7",))
    assert "`pattern` has no counterpart" in notes
    assert isinstance(schema["shape"], Text)


def test_missing_values_of_frictionless_may_have_labels() -> None:
    document = json.loads(FRICTIONLESS)
    fields = document["resources"][0]["schema"]
    fields["missingValues"] = ["", {"value": "-7", "label": "refused"}]
    fields["fields"][3]["missingValues"] = [{"value": "-8", "label": "unknown"}, "NA"]
    found = read_format(document)
    assert found.schema["age"].missing == ("-7",)
    assert found.schema["sex"].missing == ("-8", "NA")
    assert (
        "the labels of `missingValues` are left out; its values are what cells hold"
        in found.notes
    )
    fields["missingValues"] = [{"label": "refused"}]
    with pytest.raises(
        SchemaError,
        match="`missingValues` must list single values, or mappings with a `value` each",
    ):
        read_format(document)


def test_a_schema_alone_is_frictionless_too() -> None:
    fields = json.loads(FRICTIONLESS)["resources"][0]["schema"]
    assert list(read_format(fields).schema) == list(read(FRICTIONLESS)[0])
    assert list(read_format({"name": "visits", "schema": fields}).schema) == list(
        read(FRICTIONLESS)[0]
    )


def test_csvw() -> None:
    schema, notes = read(CSVW)
    assert schema.unit == Unit(id="patient", max_rows=5)
    assert schema.rows == 12000
    assert schema["age"] == Integer(name="age", min=0, max=110, nullable=False)
    assert schema["dose"] == Real(name="dose", min=Fraction(0), max=Fraction(501, 2))
    assert schema["sex"] == Categorical(name="sex", values=("F", "M", "X"))
    assert schema["town"] == Categorical(
        name="town", values=("Bern", "Thun"), other="other"
    )
    assert schema["blood"].constant
    assert schema["pulse"] == Integer(name="pulse", min=40, max=199, bins=(40, 80, 200))
    assert [str(rule) for rule in schema.rules] == [
        "town determines canton",
        "admitted <= discharged",
    ]
    assert "`nullableProportion` is a share of the rows" in notes


def test_csvw_in_the_w3c_s_own_words() -> None:
    found = read_format({
        "@context": "http://www.w3.org/ns/csvw",
        "url": "trees.csv",
        "tableSchema": {
            "columns": [
                {"titles": "GID", "name": "GID", "datatype": "string"},
                {"titles": ["Tree Species"], "name": "species", "datatype": "string"},
                {"titles": "Trim Cycle", "name": "trim", "datatype": {"base": "boolean", "format": "Y|N"}, "null": ["", "?"]},
                {"titles": "Inventory Date", "name": "date", "datatype": {"base": "date", "format": "M/d/yyyy"}},
                {"name": "any", "datatype": "any"},
            ],
            "primaryKey": "GID",
        },
    })  # fmt: skip
    assert isinstance(found.schema["GID"], Identifier)
    assert found.schema["Tree Species"] == Categorical(name="Tree Species")
    assert found.schema["Trim Cycle"] == Boolean(
        name="Trim Cycle", true=("Y",), false=("N",), missing=("?",)
    )
    assert isinstance(found.schema["any"], UndeclaredColumn)
    assert any("format" in note for note in found.notes)


def csvw_with(name: str, **words: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(CSVW)
    for column in document["tableSchema"]["columns"]:
        if column["name"] == name:
            column |= words
    return document


def ranges(*starts: object) -> list[dict[str, object]]:
    return [
        {"@type": "Partition", "predicate": {"lowerBound": start, "upperBound": None}}
        for start in starts
    ]


def test_ranges_of_csvw_that_begin_below_the_least_value_are_bins() -> None:
    found = read_format(csvw_with("pulse", partitions=ranges(0.0, 100.0, 150.0, 400.0)))
    assert found.schema["pulse"] == Integer(
        name="pulse", min=40, max=199, bins=(40, 100, 150, 200)
    )
    days = read_format(
        csvw_with("admitted", partitions=ranges("2010-01-01", "2020-07-01"))
    )
    assert [
        str(days.schema["admitted"].value_at(i))
        for i in days.schema["admitted"].bins[:-1]
    ] == [
        "2015-01-01",
        "2020-07-01",
    ]
    document = csvw_with("pulse", partitions=ranges(0, 100))
    del document["tableSchema"]["columns"][-1]["maximum"]
    open_ = read_format(document)
    assert open_.schema["pulse"].bins is None
    assert any(
        "`partitions` that are ranges need `minimum` and `maximum`" in note
        for note in open_.notes
    )
    with pytest.raises(SchemaError, match='column "pulse"'):
        read_format(csvw_with("pulse", minimum="low"))


def test_only_what_is_fixed_for_each_unit_is_constant() -> None:
    fixed = [
        {"dependsOn": name, "dependencyType": "fixedPerEntity"}
        for name in ("patient", "admitted")
    ]
    both = read_format(csvw_with("blood", rowDependencies=fixed))
    assert both.schema["blood"].constant
    told = 'column "blood": it is fixed for each "admitted", which is not the unit; that is left out'
    assert told in both.notes
    other = read_format(csvw_with("blood", rowDependencies=fixed[1:]))
    assert not other.schema["blood"].constant
    assert told in other.notes
    marked = csvw_with("blood", rowDependencies=fixed[:1])
    del marked["privacyUnit"]  # the column's own mark says it too
    assert read_format(marked).schema["blood"].constant


def test_contributions_without_a_unit_are_refused() -> None:
    document = json.loads(CSVW)
    del document["privacyUnit"]
    del document["tableSchema"]["columns"][0]["privacyId"]
    with pytest.raises(SchemaError, match="`maxContributions` needs `privacyUnit`"):
        read_format(document)


def test_all_combinations_of_a_group_are_a_rule() -> None:
    document = json.loads(CSVW)
    keys = [
        {"town": {"partitionValue": "Bern"}, "sex": {"partitionValue": s}} for s in "FM"
    ]
    group = {
        "@type": "ColumnGroup",
        "columnsInGroup": ["town", "sex"],
        "keyValues": keys,
        "exhaustiveKeys": True,
    }
    found = read_format(document | {"additionalInformation": [group]})
    assert str(found.schema.rules[-1]) == "only listed combinations of town, sex"
    partial = read_format(
        document | {"additionalInformation": [group | {"exhaustiveKeys": False}]}
    )
    assert any("not a full list" in note for note in partial.notes)


def test_dpsynth() -> None:
    schema, _ = read(DPSYNTH)
    assert schema["age"] == Integer(name="age", min=0, max=110)
    assert schema["dose"] == Real(
        name="dose",
        min=Fraction(0),
        max=Fraction(1001, 4),
        outside=OutOfBoundsPolicy.MISSING,
    )
    assert schema["sex"] == Categorical(
        name="sex", values=("F", "M"), other="other", nullable=False
    )
    assert schema["smoker"] == Categorical(name="smoker", values=("yes", "no"))
    assert schema["town"] == Categorical(name="town", other="elsewhere")
    assert isinstance(schema["remarks"], Text)


def test_nist() -> None:
    schema, notes = read(NIST)
    assert schema["AGE"] == Integer(
        name="AGE", min=0, max=99, note="Age", nullable=False
    )
    assert schema["MARITAL"] == Categorical(
        name="MARITAL", values=("N", "1", "6"), note="Marital status", nullable=False
    )
    assert schema["CHILDREN"] == Integer(
        name="CHILDREN",
        min=0,
        max=19,
        missing=("N",),
        note="Own children",
        nullable=False,
    )
    assert schema["RATIO"] == Integer(
        name="RATIO",
        min=0,
        max=501,
        missing=("N",),
        note="Income to poverty line",
        nullable=False,
    )
    density = schema["DENSITY"]
    assert isinstance(density, Real)
    assert (density.decimals, density.max) == (1, Fraction(528647, 10))
    assert schema["CODE"] == Categorical(name="CODE", note="Industry")
    assert schema["ODD"] == Integer(
        name="ODD",
        min=0,
        max=10,
        missing=("-7", "-8"),
        note="With codes far off",
        nullable=False,
    )
    assert [schema[n].nullable for n in ("DENSITY", "CODE")] == [
        False,
        True,
    ]  # nothing is said of the codes of an industry
    assert 'column "CODE": no codes are listed' in notes


def test_a_nist_dictionary_with_a_blank_code_has_empty_cells() -> None:
    schema, _ = read(
        '{"SEX": {"description": "Sex", "values": {"": "not asked", "1": "male", "2": "female"}}}'
    )
    assert schema["SEX"] == Categorical(name="SEX", values=("1", "2"), note="Sex")


@pytest.mark.parametrize(
    ("text", "kind", "pattern", "found"),
    [
        ("31/12/2024", "date", "%d/%m/%Y", "2024-12-31"),
        ("2024-12-31", "date", None, "2024-12-31"),
        ("13h45", "time", "%Hh%M", "13:45:00"),
        ("12/31/2024 1 PM", "datetime", "%m/%d/%Y %I %p", "2024-12-31 13:00:00"),
        ("31/12/2024", "date", "%Y", None),
        ("31/12/2024", "date", "%", None),
        ("soon", "date", None, None),
    ],
)
def test_moments_in_other_patterns(
    text: str, kind: str, pattern: str | None, found: str | None
) -> None:
    assert to_iso_text(text, kind, pattern) == found


def test_patterns_without_days_or_hours_are_none() -> None:
    assert kind_of_pattern("%%") is None
    assert kind_of_pattern("") is None


def test_csvw_formats_that_are_read_as_they_are_need_no_note_and_others_get_one() -> (
    None
):
    kinds = {
        "day": {
            "base": "date",
            "format": "yyyy-MM-dd",
            "minimum": "2000-01-01",
            "maximum": "2001-01-01",
        },
        "at": {
            "base": "dateTime",
            "format": "yyyy-MM-ddTHH:mm",
            "minimum": "2000-01-01",
            "maximum": "2001-01-01",
        },
        "odd": {
            "base": "date",
            "format": "dd.MM.yyyy",
            "minimum": "2000-01-01",
            "maximum": "2001-01-01",
        },
        "code": {"base": "string", "format": "[A-Z]+", "minLength": 2},
        "share": {
            "base": "decimal",
            "format": "#0.00",
            "minimum": 0,
            "maximum": 1,
            "minExclusive": 0,
        },
    }
    columns = [{"name": name, "datatype": datatype} for name, datatype in kinds.items()]
    found = read_format(
        {
            "@context": "http://www.w3.org/ns/csvw",
            "url": "t.csv",
            "tableSchema": {"columns": columns},
        }
    )
    assert not any('"day"' in note or '"at"' in note for note in found.notes)
    for name, word in (
        ("odd", "format"),
        ("code", "format"),
        ("code", "minLength"),
        ("share", "format"),
        ("share", "minExclusive"),
    ):
        assert any(
            f'"{name}"' in note and f"`{word}`" in note for note in found.notes
        ), (name, word)
    day, at = (codec_of(found.schema[name]) for name in ("day", "at"))
    assert day.code("2000-06-01") != day.code("nonsense")
    assert (
        at.code("2000-06-01T10:30")
        == at.code("2000-06-01 10:30")
        != at.code("nonsense")
    )


def test_spellings_come_and_go_with_frictionless() -> None:
    schema = Schema.parse(
        """
columns:
  born: {type: date, format: "%d.%m.%Y"}
  pay: {type: real, decimals: 2, decimal: ",", thousands: "."}
  sold: {type: integer, thousands: "'"}
"""
    )
    exported = write_format(schema, "frictionless")
    assert not any("format" in note for note in exported.notes if "born" in note)
    again = read_format(exported.document).schema
    assert again["born"].format == "%d.%m.%Y"
    assert (again["pay"].decimal, again["pay"].thousands) == (",", ".")
    assert again["sold"].thousands == "'"


def test_marks_that_are_not_read_are_noted() -> None:
    field = {"name": "pay", "type": "number", "decimalChar": ";"}
    found = read_format({"fields": [field]})
    assert found.schema["pay"].decimal == "."
    assert any("`decimalChar`" in note for note in found.notes)
