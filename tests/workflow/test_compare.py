"""A synthetic table compared with the original, column by column."""

from __future__ import annotations

import pytest

import understudy as us
from understudy.accounting.ledger import Ledger
from understudy.errors import Refused
from understudy.schema import Boolean, Identifier, Schema, Unit
from understudy.workflow.compare import compare


@pytest.fixture
def visits(tmp_path):
    """Two visits for each of 300 patients; a smoker in every fourth row."""
    path = tmp_path / "visits.csv"
    path.write_text(
        "patient,smoker\n"
        + "".join(f"{i // 2},{'yes' if i % 4 == 0 else 'no'}\n" for i in range(600))
    )
    return path


SCHEMA = Schema(
    columns=(Identifier(name="patient"), Boolean(name="smoker", nullable=False)),
    unit=Unit(id="patient", max_rows=2),
)


def test_a_release_about_people_with_several_rows_is_compared_by_rows(visits, tmp_path):
    """A synthetic table has no ids, and its schema names one: the rows are compared as
    they are.
    """
    release = us.synthesize(
        visits, SCHEMA, epsilon=50, ledger=tmp_path / "l", synthesizer="independent"
    )
    release.write(tmp_path / "synthetic.csv")
    found = compare(visits, tmp_path / "synthetic.csv", release.schema)
    assert [gap.clique for gap in found.columns] == [("smoker",)]
    assert found.worst_columns(1)[0].distance < 0.05


def test_what_is_constant_within_a_person_is_compared_by_rows_too(visits):
    constant = Boolean(name="smoker", nullable=False, constant=True)
    found = compare(
        visits,
        visits,
        Schema(columns=(Identifier(name="patient"), constant), unit=SCHEMA.unit),
    )
    assert found.worst_columns(1)[0].distance == 0


def test_the_look_is_noted_before_it_is_taken(visits, tmp_path):
    book = tmp_path / "visits.ledger"
    us.synthesize(visits, SCHEMA, epsilon=1, ledger=book, synthesizer="independent")
    compare(visits, visits, SCHEMA, ledger=book)
    with Ledger.open(book) as account:
        assert [entry.event for entry in account.entries() if entry.kind == "note"] == [
            "compare"
        ]


def test_a_ledger_beside_the_file_gets_the_note_too(visits):
    release = us.synthesize(visits, SCHEMA, epsilon=1, synthesizer="independent")
    compare(visits, visits, release.schema)
    with Ledger.open(visits.with_name("visits.csv.ledger")) as account:
        assert any(entry.kind == "note" for entry in account.entries())


def test_tables_without_a_common_column_are_refused(visits, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("age\n30\n")
    with pytest.raises(Refused, match="no column in common"):
        compare(visits, other, SCHEMA)
