"""A column that drowned in noise is called lost, in releases of now and of before."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kit.releases.builders import SMALL, model_of, release
from understudy.releases import MarginalVerdict, Release
from understudy.releases.card.lost_columns import lost_columns
from understudy.releases.card.recoded_columns import recoding_lines
from understudy.releases.warnings import list_warnings
from understudy.schema import Schema
from understudy.schema.columns.base import LOST_FACT

OLD_NOTE = "no bounds stood out of the noise, so its values are lost"


def with_age(**changes: object) -> Release:
    schema = SMALL.with_column(replace(SMALL["age"], **changes))
    return replace(release(), schema=schema, model=model_of(schema, "product"))


@pytest.mark.parametrize(
    "made",
    [
        with_age(learned=("bounds", LOST_FACT)),
        with_age(learned=("bounds",), note=OLD_NOTE),
    ],
    ids=["marked", "noted before"],
)
def test_a_lost_column_is_lost_in_all_that_is_said(made: Release) -> None:
    assert lost_columns(made.evidence) == ["age"]
    assert made.card.of(["age"]).verdict is MarginalVerdict.LOST
    assert any("noise in age" in line for line in list_warnings(made))
    assert not any(line.startswith("Clipped") for line in recoding_lines(made.evidence))


def test_only_a_column_that_is_left_empty_is_called_empty() -> None:
    marked = with_age(learned=("bounds", LOST_FACT))
    noted = with_age(learned=("bounds",), note=OLD_NOTE)
    assert any("age: left empty" in line for line in list_warnings(marked))
    assert any("what was in them is lost" in line for line in list_warnings(noted))
    assert not any("left empty" in line for line in list_warnings(noted))


def test_a_column_with_another_note_is_not_lost() -> None:
    made = with_age(learned=("bounds",), note="years, rounded down")
    assert lost_columns(made.evidence) == []
    assert any(line.startswith("Clipped") for line in recoding_lines(made.evidence))


def test_the_mark_of_before_survives_a_file() -> None:
    made = with_age(learned=("bounds",), note=OLD_NOTE)
    back = Release.from_bytes(made.to_bytes())
    assert isinstance(back.schema, Schema)
    assert lost_columns(back.evidence) == ["age"]
    assert json.dumps(back.card.to_dict()) == json.dumps(made.card.to_dict())
