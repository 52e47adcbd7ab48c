"""The schema: names that differ, a unit that exists, zeros that are sure."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest

from understudy.errors import SchemaError
from understudy.schema import (
    Boolean,
    Categorical,
    Identifier,
    Integer,
    Schema,
    Text,
    UndeclaredColumn,
    Unit,
    parse_predicate,
)

AGE = Integer(name="age", min=0, max=99, bins=(0, 15, 30, 100), nullable=False)
MARRIED = Boolean(name="married")
SEX = Categorical(name="sex", values=("F", "M"), nullable=False)
KEY = Identifier(name="key")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": (AGE, AGE)}, 'column "age" stands twice'),
        ({"columns": (AGE,), "unit": Unit(id="key")}, '"key" is not in the schema'),
        ({"columns": (AGE,), "unit": Unit(id="age")}, "must have type identifier"),
        ({"columns": (AGE,), "rows": -1}, "fewer than 0 rows"),
        (
            {"columns": (AGE,), "impossible": (parse_predicate("sex = 'F'"),)},
            "impossible: sex = 'F': column \"sex\" is not",
        ),
        (
            {"columns": (AGE,), "impossible": (parse_predicate("age = 'x'"),)},
            "none of its values",
        ),
    ],
)
def test_contradictions_are_refused(arguments, message):
    with pytest.raises(SchemaError) as caught:
        Schema(**arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("unit", [{"max_rows": 0, "id": "key"}, {"max_rows": 2}])
def test_a_unit_is_a_row_or_an_id(unit):
    with pytest.raises(SchemaError, match="unit: max_rows"):
        Unit(**unit)


def test_a_schema_is_the_columns_of_the_release():
    schema = Schema(
        columns=(AGE, Text(name="remarks"), SEX, KEY), unit=Unit(id="key", max_rows=3)
    )
    assert list(schema) == ["age", "sex"]
    assert len(schema) == 2
    assert "sex" in schema
    assert "remarks" not in schema
    assert schema["remarks"].type == "text"
    assert schema.sizes(("sex", "age")) == (2, 3)
    assert schema.is_closed
    assert not Schema(columns=(UndeclaredColumn(name="x"),)).is_closed
    assert schema.unit.noun == "key"
    with pytest.raises(SchemaError, match="not in the schema"):
        schema["nobody"]


def test_zeros_are_the_cells_that_are_surely_impossible():
    schema = Schema(
        columns=(AGE, MARRIED, SEX),
        impossible=(
            parse_predicate("age < 20 and married = true"),
            parse_predicate("sex = 'M' and married is missing"),
        ),
    )
    zeros = schema.zeros(("married", "age"))
    # The bin 15 to 29 is mixed, so it stays possible.
    np.testing.assert_array_equal(
        zeros, [[False] * 3, [True, False, False], [False] * 3]
    )
    assert schema.zeros(("age", "sex")) is None
    assert schema.zeros(("age",)) is None
    both = schema.zeros(("age", "married", "sex"))
    assert both.shape == (3, 3, 2)
    assert both.sum() == 2 + 3
    assert both[0, 1].all()
    assert both[:, 2, 1].all()


def test_a_constraint_that_no_bin_surely_meets_gives_no_zeros():
    assert (
        Schema(columns=(AGE,), impossible=(parse_predicate("age = 7"),)).zeros(("age",))
        is None
    )


def test_constraints_stay_with_the_schema():
    schema = Schema(
        columns=(AGE, MARRIED),
        impossible=(parse_predicate("age < 15 and married = true"),),
    )
    again = schema.with_column(
        Integer(name="age", min=0, max=99, bins=(0, 50, 100), nullable=False)
    )
    assert again.impossible == schema.impossible
    assert again.zeros(("age", "married")) is None


def test_a_schema_file_round_trips(tmp_path):
    schema = Schema(
        columns=(AGE, MARRIED, KEY),
        unit=Unit(id="key", max_rows=3),
        impossible=(parse_predicate("age < 15 and married = true"),),
    )
    schema.save(tmp_path / "people.yaml")
    assert Schema.load(tmp_path / "people.yaml") == schema
    assert Schema.load(str(tmp_path / "people.yaml")) == schema
    assert Schema.parse((tmp_path / "people.yaml").read_text()) == schema


def test_an_error_names_where_a_text_came_from(tmp_path):
    text = "columns:\n  age: {type: integer, min: 9, max: 1}"
    with pytest.raises(SchemaError, match=r'^schema:2: column "age"'):
        Schema.parse(text)
    with pytest.raises(SchemaError, match=r'^the form:2: column "age"'):
        Schema.parse(text, source="the form")
    path = tmp_path / "people.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError, match=r'people\.yaml:2: column "age"'):
        Schema.load(path)


@pytest.mark.skipif(os.name != "posix", reason="Windows has other permissions")
def test_a_saved_schema_is_for_its_owner_alone(tmp_path):
    Schema(columns=(AGE,)).save(tmp_path / "people.yaml")
    assert stat.S_IMODE((tmp_path / "people.yaml").stat().st_mode) == 0o600


def test_column_sizes_count_the_codes_of_the_release():
    schema = Schema(columns=(AGE, Text(name="remarks"), MARRIED, SEX))
    assert schema.column_sizes == {"age": 3, "married": 3, "sex": 2}
    assert schema.column_sizes is schema.column_sizes
