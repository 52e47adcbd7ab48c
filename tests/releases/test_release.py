"""Releases: what they hold, what they give, and what they refuse."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import get_overloads

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import understudy.releases as room
from kit.releases import hostile
from kit.releases.builders import (
    EVERY_TYPE,
    release,
)
from understudy.models import ProductModel
from understudy.releases import FRAME_KINDS, Guarantee, Release, to_bytes
from understudy.schema import Integer, Schema


def test_the_table_of_contents():
    names = (
        "Answer BudgetStatement BudgetStep Card CardEntry Evidence Explanation FRAME_KINDS Guarantee GuaranteeKind "
        "MarginalVerdict Question QuestionKind RELEASE_FORMAT_VERSION Release ReleaseKind"
        " from_bytes load_release save to_bytes to_frame write_rows"
    )
    assert " ".join(sorted(room.__all__)) == names


@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        ("pandas", pd.DataFrame),
        ("polars", pl.DataFrame),
        ("pyarrow", pa.Table),
        ("numpy", dict),
    ],
)
def test_the_kind_of_frame_that_came_in_goes_out(kind, frame):
    assert isinstance(release(frame=kind).sample(), frame)
    assert isinstance(release(frame=None).sample(kind=kind), frame)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "duckdb", "numpy"])
def test_columns_stand_in_schema_order(kind):
    frame = release(EVERY_TYPE).sample(5, kind=kind)
    names = (
        list(frame)
        if kind == "numpy"
        else frame.column_names
        if kind == "pyarrow"
        else list(frame.columns)
    )
    assert names == list(EVERY_TYPE)


def test_it_shows_itself():
    text = repr(release())
    assert (
        text.splitlines()[0]
        == "guarantee  Private with ε = 1, δ = 1e-9 for adding or removing one row."
    )
    assert "public by your declaration or the table's header: the values of sex" in text
    assert "42 by default, the noisy estimate" in text


def test_a_notebook_shows_names_and_never_runs_them():
    name = "<script>alert(1)</script>"
    schema = Schema(columns=(Integer(name=name, min=0, max=1),))
    shown = Release(
        guarantee=Guarantee.without_data(public=('<img src=x onerror="alert(2)">',)),
        schema=schema,
        model=ProductModel.uniform(schema, 1.0),
        synthesizer="<b>",
    )._repr_html_()
    for bad in ("<script", "<img", "<b>", 'onerror="'):
        assert bad not in shown
    assert "&lt;script&gt;" in shown


def test_nothing_but_what_was_paid_for_leaves():
    """Every field of the file is known; there is none in which a count of rows, a path,
    a hash of rows or a time could stand.
    """
    document = json.loads(hostile.unzip(to_bytes(release()))["release.json"])
    assert " ".join(sorted(document)) == (
        "card environment format frame gaps guarantee kind measurements microdata model notes schema sparse statement synthesizer version"
    )
    assert set(document["statement"]) == {
        "dataset",
        "epsilon",
        "delta",
        "steps",
        "ledger",
        "run",
        "day",
    }
    assert set(document["environment"]) == {"understudy", "python", "numpy", "duckdb"}
    assert date.fromisoformat(document["statement"]["day"])


def test_a_type_checker_knows_the_frame_of_every_kind():
    kinds = []
    for overload in get_overloads(Release.sample):
        annotation = overload.__annotations__["kind"]
        kinds += re.findall(r"Literal\[['\"](\w+)['\"]\]", annotation)
    assert sorted(kinds) == sorted(FRAME_KINDS)


def test_saving_and_loading_are_inverse_as_files_and_as_bytes(tmp_path):
    made = release()
    made.save(tmp_path / "a.understudy")
    back = Release.load(tmp_path / "a.understudy")
    assert type(back) is Release
    assert (
        back.to_bytes() == made.to_bytes() == (tmp_path / "a.understudy").read_bytes()
    )
    assert Release.from_bytes(made.to_bytes()).guarantee == made.guarantee
