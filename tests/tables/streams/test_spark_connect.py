"""Spark Connect, whose client has no Java: the same integers, by the same plans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import understudy as us
from kit.spark import PEOPLE_SCHEMA, open_session, read_people
from understudy.tables import Table, describe_rows, open_table
from understudy.testing.table_conformance import check_table
from understudy.workflow.open import open_source

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    # Connect says which settings are those of the server, and not of a session.
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    settings = {"spark.sql.warehouse.dir": warehouse}
    with open_session(SparkSession.builder.remote("local[2]"), settings) as running:
        yield running


def test_a_frame_of_connect_gives_the_integers_of_a_file(session: Any) -> None:
    people = read_people()
    frame = session.createDataFrame(people).repartition(3)
    assert type(frame).__module__ == "pyspark.sql.connect.dataframe"
    with open_source(frame) as source:
        expected = Table(open_table(people), PEOPLE_SCHEMA)
        check_table(describe_rows(source, PEOPLE_SCHEMA), expected)


def test_a_name_is_released_and_written_back(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session.createDataFrame(read_people()).write.saveAsTable("people")
    release = us.synthesize(
        "spark:people", PEOPLE_SCHEMA, epsilon=1, synthesizer="independent"
    )
    assert (tmp_path / "people.ledger").exists()
    assert release.write("spark:made", 300, seed=3) == 300
    assert session.table("made").count() == 300
