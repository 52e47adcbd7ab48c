"""A run as a whole: real files in, real files out."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.accounting.budget import Budget
from understudy.accounting.filter import Filter
from understudy.accounting.ledger import Ledger
from understudy.errors import Refused, UnderstudyError
from understudy.notices import NoticeKind
from understudy.releases.summary import list_warnings
from understudy.schema import Boolean, Schema
from understudy.synthesizers import make
from understudy.workflow.preflight import check_schema


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    duckdb.sql(
        f"""COPY (SELECT (i % 50)::INT AS a, (i % 7)::TINYINT AS b, (i % 100 + 0.5)::FLOAT AS f, (i % 30)::DECIMAL(7, 2) AS d,
        DATE '2020-01-01' + (i % 300)::INT AS day, i % 2 = 0 AS ok, 'x' || (i % 3) AS s FROM range(5000) t(i)) TO '{path}'"""
    )
    return path


@pytest.fixture
def few(parquet: Path, tmp_path: Path) -> Path:
    """The same people with four columns: where a run as a whole is the point, and not
    how much it finds out.
    """
    path = tmp_path / "few.parquet"
    duckdb.sql(f"COPY (SELECT a, b, ok, s FROM '{parquet}') TO '{path}'")
    return path


def types_of(path: Path) -> dict[str, str]:
    return {
        row[0]: row[1]
        for row in duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    }


def test_a_parquet_file_comes_back_with_its_types(parquet: Path, tmp_path: Path):
    """Once its owner declares them, as a draft does; without a declaration they come
    back as wide as their kind.
    """
    release = us.synthesize(parquet, us.describe(parquet), epsilon=5)
    release.write(tmp_path / "out.parquet")
    assert types_of(tmp_path / "out.parquet") == types_of(parquet)


def test_a_release_says_how_its_synthesizer_was_set(parquet: Path):
    from understudy.synthesizers import make

    release = us.synthesize(
        parquet, epsilon=5, synthesizer=make("independent", equal=True)
    )
    assert release.options == {"equal": True}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"neighbours": "both"}, "one of add_remove, replace"),
        ({"accounting": "gold"}, "one of pure, gdp, zcdp"),
        ({"seed": "a"}, "A seed is a whole number"),
        ({"seed": -1}, "A seed is a whole number"),
        ({"workload": 5}, "A workload is"),
        ({"workload": [None]}, "A workload is"),
        ({"schema": {"columns": {}}}, "A schema is"),
    ],
)
def test_a_word_that_is_none_is_refused_in_one_line(
    few: Path, tmp_path: Path, words: dict[str, object], said: str
):
    with pytest.raises(UnderstudyError, match=said) as refused:
        us.synthesize(few, epsilon=1, ledger=tmp_path / "l", **words)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "l").exists()


def test_a_resumed_run_replays_its_answers_and_pays_nothing(few: Path, tmp_path: Path):
    ledger = tmp_path / "people.ledger"
    first = us.synthesize(few, epsilon=1, ledger=ledger)
    again = us.synthesize(few, epsilon=1, ledger=ledger, resume=first.statement.run)
    assert [m.values.tolist() for m in again.measurements] == [
        m.values.tolist() for m in first.measurements
    ]
    assert again.explanation == first.explanation
    assert first.explanation.decisions
    with Ledger.open(ledger) as book:
        assert book.totals().epsilon == 1
    new = us.synthesize(few, epsilon=1, ledger=ledger)
    assert [m.values.tolist() for m in new.measurements] != [
        m.values.tolist() for m in first.measurements
    ]
    with Ledger.open(ledger) as book:
        assert book.totals().epsilon == 2


def test_a_run_is_not_resumed_under_another_schema(parquet: Path, tmp_path: Path):
    ledger = tmp_path / "people.ledger"
    young, old = (
        us.Schema(columns=(us.Integer(name="a", min=low, max=low + 9),))
        for low in (0, 40)
    )
    first = us.synthesize(parquet, young, epsilon=1, ledger=ledger)
    with pytest.raises(
        us.errors.LedgerError,
        match=r"another question.*take the run up as it was begun, with the same schema",
    ):
        us.synthesize(
            parquet, old, epsilon=1, ledger=ledger, resume=first.statement.run
        )


def test_what_was_declared_before_discovery_is_listed_after_it(parquet: Path):
    half = us.Schema(
        columns=(us.Integer(name="a", max=10_000, note="the owner's own words"),)
    )
    release = us.synthesize(parquet, half, epsilon=1)
    assert "one bound of a" in release.guarantee.public
    # A note may tell of what was bought, such as how much lay beyond a learned bound;
    # the owner's stays at home.
    assert "own words" not in release.schema["a"].note


def test_pure_runs_work_where_nothing_needs_delta_and_are_refused_where_something_does(
    few: Path, tmp_path: Path
):
    described = us.describe(few, public_domains=True)
    release = us.synthesize(few, described, epsilon=1, delta=0)
    assert (
        release.guarantee.sentence()
        == "Private with ε = 1 for adding or removing one row."
    )
    with pytest.raises(Refused, match=r"δ = 0.*Nothing was spent"):
        us.synthesize(few, epsilon=1, delta=0, ledger=tmp_path / "untouched.ledger")
    assert not (tmp_path / "untouched.ledger").exists()


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_every_relation_and_accounting_releases(
    few: Path, neighbours: str, accounting: str
):
    release = us.synthesize(
        few, epsilon=2, delta="1e-7", neighbours=neighbours, accounting=accounting
    )
    spent = release.statement.total_cost
    assert spent is not None
    assert spent.amount <= release.guarantee.amount
    assert (release.rows == 5000) or neighbours == "add_remove"


def test_what_a_synthesizer_was_told_of_the_table_is_listed_as_public(few: Path):
    from understudy.synthesizers import make

    described = us.describe(few, public_domains=True)
    told = us.synthesize(
        few,
        described,
        epsilon=1,
        synthesizer=make("mst", public=(("b", "ok"), ("b", "s"))),
    )
    assert (
        told.guarantee.public[-1]
        == "that these columns depend on each other: b × ok, b × s"
    )
    assert (
        told.guarantee.public[-1]
        not in us.synthesize(few, described, epsilon=1).guarantee.public
    )


def test_a_score_that_needs_a_public_number_of_rows_is_refused_before_anything_is_spent(
    parquet: Path, tmp_path: Path
):
    from understudy.synthesizers import make

    described, method = (
        us.describe(parquet, public_domains=True),
        make("privbayes", score="R"),
    )
    with pytest.raises(
        Refused, match=r"score R needs a public number of rows.*Nothing was spent"
    ):
        us.synthesize(
            parquet,
            described,
            epsilon=1,
            synthesizer=method,
            ledger=tmp_path / "untouched.ledger",
        )
    assert not (tmp_path / "untouched.ledger").exists()
    with pytest.raises(Refused, match="score R needs a public number of rows"):
        us.plan(described, epsilon=1, synthesizer=method)


def test_what_no_model_had_room_for_is_told_and_kept(parquet: Path, tmp_path: Path):
    """A limit on cells leaves pairs out: the person who waits hears it, and so does
    whoever opens the release later.
    """
    numbers = us.Schema(
        columns=tuple(
            us.Integer(name=n, min=0, max=high)
            for n, high in (("a", 49), ("b", 6), ("f", 99))
        )
    )
    posted: list[us.Notice] = []
    release = us.synthesize(
        parquet,
        numbers,
        epsilon=5,
        synthesizer="gaussian",
        options={"limit": 1500},
        run=us.RunOptions(notify=posted.append),
    )
    (notice,) = [n for n in posted if n.kind is NoticeKind.TOO_LARGE]
    assert notice.text.startswith(
        "Not modelled together, for size (more than 1,500 cells): "
    )
    assert {"a", "f"} <= set(notice.columns)
    assert notice in release.notices
    assert notice.text in release.notes
    assert notice.text in repr(release)
    release.save(tmp_path / "people.understudy")
    (kept,) = us.Release.load(tmp_path / "people.understudy").notices
    assert kept.text == notice.text
    whole = us.synthesize(parquet, numbers, epsilon=5, synthesizer="mst")
    assert not [n for n in whole.notices if n.is_for_readers]


def test_notes_are_what_the_command_line_warns_of(parquet: Path):
    """Also where the run itself had nothing to say: of the budget, and of columns."""
    numbers = us.Schema(columns=(us.Integer(name="a", min=0, max=49),))
    release = us.synthesize(parquet, numbers, epsilon=5, synthesizer="independent")
    assert list_warnings(release)
    assert set(list_warnings(release)) <= set(release.notes)
    assert any(note.startswith("Left out: ") for note in release.notes)
    assert not any(note.startswith("Left out: ") for note in repr(release).split("\n"))


def test_a_long_fit_tells_its_rounds(parquet: Path):
    numbers = us.Schema(
        columns=tuple(
            us.Integer(name=n, min=0, max=high)
            for n, high in (("a", 49), ("b", 6), ("f", 99))
        )
    )
    reported: list[tuple[str, float]] = []
    spent: list[float] = []
    us.synthesize(
        parquet,
        numbers,
        epsilon=5,
        synthesizer="aim",
        progress=lambda stage, done: reported.append((stage, done)),
        run=us.RunOptions(spending=spent.append),
    )
    rounds = [stage for stage, _ in reported if stage.startswith("fitting round ")]
    assert len(set(rounds)) > 3
    assert reported[-1] == ("fitting", 1.0)
    assert spent == sorted(spent)
    assert 0.99 < spent[-1] <= 1


@pytest.mark.parametrize("target", ["group=age", "ranges=age"])
def test_a_target_for_a_column_that_discovery_counted_gets_its_budget(tmp_path, target):
    """Discovery had spent a little on the column's bins; what nobody wished for got all
    the rest.
    """
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "age": rng.normal(45, 15, 2000).clip(0, 89).astype(int),
            **{name: rng.integers(0, 5, 2000) for name in "abcd"},
        }
    )
    columns = [us.Integer(name="age", min=0, max=89, nullable=False)]
    columns += [us.Integer(name=name, min=0, max=4, nullable=False) for name in "abcd"]
    release = us.synthesize(
        table,
        us.Schema(columns=tuple(columns)),
        epsilon=1,
        workload=target,
        ledger=tmp_path / "l",
        run=us.RunOptions(dataset="d"),
    )
    paid = {
        name: sum(m.cost.amount for m in release.measurements if m.clique == (name,))
        for name in release.schema
    }
    assert paid["age"] > 3 * sum(paid[name] for name in "abcd")
    assert all(paid[name] > 0 for name in "abcd")


def test_a_label_too_long_to_keep_goes_where_unlisted_ones_go_and_the_release_is_whole(
    tmp_path,
):
    """Of 262,000 characters it filled the ledger's answer, and of 100,001 the release
    could not be saved: both after the charge.
    """
    people = tmp_path / "people.csv"
    people.write_text("place\n" + "Aarhus\n" * 300 + f"{'x' * 100_001}\n" * 300)
    release = us.synthesize(people, epsilon=8, delta="1e-6", synthesizer="independent")
    place = release.schema["place"]
    assert place.values == ("Aarhus",)
    release.save(tmp_path / "people.understudy")
    rows = release.sample(kind="duckdb", seed=1).fetchall()
    # Noise may leave a few empty cells, and nothing of a long label.
    assert {label for (label,) in rows} - {None} == {"Aarhus", place.other}


def test_a_table_with_more_columns_than_a_release_may_have_is_refused_before_anything_is_spent():
    """Its release could not be saved once it was paid for."""
    wide = Schema(columns=tuple(Boolean(name=f"c{i}") for i in range(10_001)))
    filter = Filter.of(Budget.of(1))
    with pytest.raises(Refused, match=r"at most 10,000 columns.*Nothing was spent"):
        check_schema(wide, make("independent"), filter, filter.total)


def test_every_stage_is_logged_without_rows_or_values(
    parquet: Path, caplog: pytest.LogCaptureFixture
):
    numbers = us.Schema(columns=(us.Integer(name="a", min=0, max=49),))
    with caplog.at_level("INFO", logger="understudy"):
        us.synthesize(
            parquet,
            numbers,
            epsilon=1,
            synthesizer="independent",
            run=us.RunOptions(run_id="r"),
        )
    assert [record.getMessage() for record in caplog.records] == [
        "checked: 1 columns, ε = 1.00, δ = 1e-9",
        "reserved: ε = 1.00, δ = 1e-9, run r",
        "measured: 1 marginals",
        "fitted: independent",
    ]
