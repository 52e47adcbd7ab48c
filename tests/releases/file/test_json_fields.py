"""Reading fields that anybody may have written."""

from __future__ import annotations

import json
from datetime import date
from enum import StrEnum
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import ReleaseError
from understudy.releases.file.json_fields import (
    JsonFields,
    day_from_json,
    fraction_from_json,
    fraction_to_json,
    parse_json,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


@given(JSON)
def test_json_comes_back(value):
    assert parse_json(json.dumps(value).encode()) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_refused(data):
    try:
        expected = json.loads(
            data.decode(), parse_constant=lambda _: (_ for _ in ()).throw(ValueError())
        )
    except ValueError:
        with pytest.raises(ReleaseError):
            parse_json(data)
    else:
        assert parse_json(data) == expected


@given(st.fractions(min_value=0))
def test_exact_numbers_come_back(number):
    assert fraction_from_json(fraction_to_json(number), "x") == number


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "1.5",
        "1/0",
        "-1/2",
        " 1/2",
        "1/2 ",
        "1//2",
        "٣/٤",
        "0x1/2",
        3,
        None,
        ["1/2"],
    ],
)
def test_what_is_no_exact_number_is_refused(text):
    with pytest.raises(ReleaseError, match="exact number"):
        fraction_from_json(text, "x")


def test_days_are_days():
    assert day_from_json("2025-03-01", "x") == date(2025, 3, 1)
    for text in ("20250301", "2025-W09-6", "2025-03-01T00:00", "2025-02-30", 20250301):
        with pytest.raises(ReleaseError):
            day_from_json(text, "x")


class Word(StrEnum):
    YES = "yes"


@pytest.mark.parametrize(
    "read",
    [
        lambda f: f.text("number"),
        lambda f: f.text("lone"),
        lambda f: f.whole("truth"),
        lambda f: f.whole("float"),
        lambda f: f.whole("number", high=3),
        lambda f: f.choice("text", Word),
        lambda f: f.choice("list", Word),
        lambda f: f.items("text"),
        lambda f: f.texts("list"),
        lambda f: f.free_object("list"),
        lambda f: f.truth("number"),
        lambda f: f.fraction("text"),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(read):
    found = {
        "number": 7,
        "truth": True,
        "float": 7.0,
        "text": "no",
        "list": [1],
        "lone": "\ud800",
    }
    with pytest.raises(ReleaseError, match=r"release\.json: x\.") as caught:
        read(JsonFields(found, "x", set(found)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "found", [{}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, [], None, "ab"]
)
def test_fields_are_exactly_those_expected(found):
    with pytest.raises(ReleaseError, match="exactly the fields a, b"):
        JsonFields(found, "x", {"a", "b"})


def test_optional_fields_may_be_there_or_not():
    assert "b" not in JsonFields({"a": 1}, "x", {"a"}, optional={"b"})
    assert JsonFields({"a": 1, "b": 2.5}, "x", {"a"}, optional={"b"}).number("b") == 2.5
    with pytest.raises(ReleaseError, match="exactly the fields a"):
        JsonFields({"b": 1}, "x", {"a"}, optional={"b"})


@pytest.mark.parametrize("value", [True, "1", None, 10**400, [1]])
def test_a_number_is_one_that_a_double_holds(value):
    with pytest.raises(ReleaseError, match="is not a number"):
        JsonFields({"a": value}, "x", {"a"}).number("a")


def test_what_is_sound_is_read():
    fields = JsonFields(
        {"a": "yes", "b": None, "c": "1/2", "d": ["x"], "e": {"k": 1}},
        "x",
        {"a", "b", "c", "d", "e"},
    )
    assert fields.choice("a", Word) is Word.YES
    assert fields.optional("b", day_from_json) is None
    assert fields.fraction("c") == Fraction(1, 2)
    assert fields.texts("d") == ("x",)
    assert fields.free_object("e") == {"k": 1}
