"""Schema files: what is written is what is read, and every mistake is named with its
line.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from datetime import date, datetime, timedelta
from fractions import Fraction

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.schema.columns import texts
from kit.schema.files import FULL, schemas
from understudy.errors import SchemaError
from understudy.schema import (
    Boolean,
    Categorical,
    Datetime,
    Integer,
    OutOfBoundsPolicy,
    Real,
    Role,
    Schema,
    Text,
    UndeclaredColumn,
    Unit,
    dump_schema,
    parse_predicate,
    schema_from_dict,
    schema_to_dict,
)


@settings(max_examples=100)
@given(schemas())
def test_a_page_reads_back_as_the_same_schema(schema):
    assert Schema.parse(dump_schema(schema)) == schema


@settings(max_examples=100)
@given(schemas())
def test_plain_data_reads_back_as_the_same_schema(schema):
    """Through JSON, with the keys in any order: columns stay in theirs."""
    text = json.dumps(schema_to_dict(schema), sort_keys=True)
    again = schema_from_dict(json.loads(text))
    assert again == schema
    assert [c.name for c in again.columns] == [c.name for c in schema.columns]


@given(schemas())
def test_a_page_is_plain_yaml_for_every_reader(schema):
    assert len(yaml.safe_load(dump_schema(schema))["columns"]) == len(schema.columns)


def test_both_yaml_engines_read_alike(monkeypatch):
    page = dump_schema(
        Schema(
            columns=(
                Categorical(
                    name="é: \u2028 #",
                    values=("no", "~", "a\nb", "\U0001f600", "x" * 2000),
                ),
                Text(name="k" * 1500),
            )
        )
    )
    quick = Schema.parse(page)
    monkeypatch.setattr("understudy.schema.yaml.nodes._YamlLoader", yaml.SafeLoader)
    assert Schema.parse(page) == quick


def test_every_word_of_a_file_is_understood():
    schema = Schema.parse(FULL)
    assert schema.unit == Unit(id="patient", max_rows=5)
    assert schema.rows == 6366
    assert schema["age"] == Integer(
        name="age",
        min=0,
        max=90,
        bins=(0, 18, 65, 91),
        missing=("-7", "NA"),
        role=Role.QUASI_IDENTIFIER,
    )
    sex = schema["sex"]
    assert sex.values == ("F", "M", "no", "010", "1.0", "~")
    assert (sex.other, sex.nullable, sex.levels) == (
        "else",
        False,
        {"kind": ("a", "a", "b", "b", "b", "b")},
    )
    assert schema["weight"] == Real(
        name="weight",
        min=Fraction(1, 10),
        max=Fraction(100),
        step=Fraction(1, 3),
        outside=OutOfBoundsPolicy.MISSING,
    )
    assert schema["price"] == Real(
        name="price", max=Fraction(3, 10), step=Fraction(1, 1000)
    )
    assert (schema["born"].min, schema["born"].max, len(schema["born"].bins)) == (
        date(1900, 1, 1),
        date(2020, 12, 31),
        5,
    )
    assert schema["seen"] == Datetime(
        name="seen", zone="Europe/Zurich", resolution=timedelta(minutes=15)
    )
    assert schema["when"].high == 18
    assert schema["smoker"] == Boolean(
        name="smoker",
        true=("ja",),
        false=("nein", "nie"),
        use=False,
        note="asked since 2019",
    )
    assert schema["open"] == Categorical(name="open", ordered=True)
    assert schema["what"] == UndeclaredColumn(name="what")
    assert schema["how"] == UndeclaredColumn(name="how")
    assert schema.impossible == (parse_predicate("age < 15 and weight > 99.5"),)


def test_decimals_never_pass_through_a_float():
    schema = Schema.parse(
        "columns: {x: {type: real, step: 0.000000000000000001, min: 0.1, max: 0.300000000000000001}}"
    )
    assert schema["x"].max == Fraction(300000000000000001, 10**18)


# Each mistake, with the line that the error must name.
MISTAKES = [
    (
        "columns:\n  age:\n    type: integer\n    min: 90\n    max: 17",
        5,
        'column "age": max (17) is below min (90)',
    ),
    (
        "columns:\n  age: {type: integr}",
        2,
        'column "age": `type` is not understood. Did you mean `integer`?',
    ),
    (
        "columns:\n  age:\n    type: integer\n    mim: 3",
        4,
        'column "age": `mim` is not a key that is known here. Did you mean `min`?',
    ),
    ("columns:\n  a:\n    type: text\n    xyzzy: 1", 4, "Known here: type, role"),
    (
        "colums:\n  a: text",
        1,
        "`colums` is not a key that is known here. Did you mean `columns`?",
    ),
    ("version: 1", None, "no columns"),
    ("columns:", None, "no columns"),
    ("", None, "the file is empty"),
    ("- a\n- b", 1, "the file must be a mapping of keys to values, not a list"),
    (
        "columns: 3",
        1,
        "`columns` must be a mapping of names to columns, not a single value",
    ),
    (
        "version: 2\ncolumns: {}",
        1,
        "version 2 is not known here; this program reads version 1",
    ),
    (
        "columns:\n  a: text\n  b: text\n  a: boolean",
        4,
        "`a` stands here twice; the first is in line 2",
    ),
    ("columns:\n  a:\n    type: text\n    type: text", 4, "`type` stands here twice"),
    (
        "columns:\n  a:\n    - type",
        3,
        'column "a": it must be a mapping of keys to values, not a list',
    ),
    (
        "columns:\n  a:\n    type: integer\n    min: [1]",
        4,
        'column "a": `min` must be a single value, not a list',
    ),
    (
        "columns:\n  a:\n    type: integer\n    min: 1.5",
        4,
        'column "a": `min` must be a whole number',
    ),
    (
        "columns:\n  a:\n    type: real\n    max: lots",
        4,
        'column "a": `max` must be a number such as 12 or 0.5',
    ),
    ("columns:\n  a:\n    type: real\n    max: 1/0", 4, "`max` must be a number"),
    ("columns:\n  a:\n    type: real\n    max: .inf", 4, "`max` must be a number"),
    (
        "columns:\n  a:\n    type: date\n    max: 31.12.2020",
        4,
        'column "a": `max` must be a date such as 2024-12-31',
    ),
    (
        "columns:\n  a:\n    type: datetime\n    max: soon",
        4,
        "`max` must be a moment such as 2024-12-31 23:59",
    ),
    (
        "columns:\n  a:\n    type: time\n    max: 8am",
        4,
        "`max` must be a time of day such as 23:59",
    ),
    (
        "columns:\n  a:\n    type: time\n    bounds: learn",
        4,
        "the bounds of a time are those of the day",
    ),
    (
        "columns:\n  a:\n    type: datetime\n    resolution: fast",
        4,
        "`resolution` must be a length of time such as 1s",
    ),
    (
        "columns:\n  a:\n    type: datetime\n    resolution: 999999999999day",
        4,
        "`resolution` must be a length of time",
    ),
    (
        "columns:\n  a:\n    type: datetime\n    zone: Mars",
        4,
        'column "a": "Mars" is no known time zone',
    ),
    (
        "columns:\n  a:\n    type: real\n    step: 0.1\n    decimals: 1",
        5,
        "`decimals` and `step` say the same twice",
    ),
    (
        "columns:\n  a:\n    type: real\n    decimals: 99",
        4,
        "`decimals` must be between 0 and 18",
    ),
    ("columns:\n  a:\n    type: real\n    step: 0", 4, "`step` must be positive"),
    (
        "columns:\n  a:\n    type: integer\n    bounds: 3",
        4,
        "`bounds` takes the word learn only",
    ),
    (
        "columns:\n  a:\n    type: integer\n    min: 1\n    max: 2\n    bounds: learn",
        6,
        "contradicts `min` and `max`",
    ),
    (
        "columns:\n  a:\n    type: integer\n    bins: 3",
        4,
        "`bins` need `min` and `max`",
    ),
    (
        "columns:\n  a:\n    type: integer\n    min: 0\n    max: 9\n    bins: 11",
        6,
        "a number of bins that is possible",
    ),
    (
        "columns:\n  a:\n    type: integer\n    min: 0\n    max: 9\n    bins: [1, 5]",
        6,
        "so the first must be min",
    ),
    (
        "columns:\n  a:\n    type: integer\n    min: 0\n    max: 9\n    bins: [0, 5, 5]",
        6,
        "`bins` must rise from min",
    ),
    (
        "columns:\n  a:\n    type: integer\n    min: 0\n    max: 9\n    bins: [0, 10]",
        6,
        "must not lie beyond max",
    ),
    (
        "columns:\n  a:\n    type: integer\n    min: 0\n    max: 9\n    bins: [0, x]",
        6,
        "`bins` must be a whole number",
    ),
    (
        "columns:\n  a:\n    type: categorical\n    min: 3",
        4,
        "`min` does not belong to a categorical column. It goes with type `integer`",
    ),
    (
        "columns:\n  a:\n    values: [x]",
        3,
        "`values` needs a `type`. It goes with type `categorical`",
    ),
    (
        "columns:\n  a:\n    type: categorical\n    values: F",
        4,
        "`values` must be a list such as [F, M], or the word learn",
    ),
    (
        "columns:\n  a:\n    type: categorical\n    values: [F, [M]]",
        4,
        "`values` must be a list of single values",
    ),
    (
        "columns:\n  a:\n    type: categorical\n    values: [F, F]",
        4,
        "a value is listed twice",
    ),
    (
        "columns:\n  a:\n    type: categorical\n    values: [F, '']",
        4,
        "a value in `values` is empty",
    ),
    (
        "columns:\n  a:\n    type: categorical\n    values: [F, ]\n    missing: F",
        5,
        "both as a value and as missing",
    ),
    (
        "columns:\n  a:\n    type: categorical\n    values: [F]\n    levels:\n      l: {g: [X]}",
        6,
        "a value that is not listed",
    ),
    (
        "columns:\n  a:\n    type: categorical\n    values: [F]\n    levels:\n      l: {g: F, h: F}",
        6,
        "into two groups",
    ),
    (
        "columns:\n  a:\n    type: categorical\n    values: [F, M]\n    levels:\n      l: {g: F}",
        6,
        "leaves a value without a group",
    ),
    (
        "columns:\n  a:\n    type: text\n    nullable: maybe",
        4,
        "`nullable` must be true or false",
    ),
    ("columns:\n  a:\n    type: text\n    role: secret", 4, "`role` is not understood"),
    ("columns:\n  - {type: text}", 2, "a column has no name"),
    ("columns:\n  '': text", 2, "no name"),
    (
        "unit: {id: key}\ncolumns: {a: text}",
        1,
        'the id column "key" is not in the schema',
    ),
    (
        "columns: {a: text}\nunit:\n  id: a",
        2,
        'the id column "a" must have type identifier',
    ),
    ("unit:\n  max_rows: 0\ncolumns: {a: text}", 2, "max_rows must be at least 1"),
    (
        "unit:\n  max_rows: 1000000000000\ncolumns: {a: text}",
        2,
        "and at most 1,000,000: noise grows with it",
    ),
    ("unit: {who: a}\ncolumns: {a: text}", 1, "`who` is not a key"),
    ("columns: {a: text}\nrows: -3", 2, "fewer than 0 rows"),
    (
        "columns: {a: boolean}\nimpossible: a = true",
        2,
        "`impossible` must be a list of conditions",
    ),
    (
        "columns: {a: boolean}\nimpossible:\n  - a = true\n  - a = ",
        4,
        "impossible: predicate, character 4: expected a column or a value",
    ),
    (
        "columns: {a: boolean}\nimpossible:\n  - b = true",
        3,
        'column "b" is not in the schema',
    ),
    ("columns: {a: boolean}\nimpossible:\n  - {a: b}", 3, "a condition must be a text"),
    ("columns:\n  a: [1\n  b: 2", 3, "not valid YAML"),
    ("columns:\n\ta: text", 2, "not valid YAML"),
    ("columns: {a: text}\n---\ncolumns: {b: text}", 2, "not valid YAML"),
    (
        "columns:\n  a: !!python/object/apply:os.system [ls]",
        2,
        "tags (!) are not understood here",
    ),
    ("columns:\n  ? [a, b]\n  : text", 2, "a key must be a single word or text"),
    ("columns:\n  a: *nobody", 2, "not valid YAML"),
    ("columns:\n  a: &a\n    type: text\n  b:\n    <<: *a", 5, "`<<` is not a key"),
    ("columns: {a: \0}", None, "not valid YAML"),
    ("columns: {a: text}\nbroken: burn", 2, "`broken` is not understood"),
    ("columns: {a: text}\ncount_broken: 3", 2, "`count_broken` must be true or"),
    ("a: " + "[" * 5000, 1, "nested more than 10 levels deep"),
    ("a: " + "{a: " * 5000, 1, "nested more than 10 levels deep"),
]


@pytest.mark.parametrize(
    ("text", "line", "message"), MISTAKES, ids=range(len(MISTAKES))
)
def test_a_mistake_is_named_with_file_line_and_column(text, line, message):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(text, source="people.yaml")
    said = str(caught.value)
    where = (
        ""
        if line is None
        else rf":{line}(:\d+)?"
        if message.startswith("not valid YAML")
        else f":{line}"
    )
    assert re.match(f"people.yaml{where}: ", said), said
    assert said.count("people.yaml") == 1, "the place is named once"
    assert message in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "line", "message"), MISTAKES, ids=range(len(MISTAKES))
)
def test_the_other_yaml_engine_finds_the_same_mistakes(
    text, line, message, monkeypatch
):
    monkeypatch.setattr("understudy.schema.yaml.nodes._YamlLoader", yaml.SafeLoader)
    with pytest.raises(SchemaError) as caught:
        Schema.parse(text, source="people.yaml")
    assert message in str(caught.value)


def test_aliases_share_lists():
    schema = Schema.parse(
        "columns:\n  a: {type: categorical, values: &yn [yes, no]}\n  b: {type: categorical, values: *yn}"
    )
    assert schema["a"].values == schema["b"].values == ("yes", "no")


def bomb(width, depth):
    lines = ["a0: &a0 [x, x]"]
    lines += [
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, depth)
    ]
    return "\n".join([*lines, f"columns: *a{depth - 1}"])


@pytest.mark.parametrize(
    "text",
    [
        bomb(9, 9),
        bomb(20, 9),
        "columns: &c {a: *c}",
        "columns: &c [*c, *c]",
        "x: &x [" + "a, " * 20_000 + "a]\ny: [" + "*x, " * 90 + "a]\ncolumns: {}",
        "columns: {a: {type: categorical, values: [" + "*x, " * 200 + "]}}",
    ],
    ids=["laughs", "wider", "itself", "itself twice", "long", "many"],
)
def test_alias_bombs_fail_early(text):
    with pytest.raises(SchemaError):
        Schema.parse(text)


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "huge.yaml"
    path.write_text("#" * (9 * 2**20))
    with pytest.raises(SchemaError, match="larger than 8 MB"):
        Schema.load(path)


@given(
    st.one_of(st.text(max_size=60), st.text("columns: {}[]&*!-?'\"\n a1", max_size=60))
)
def test_any_text_is_a_schema_or_a_schema_error(text):
    with contextlib.suppress(SchemaError):
        assert Schema.parse(text).columns is not None


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        texts,
        st.sampled_from(["learn", "integer", "F"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "columns",
                    "type",
                    "values",
                    "min",
                    "max",
                    "bins",
                    "unit",
                    "impossible",
                    "levels",
                    "name",
                    "a",
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(json_values)
def test_hostile_plain_data_is_refused_and_nothing_else(plain):
    for value in (
        plain,
        {"columns": plain},
        {"columns": [{"name": "a", "type": "integer", "bins": plain, "min": plain}]},
    ):
        with contextlib.suppress(SchemaError):
            schema_from_dict(value)


@pytest.mark.parametrize(
    "plain",
    [
        {"columns": [{"name": "a", "type": "integer", "min": 10**5000}]},
        {"columns": [{"name": "a", "type": "integer", "min": float("nan")}]},
        {"columns": [{"name": "a", "type": "real", "min": "1e999", "max": "9" * 399}]},
        {
            "columns": [
                {
                    "name": "a",
                    "type": "datetime",
                    "min": "0001-01-01T00:00+23:59",
                    "zone": "Asia/Tokyo",
                }
            ]
        },
        {
            "columns": [
                {
                    "name": "a",
                    "type": "datetime",
                    "min": "2020-01-01",
                    "max": "2020-01-02",
                    "bins": ["0001-01-01 00:00+14:00"],
                    "zone": "UTC",
                }
            ]
        },
        {"columns": [{"name": "a", "type": "text", 3: 4}]},
        {"columns": [{"name": "\ud800", "type": "text"}]},
        {"columns": {"a": object()}},
        {"columns": (1, 2)},
        {
            "columns": [
                {"name": "a", "type": "integer"},
                {"name": "a", "type": "integer"},
            ]
        },
        [],
        None,
        "columns",
        {"columns": [{"name": "a", "type": "time", "resolution": "0s"}]},
        {
            "columns": [
                {
                    "name": "a",
                    "type": "categorical",
                    "values": ["x"],
                    "levels": {"l": {"g": ["x", "x"]}},
                }
            ]
        },
    ],
    ids=range(15),
)
def test_hostile_release_schemas_are_refused(plain):
    with pytest.raises(SchemaError):
        schema_from_dict(plain)


def test_deep_plain_data_is_refused():
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SchemaError, match="nested too deep"):
        schema_from_dict({"columns": deep})


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "people.yaml"
    first, second = (Schema(columns=(Text(name=name),)) for name in ("a", "b"))
    first.save(path)
    assert Schema.load(path) == first

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(
        SchemaError, match=r"No space left on device\). Nothing was written"
    ):
        second.save(path)
    assert Schema.load(path) == first
    assert [p.name for p in tmp_path.iterdir()] == ["people.yaml"]


def test_a_file_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(
        SchemaError, match=r"nobody\.yaml: cannot be read \(No such file"
    ):
        Schema.load(tmp_path / "nobody.yaml")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("columns: {größe: text}".encode("latin-1"))
    with pytest.raises(SchemaError, match="not UTF-8"):
        Schema.load(latin)
    with pytest.raises(SchemaError, match="cannot be written"):
        Schema(columns=()).save(tmp_path / "no folder" / "x.yaml")


def test_a_byte_order_mark_is_no_character(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("columns: {a: text}", encoding="utf-8-sig")
    assert [c.name for c in Schema.load(path).columns] == ["a"]


def test_bounds_of_moments_survive_the_file():
    column = Datetime(
        name="t",
        zone="Europe/Zurich",
        min=datetime(2020, 10, 25, 2, 30),
        max=datetime(2020, 10, 26),
    )
    (again,) = Schema.parse(dump_schema(Schema(columns=(column,)))).columns
    assert again == column
    assert (again.low, again.high) == (column.low, column.high)


def test_a_public_list_stands_alone_or_with_weights():
    page = "columns:\n  a: {type: categorical, values: learn, unfold: [x, 'no', 10]}\n"
    page += "  b:\n    type: categorical\n    unfold: {x: 3, y: 1}\n"
    schema = Schema.parse(page)
    assert schema["a"].unfold == {"x": 1, "no": 1, "10": 1}
    assert schema["b"].unfold == {"x": 3, "y": 1}
    assert Schema.parse(dump_schema(schema)) == schema
    assert schema_from_dict(schema_to_dict(schema)) == schema


@pytest.mark.parametrize(
    ("unfold", "words"),
    [
        ("[x, x]", "listed twice"),
        ("{x: 1.5}", "whole numbers"),
        ("{x: [1]}", "single value"),
        ("{x: -3}", "whole numbers"),
    ],
)
def test_a_public_list_that_cannot_be_read_is_named_with_its_line(unfold, words):
    with pytest.raises(SchemaError, match=rf"^schema:2: .*{words}"):
        Schema.parse(
            f"columns:\n  a: {{type: categorical, values: learn, unfold: {unfold}}}"
        )
