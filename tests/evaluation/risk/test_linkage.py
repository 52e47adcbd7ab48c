"""Linkage to a file with names, by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from understudy.evaluation.risk.linkage import assess_linkage
from understudy.findings import Unavailable
from understudy.schema import Categorical, Identifier, Integer, Schema
from understudy.tables import Records, Table, open_table

PEOPLE = Schema(
    columns=(
        Identifier(name="name"),
        Integer(name="zip", min=0, max=9, nullable=False),
        Categorical(name="sex", values=("F", "M"), nullable=False),
        Categorical(name="ill", values=("no", "flu", "cancer")),
    )
)
HOSPITAL = [
    ("ann", 1, "F", "flu"),
    ("bob", 1, "M", "cancer"),
    ("cyd", 2, "F", "no"),
    ("dan", 2, "F", "flu"),
]
VOTERS = [
    ("ann", 1, "F", None),
    ("bob", 1, "M", None),
    ("cyd", 2, "F", None),
    ("eve", 3, "F", None),
]


def read(rows: list[tuple], columns: list[str], *, key: bool = True) -> Records:
    cells = dict(
        zip(
            ("name", "zip", "sex", "ill"),
            map(list, zip(*rows, strict=True)),
            strict=True,
        )
    )
    arrays = {
        n: pa.array(c, pa.int64() if n == "zip" else pa.string())
        for n, c in cells.items()
    }
    return Table(open_table(pa.table(arrays)), PEOPLE).records(
        columns, key="name" if key else None
    )


def test_the_original_names_ann_and_bob() -> None:
    voters, hospital = (
        read(VOTERS, ["zip", "sex"]),
        read(HOSPITAL, ["zip", "sex", "ill"]),
    )
    found = assess_linkage(
        voters, hospital, ["zip", "sex"], original=hospital, secrets=["ill"]
    )
    assert (
        found.value == 0.5
    )  # ann and bob; cyd shares her class with dan, eve is not there
    assert found.facts["links_of_members"] == 2
    assert found.parts[0].value == 1
    assert found.parts[0].facts["majority"] == 0.5


def test_a_synthetic_table_links_to_nobody_s_values() -> None:
    fake = [("", 1, "F", "no"), ("", 1, "M", "no"), ("", 3, "F", "cancer")]
    voters, hospital = (
        read(VOTERS, ["zip", "sex"]),
        read(HOSPITAL, ["zip", "sex", "ill"]),
    )
    found = assess_linkage(
        voters,
        read(fake, ["zip", "sex", "ill"], key=False),
        ["zip", "sex"],
        original=hospital,
        secrets=["ill"],
    )
    assert found.facts["links"] == 3  # eve too, who is in no hospital
    assert found.facts["links_of_members"] == 2
    assert found.parts[0].value == 0
    assert found.facts["links_to_the_original"] == 2


def test_without_the_original_the_links_are_counted_alone() -> None:
    found = assess_linkage(
        read(VOTERS, ["zip", "sex"]),
        read(HOSPITAL, ["zip", "sex"]),
        ["zip", "sex"],
        secrets=["ill"],
    )
    assert found.value == 0.5
    assert found.parts == ()
    with pytest.raises(Unavailable, match="in common"):
        assess_linkage(read(VOTERS, ["zip"]), read(HOSPITAL, ["zip"]), [])
