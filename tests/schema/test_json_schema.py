"""The published JSON Schema: it accepts what the reader accepts, and refuses what it
can see is wrong.
"""

from __future__ import annotations

from importlib.resources import files

import jsonschema
import pytest
from hypothesis import given, settings

from kit.schema.files import FULL, edited, schemas
from understudy.errors import SchemaError
from understudy.schema import Schema, dump_schema, json_schema, schema_to_dict
from understudy.schema.yaml.keys import (
    COLUMN_KEYS_BY_TYPE,
    COMMON_COLUMN_KEYS,
    LEARN_WORD,
    SCHEMA_FILE_KEYS,
    UNIT_KEYS,
)

VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def test_it_is_a_json_schema_and_ships_with_the_package():
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert files("understudy.schema").joinpath("understudy.schema.json").is_file()


def test_the_full_example_is_valid():
    VALIDATOR.validate(edited(FULL.replace("~", "x")))


@settings(max_examples=60)
@given(schemas())
def test_every_page_and_every_plain_form_is_valid(schema):
    VALIDATOR.validate(edited(dump_schema(schema)))
    VALIDATOR.validate(schema_to_dict(schema))


INVALID = [
    "3",
    "[]",
    "{}",
    "columns: 3",
    "colums: {a: text}",
    "columns: {a: integr}",
    "columns: {a: {type: integr}}",
    "columns: {a: {type: integer, mim: 3}}",
    "columns: {a: {type: integer, min: 1.5}}",
    "columns: {a: {type: integer, min: [1]}}",
    "columns: {a: {type: integer, bounds: 3}}",
    "columns: {a: {type: integer, bins: 0}}",
    "columns: {a: {type: real, max: lots}}",
    "columns: {a: {type: real, decimals: 99}}",
    "columns: {a: {type: date, max: 31.12.2020}}",
    "columns: {a: {type: datetime, resolution: fast}}",
    "columns: {a: {type: time, max: 8am}}",
    "columns: {a: {type: time, bounds: learn}}",
    "columns: {a: {type: categorical, min: 3}}",
    "columns: {a: {type: categorical, values: F}}",
    "columns: {a: {type: categorical, values: [F, [M]]}}",
    "columns: {a: {type: categorical, values: [F, F]}}",
    "columns: {a: {values: [x]}}",
    "columns: {a: {type: text, nullable: maybe}}",
    "columns: {a: {type: text, role: secret}}",
    "columns: [{type: text}]",
    "columns: {a: [type]}",
    "{columns: {a: text}, version: 2}",
    "{columns: {a: text}, rows: -3}",
    "{columns: {a: text}, unit: {who: a}}",
    "{columns: {a: text}, unit: {id: a, max_rows: 0}}",
    "{columns: {a: boolean}, impossible: a = true}",
    "{columns: {a: boolean}, impossible: [{a: b}]}",
]


@pytest.mark.parametrize("text", INVALID)
def test_wrong_kinds_keys_and_forms_are_refused_by_it_and_by_the_reader(text):
    assert not VALIDATOR.is_valid(edited(text))
    with pytest.raises(SchemaError):
        Schema.parse(text)


def test_it_knows_the_same_words_as_the_reader():
    published = json_schema()
    assert set(published["properties"]) == set(SCHEMA_FILE_KEYS)
    assert set(published["properties"]["unit"]["oneOf"][1]["properties"]) == set(
        UNIT_KEYS
    )
    for kind, keys in COLUMN_KEYS_BY_TYPE.items():
        words = set(published["$defs"][kind]["properties"])
        assert words == {*COMMON_COLUMN_KEYS, *keys} - (
            {"bounds"} if kind == "time" else set()
        )
    assert set(published["$defs"]["typename"]["enum"]) == set(COLUMN_KEYS_BY_TYPE)
    assert LEARN_WORD in COLUMN_KEYS_BY_TYPE


def test_a_file_it_accepts_can_still_contradict_itself():
    """It is for editors; the reader has the last word."""
    text = "columns: {age: {type: integer, min: 90, max: 17}}"
    VALIDATOR.validate(edited(text))
    with pytest.raises(SchemaError):
        Schema.parse(text)
