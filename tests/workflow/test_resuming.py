"""Resuming: a table that is visibly another one is refused, and what cannot be seen is
said.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import duckdb
import pytest

from understudy.accounting.ledger import Ledger
from understudy.errors import Refused
from understudy.notices import Notice
from understudy.schema import Boolean, Schema
from understudy.workflow.resuming import RESUMED_NOTICE
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

SCHEMA = Schema(columns=(Boolean(name="smoker"),))


def write_people(
    path: Path, *, header: str = "smoker,age", row: str = "yes,42"
) -> Path:
    path.write_text(f"{header}\n" + f"{row}\n" * 20)
    return path


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A ledger with a run r on people.csv."""
    synthesize(
        write_people(tmp_path / "people.csv"),
        SCHEMA,
        epsilon=1,
        ledger=tmp_path / "l.ledger",
        run=RunOptions(run_id="r"),
    )
    return tmp_path / "l.ledger"


def resume_on(table: object, ledger: Path, **options: object):
    return synthesize(table, SCHEMA, epsilon=1, ledger=ledger, resume="r", **options)


def test_a_table_of_another_name_is_refused(begun, tmp_path):
    with pytest.raises(
        Refused,
        match=r"Run r was begun on a table with another name.*Nothing was spent",
    ):
        resume_on(write_people(tmp_path / "others.csv"), begun)


def test_a_table_with_other_columns_is_refused_though_the_schema_has_none_of_them(
    begun, tmp_path
):
    with pytest.raises(
        Refused,
        match=r"Run r was begun on a table with other columns.*Nothing was spent",
    ):
        resume_on(write_people(tmp_path / "people.csv", header="smoker,height"), begun)


def test_a_table_of_another_kind_is_refused(begun, tmp_path):
    duckdb.sql("SELECT 'yes' AS smoker, 42 AS age").write_parquet(
        str(tmp_path / "people.parquet")
    )
    (tmp_path / "people.parquet").rename(tmp_path / "people.csv.parquet")
    with pytest.raises(Refused, match=r"Run r was begun on a table with another"):
        resume_on(tmp_path / "people.csv.parquet", begun)


def test_other_rows_are_not_noticed_and_that_is_said(begun, tmp_path):
    """No digest of rows is kept, so stored answers are given about rows that are gone."""
    posted: list[Notice] = []
    again = resume_on(
        write_people(tmp_path / "people.csv", row="no,42"),
        begun,
        run=RunOptions(notify=posted.append),
    )
    assert again.statement.run == "r"
    assert RESUMED_NOTICE in posted
    assert RESUMED_NOTICE.text in again.notes
    assert "no digest of them is kept" in RESUMED_NOTICE.text


def test_a_run_that_an_earlier_version_began_is_taken_up(tmp_path):
    """Its reservation says nothing about the table."""
    people, path = write_people(tmp_path / "people.csv"), tmp_path / "l.ledger"
    first = synthesize(
        people,
        SCHEMA,
        epsilon=1,
        ledger=path,
        run=RunOptions(run_id="r"),
        synthesizer="independent",
    )
    old = tmp_path / "old.ledger"
    with Ledger.open(path) as ledger, Ledger.create(old, dataset="people.csv") as copy:
        run = ledger.resume("r")
        copy.reserve(
            run.budget, event=run.event, filter=_unspent(run.filter), run_id="r"
        )
        assert copy.resume("r").table is None
    again = resume_on(people, old, synthesizer="independent")
    assert again.guarantee.epsilon == first.guarantee.epsilon


def _unspent(filter):
    filter.spent = filter.spent_delta = filter.spent * 0
    return filter


def test_a_package_without_metadata_makes_a_release(tmp_path, monkeypatch):
    """Asked for after the reservation, a version that is not installed cost the whole
    run.
    """

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    release = synthesize(write_people(tmp_path / "people.csv"), SCHEMA, epsilon=1)
    assert release.environment["understudy"]
