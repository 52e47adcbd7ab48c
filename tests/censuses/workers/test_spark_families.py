"""A census whose parents are fitted by the workers of a real Spark session."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import understudy as us
from understudy.censuses import top_down
from understudy.errors import Refused
from understudy.workflow.run_options import RunOptions

SCHEMA = us.Schema.parse("""\
columns:
  state: {type: categorical, values: [n, s], nullable: false}
  county: {type: categorical, values: [a, b, c], nullable: false}
  sex: {type: categorical, values: [f, m], nullable: false}
""")
DESIGN = {
    "hierarchy": {"columns": ["state", "county"]},
    "invariants": [{"level": "state", "query": "total", "keep": "counts"}],
}
PEOPLE = (
    "SELECT ['n', 's'][1 + i % 2] AS state, ['a', 'b', 'c'][1 + i % 3] AS county,"
    " ['f', 'm'][1 + i % 5 % 2] AS sex FROM range(400) t(i)"
)


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Two cores, and two attempts of each task.
    running = (
        SparkSession.builder.master("local[2,2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield running
    running.stop()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_workers_fit_the_same_tables(session, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(top_down, "TASK_CELLS", 6)
    account = {"rho": 1, "ledger": tmp_path / "people.ledger"}
    people = duckdb.sql(PEOPLE)
    options = RunOptions(run_id="r", dataset="people")
    alone = us.census(people, SCHEMA, DESIGN, run=options, **account)
    spread = us.census(
        people, SCHEMA, DESIGN, resume="r", run=options, spark=session, **account
    )
    for level in ("nation", "state", "county"):
        assert (alone.counts(level, "sex") == spread.counts(level, "sex")).all()


def test_a_session_without_a_context_is_refused_for_free(tmp_path: Path):
    ledger = tmp_path / "people.ledger"
    with pytest.raises(Refused, match="Nothing was spent"):
        us.census(
            duckdb.sql(PEOPLE), SCHEMA, DESIGN, rho=1, ledger=ledger, spark=object()
        )
    assert not ledger.exists()
