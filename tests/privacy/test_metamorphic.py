"""One row changes numbers that were paid for, and nothing else: not a name, not a
shape, not a file, not how the other rows are read.

Most tests here make the curator constant: it answers every count with the same number.
Whatever still differs between two tables was not paid for. Where a schema is learned it
is an answer like any other, and its distribution is audited (test_learned).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from kit.curator.contexts import UnchargedRun, context_of, no_noise
from kit.privacy.broken import BROKEN, IN_DUCKDB, Broken
from kit.privacy.odd import PAIRS, Pair, cell
from kit.privacy.runs import (
    NAMES,
    OTHER,
    PLAIN,
    SCHEMA,
    account,
    answer_constantly,
    by_person,
    chance,
    csv,
    form,
    parts,
    release_without_ledger,
    written,
)
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.cli.root import run as command
from understudy.curator import Payments
from understudy.curator.discovery.shares import needs_bins
from understudy.curator.mechanisms.sparse_histogram import learn_labels
from understudy.schema import Categorical, Column, Schema
from understudy.schema.predicates.rules import BrokenRowPolicy as Breaking
from understudy.synthesizers import SYNTHESIZER_CLASSES
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

METHODS = ("independent", "histogram", "stability")


def looked_at(columns: tuple[str, ...]) -> Schema:
    """The declared schema of some columns."""
    return Schema(columns=tuple(SCHEMA[name] for name in columns))


@pytest.fixture(scope="module")
def counted(
    tmp_path_factory,
) -> Callable[[bytes, tuple[str, ...]], tuple[dict[str, bytes], list[np.ndarray]]]:
    """What a run on a file releases when every answer is the same number, and what it
    counted.
    """
    folder = tmp_path_factory.mktemp("files")

    @cache
    def look(
        data: bytes, columns: tuple[str, ...]
    ) -> tuple[dict[str, bytes], list[np.ndarray]]:
        path = folder / "people.csv"
        path.write_bytes(data)
        with answer_constantly() as asked:
            release = release_without_ledger(path, looked_at(columns))
        return parts(release), list(asked)

    return look


def test_there_are_two_hundred_pairs():
    assert len(PAIRS) >= 200
    assert len({(p.here, p.there, p.columns) for p in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_an_odd_row_changes_nothing_that_was_not_paid_for(pair: Pair, counted):
    """The same release byte for byte when answers do not depend on rows; and no count
    moves by more than the rows that differ.
    """
    (here, before), (there, after) = (
        counted(pair.here, pair.columns),
        counted(pair.there, pair.columns),
    )
    assert here == there
    # The synthesizer counts each column once. Where bins have to be found, discovery
    # looks at the range once and counts the bins it found: nothing stands out of
    # answers that are all alike, so a look goes no deeper, and the schema alone says
    # how many questions there are.
    assert (
        len(before)
        == len(after)
        == sum(3 if needs_bins(SCHEMA[name]) else 1 for name in pair.columns)
    )
    for one, other in zip(before, after, strict=True):
        assert one.shape == other.shape
        assert np.abs(other - one).sum() <= pair.moved


def performed(
    data: bytes, folder: Path, schema: Schema, **options: object
) -> tuple[object, ...]:
    """Everything a real run leaves behind: release, account, files and their names."""
    folder.mkdir()
    (folder / "people.csv").write_bytes(data)
    with answer_constantly():
        release = synthesize(
            folder / "people.csv",
            schema,
            epsilon=1,
            ledger=folder / "people.ledger",
            **options,
        )
        release.write(folder / "synthetic.csv", seed=1)
        release.write(folder / "synthetic.parquet", seed=1)
    (folder / "people.csv").unlink()
    return (
        parts(release),
        account(folder / "people.ledger"),
        written(folder),
        sorted(p.name for p in folder.iterdir()),
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [0, 40])
def test_the_number_of_rows_shows_nowhere(method, rows, tmp_path):
    """Not neighbours at all: a table of three rows and one of none or forty. Under
    add/remove nothing may tell them apart.
    """
    schema = looked_at(("sex", "city"))
    three, many = csv(PLAIN, OTHER, PLAIN), csv(*[OTHER] * rows)
    here, there = (
        performed(d, tmp_path / n, schema, synthesizer=method)
        for n, d in (("a", three), ("b", many))
    )
    assert here == there


@pytest.mark.parametrize("method", SYNTHESIZER_CLASSES)
def test_no_synthesizer_learns_of_rows_but_by_answers(method, tmp_path):
    """Tables that have nothing in common: three people, or none of them and forty
    others.
    """
    age = replace(SCHEMA["age"], bins=(0, 18, 65, 121))
    schema = Schema(columns=(SCHEMA["sex"], SCHEMA["city"], SCHEMA["smoker"], age))
    found = []
    for name, rows in (
        ("a", [PLAIN] * 3),
        ("b", [OTHER, cell("city", "Z"), cell("age", "999"), cell("sex", "")] * 10),
    ):
        path = tmp_path / f"{name}.csv"
        path.write_bytes(csv(*rows))
        with answer_constantly():
            release = release_without_ledger(path, schema, method=method)
        found.append(
            (parts(release), release.sample(20, seed=1, kind="pandas").to_csv())
        )
    assert found[0] == found[1]


RULED = """
unit: {id: who, max_rows: 2}
columns:
  who: {type: identifier, generate: true}
  town: {type: categorical, values: [Bern, Zug], constant: true}
  canton: {type: categorical, values: [BE, ZG]}
  day: {type: date, min: 2024-01-01, max: 2024-12-31, bins: month, weekdays: learn}
  born: {type: integer, min: 1900, max: 2024, bins: [1900, 1950, 2000]}
rules:
  - {from: town, to: canton, map: learn}
  - {name: born before, always: if born > 2000 then town = 'Zug'}
broken: HOW
count_broken: true
"""


@pytest.mark.parametrize(
    ("method", "how"),
    [
        *(("adaptive", how) for how in Breaking),
        ("independent", "drop"),
        ("stability", "drop"),
    ],
)
def test_rules_units_keys_and_days_of_the_week_show_nothing_that_was_not_paid_for(
    method, how, tmp_path
):
    """Rows that break every rule and rows that break none, people with one row and with
    nine: one release, one account, the same files.
    """
    schema = Schema.parse(RULED.replace("HOW", how))
    keep = [
        ["a", "Bern", "BE", "2024-03-04", "1960"],
        ["b", "Zug", "ZG", "2024-05-07", "2010"],
    ]
    breaks = [["c", "Bern", "ZG", "2024-12-29", "2020"]] * 9 + [
        ["d", "Zug", "BE", "", "1800"]
    ] * 3
    found = []
    for name, rows in (("a", keep), ("b", breaks)):
        folder = tmp_path / name
        folder.mkdir()
        lines = ["who,town,canton,day,born", *(",".join(row) for row in rows)]
        (folder / "people.csv").write_text("\n".join(lines) + "\n")
        with answer_constantly():
            release = synthesize(
                folder / "people.csv",
                schema,
                epsilon=1,
                synthesizer=method,
                ledger=folder / "l.ledger",
                run=RunOptions(dataset="x"),
            )
            release.write(folder / "out.csv", seed=1)
        (folder / "people.csv").unlink()
        found.append((parts(release), account(folder / "l.ledger"), written(folder)))
    assert found[0] == found[1]
    asked = {step.asked for step in release.statement.steps}
    assert asked >= {
        "rows per unit",
        "broken rows",
        "weekdays of day",
        "marginals",
    }  # so each was there to be looked at


def test_the_public_number_of_rows_shows_under_replace_and_only_there(tmp_path):
    """The teeth of the test before: where n is public, the same comparison finds it."""
    schema = looked_at(("sex", "city"))
    here, there = (
        performed(
            csv(*[PLAIN] * n),
            tmp_path / str(n),
            schema,
            neighbours="replace",
            synthesizer="histogram",
        )
        for n in (3, 4)
    )
    assert (
        here[0] == there[0]
    )  # constant: even the exact total is answered by a constant
    told = [count_released_rows(tmp_path / f"{n}.csv", n, schema) for n in (3, 4)]
    assert told == [3, 4]


def count_released_rows(path: Path, rows: int, schema: Schema) -> int:
    path.write_bytes(csv(*[PLAIN] * rows))
    return release_without_ledger(
        path, schema, relation=Neighbours.REPLACE, method="histogram"
    ).rows


@pytest.mark.parametrize("method", METHODS)
def test_a_unit_moves_no_count_by_more_than_its_bound(method, tmp_path):
    """One person more, with one row or with nine: at most two of them count."""
    schema = Schema(
        columns=tuple(SCHEMA[n] for n in ("id", "sex", "city")), unit=by_person(2).unit
    )
    base = [cell("id", str(i)) for i in range(5)]
    found = []
    for rows in (0, 1, 2, 9):
        path = tmp_path / "people.csv"
        path.write_bytes(csv(*base, *[cell("id", "99")] * rows))
        with answer_constantly() as asked:
            release = release_without_ledger(path, schema, method=method)
        found.append((parts(release), list(asked)))
    for held, counts in found[1:]:
        assert held == found[0][0]
        assert all(
            np.abs(a - b).sum() <= 2 for a, b in zip(counts, found[0][1], strict=True)
        )


# Frames: a column's own type may change with one cell; the release's may not


def framed(kind: str, last: dict[str, object]) -> object:
    rows = [
        {
            "sex": "F",
            "city": "Oslo",
            "age": 42,
            "weight": 71.5,
            "seen": datetime(2024, 3, 1, 10),
        },
        {
            "sex": "M",
            "city": "Rome",
            "age": 63,
            "weight": 80.0,
            "seen": datetime(2023, 7, 9, 16),
        },
    ]
    columns = {
        name: [*(row[name] for row in rows), last.get(name, rows[0][name])]
        for name in rows[0]
    }
    if kind == "pandas":
        return pandas.DataFrame(columns)
    return polars.DataFrame(columns, strict=False)


ODD_CELLS: list[dict[str, object]] = [
    {"sex": None},
    {"age": None},
    {"weight": float("nan")},
    {"weight": float("inf")},
    {"age": 2**62},
    {"age": -(2**62)},
    {"seen": None},
    {"seen": datetime(1677, 9, 22)},
    {"sex": "\N{SNOWMAN}" * 50},
    {"city": ""},
]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("odd", ODD_CELLS, ids=str)
def test_an_odd_cell_of_a_frame_changes_no_type(kind, odd):
    schema = looked_at(("sex", "city", "age", "weight", "seen"))
    found = []
    for last in ({}, odd):
        with answer_constantly() as asked:
            release = release_without_ledger(framed(kind, last), schema)
        sample = release.sample(5, seed=1, kind=kind)
        found.append(
            (
                parts(release),
                [str(t) for t in sample.dtypes],
                sample.to_dict(),
                list(asked),
            )
        )
    assert repr(found[0][:3]) == repr(found[1][:3])
    assert all(
        np.abs(a - b).sum() <= 2 for a, b in zip(found[0][3], found[1][3], strict=True)
    )


@pytest.mark.parametrize("column", ["object", "python", "polars"])
def test_half_a_character_changes_nothing(column):
    """Python texts may hold half a surrogate pair, which no file and no database can:
    the cell goes where any unknown text goes.
    """
    found = []
    for last in ("F", "F\ud800"):
        texts = ["F", "M", last]
        if column == "polars":
            frame = polars.DataFrame(
                {"sex": polars.Series([*texts[:2], texts[2]], dtype=polars.Object)}
            )
        else:
            dtype = object if column == "object" else pandas.StringDtype("python")
            frame = pandas.DataFrame({"sex": pandas.Series(texts, dtype=dtype)})
        with answer_constantly() as asked:
            found.append(
                (parts(release_without_ledger(frame, looked_at(("sex",)))), list(asked))
            )
    assert found[0][0] == found[1][0]
    assert [a.tolist() for _, (a,) in found] == [[2, 1, 0], [1, 1, 1]]


# Cells that break their own type


def in_pandas(table: pyarrow.Table, _folder: Path) -> object:
    return pandas.DataFrame(
        {"x": pandas.Series(pandas.arrays.ArrowExtensionArray(table["x"]))}
    )


def in_parquet(table: pyarrow.Table, folder: Path) -> object:
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    parquet.write_table(table, path, store_schema=False)
    return path


HOLDERS: dict[str, Callable[[pyarrow.Table, Path], object]] = {
    "pyarrow": lambda table, _: table,
    "pandas": in_pandas,
    "polars": lambda table, _: polars.from_arrow(table),
    "parquet": in_parquet,
}


def holds(holder: str, broken: Broken) -> bool:
    """Whether a table of this kind can hold such a column at all: no file has seconds,
    and polars no decimals of 256 bits.
    """
    if holder == "parquet":
        return "[s" not in broken.name and "structure" not in broken.name
    return holder != "polars" or "decimal256" not in broken.name


HELD = [
    (holder, broken) for holder in HOLDERS for broken in BROKEN if holds(holder, broken)
]


def told(data: object, column: Column) -> tuple[dict[str, bytes], list[np.ndarray]]:
    """What a run releases when every answer is the same number, and what it counted."""
    with answer_constantly() as asked:
        release = release_without_ledger(data, Schema(columns=(column,)))
    return parts(release), list(asked)


Told = tuple[dict[str, bytes], list[np.ndarray]]


def check_alike(here: object, there: object, column: Column) -> None:
    check_told(told(here, column), told(there, column))


def check_told(here: Told, there: Told) -> None:
    (one, before), (other, after) = here, there
    assert one == other
    assert [a.shape for a in before] == [a.shape for a in after]
    assert before[-1].sum() == after[-1].sum() == 3
    assert all(np.abs(a - b).sum() <= 2 for a, b in zip(before, after, strict=True))


@pytest.fixture(scope="module")
def plainly(tmp_path_factory) -> Callable[[str, Broken], Told]:
    """What a run on a column whose cells are all plain tells: the same for every way to
    break it, and run once.
    """
    found: dict[tuple[str, str], Told] = {}

    def look(holder: str, broken: Broken) -> Told:
        key = holder, repr(replace(broken, name="", odd=None))
        if key not in found:
            folder = tmp_path_factory.mktemp("plain")
            found[key] = told(HOLDERS[holder](broken.pair()[0], folder), broken.column)
        return found[key]

    return look


@pytest.mark.parametrize(("holder", "broken"), HELD, ids=lambda part: str(part))
def test_a_cell_that_breaks_its_type_changes_nothing_but_its_count(
    holder, broken, tmp_path, plainly
):
    """It neither stops the run nor moves another row: whether it is there shows
    nowhere, not even in an exit code.
    """
    check_told(
        plainly(holder, broken),
        told(HOLDERS[holder](broken.pair()[1], tmp_path), broken.column),
    )


@pytest.mark.parametrize("name", IN_DUCKDB)
def test_a_cell_beyond_its_type_in_a_relation_changes_nothing_but_its_count(name):
    column, plain, odd = IN_DUCKDB[name]
    here, there = (
        duckdb.sql(f"SELECT unnest([{plain}, {plain}, {last}]) AS x")
        for last in (plain, odd)
    )
    check_alike(here, there, column)


@pytest.mark.parametrize(
    "dtype", ["datetime64[s]", "datetime64[ms]", "datetime64[us]", "timedelta64[s]"]
)
def test_a_moment_beyond_the_calendar_of_a_frame_changes_nothing_but_its_count(dtype):
    """The same for moments that pandas keeps in numpy arrays."""
    column = BROKEN[6].column if dtype.startswith("datetime") else BROKEN[0].column
    here, there = (
        pandas.DataFrame({"x": np.array([1, 2, last]).view(dtype)})
        for last in (2, 2**62)
    )
    check_alike(here, there, column)


@pytest.mark.parametrize(
    "text", [b"\xff\xfe", b"4611686018427387904", b"-5", b"86400000000000"]
)
@pytest.mark.parametrize("column", ["sex", "age", "weight", "born", "seen", "at"])
def test_the_same_cells_in_a_csv_file_change_nothing_but_their_count(
    column, text, counted
):
    odd = [value.encode() for value in PLAIN]
    odd[NAMES.index(column)] = text
    here, there = (
        counted(data, (column,))
        for data in (csv(PLAIN, OTHER), csv(b",".join(odd), OTHER))
    )
    assert here[0] == there[0]
    assert np.abs(here[1][0] - there[1][0]).sum() <= 2


def test_numbers_are_all_that_noise_changes(tmp_path):
    """Without the constant curator: two real runs have the same form, and only their
    numbers differ.
    """
    (tmp_path / "people.csv").write_bytes(csv(PLAIN, OTHER))
    releases = [
        release_without_ledger(tmp_path / "people.csv", looked_at(("sex", "city")))
        for _ in range(2)
    ]
    assert form(releases[0]) == form(releases[1])
    assert parts(releases[0]) != parts(releases[1])


# The command line


def typed(data: bytes, folder: Path, capsys, *options: str) -> tuple[object, ...]:
    """What a command wrote, on the screen and in files."""
    folder.mkdir()
    (folder / "people.csv").write_bytes(data)
    looked_at(("sex", "age")).save(folder / "schema.yaml")
    with answer_constantly():
        line = f"synthesize {folder}/people.csv --schema {folder}/schema.yaml --epsilon 1 -o {folder}/out.csv --seed 1"
        code = command([*line.split(), *options])
    shown = capsys.readouterr()
    (folder / "people.csv").unlink()
    return (
        code,
        chance((shown.out + shown.err).replace(str(folder), "")),
        written(folder),
    )


@pytest.mark.parametrize(
    "options", [(), ("--json",), ("--synthesizer", "stability", "--json")], ids=str
)
def test_the_command_line_says_the_same(options, tmp_path, capsys):
    tables = (
        csv(PLAIN, OTHER),
        csv(cell("sex", "Z"), cell("age", "9" * 30), *[PLAIN] * 30),
    )
    here, there = (
        typed(data, tmp_path / name, capsys, *options)
        for name, data in zip("ab", tables, strict=True)
    )
    assert here[0] == 0
    assert here == there


@cache
def room_filter(accounting: Accounting) -> Filter:
    return Filter.of(
        Budget.of(1, "1e-3"),
        accounting=accounting,
        threshold_delta=Fraction(0)
        if accounting is Accounting.PURE
        else Fraction(1, 2000),
    )


class Kept(UnchargedRun):
    """A run that keeps the bytes it is asked to store."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []

    def store(self, step: int, digest: str, payload: bytes) -> None:
        self.payloads.append(payload)


@pytest.mark.parametrize("rare", ["b", "b" * 5000, "\N{SNOWMAN}" * 40, "b\\0"], ids=len)
def test_a_label_that_does_not_show_leaves_no_trace_in_the_stored_answer(rare):
    """Not even by its length: an array of texts is as wide as its widest, and that has
    to be one that shows.
    """
    schema = Schema(columns=(Categorical(name="place"),))
    stored = []
    for rows in ([], [{"place": rare}]):
        context = context_of(
            [{"place": "Aarhus"}] * 5000 + rows, schema, noise=no_noise
        )
        kept = Kept()
        context = replace(
            context, payments=Payments(kept, replace(room_filter(Accounting.GDP)))
        )
        learn_labels(
            context,
            "place",
            amount=context.payments.amount_left,
            delta=context.payments.delta_left,
        )
        stored.append(kept.payloads)
    assert len(stored[0]) == 1
    assert stored[0] == stored[1]


def test_the_plain_rows_fill_every_column():
    assert len(PLAIN) == len(OTHER) == len(NAMES)
