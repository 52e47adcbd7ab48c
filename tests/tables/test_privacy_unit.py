"""Units: one id changes at most `max_rows` rows of what is kept, and no others', in
every small world.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import duckdb
import pandas as pd
import polars as pl
import pytest

from understudy.schema import Boolean, Categorical, Identifier, Integer, Schema, Unit
from understudy.tables import Table, bounded_rows, open_table
from understudy.tables.privacy_unit import bound_units
from understudy.tables.sql.engine import Engine
from understudy.tables.sql.stored import StoredColumn

Row = tuple[str | None, int]
SALT = "00" * 16


class World:
    """Bounded rows of many small tables, on one engine."""

    def __init__(self) -> None:
        self.engine = Engine()

    def kept(self, rows: list[Row], max_rows: int, salt: str = SALT) -> Counter[Row]:
        values = (
            ", ".join(f"({'NULL' if i is None else repr(i)}, {v})" for i, v in rows)
            or "(NULL, NULL)"
        )
        self.engine.run(
            f"CREATE OR REPLACE TABLE people AS FROM (VALUES {values}) t(x0, x1)",
            doing="testing",
        )
        self.engine.run("DROP TABLE IF EXISTS bounded", doing="testing")
        name = bound_units(
            self.engine,
            "people",
            id=StoredColumn("x0", "VARCHAR"),
            column=Identifier(name="id", missing=("unknown",)),
            unit=Unit(id="id", max_rows=max_rows),
            salt=salt,
            cells=[StoredColumn("x0", "VARCHAR"), StoredColumn("x1", "INTEGER")],
            keep=[0, 1],
        )
        return Counter(self.engine.run(f"SELECT x0, x1 FROM {name}", doing="testing"))


@pytest.fixture(scope="module")
def world():
    return World()


def people(ids: tuple[str, ...]) -> list[Row]:
    return [(i, v % 3) for v, i in enumerate(ids)]


@pytest.mark.parametrize("max_rows", [1, 2])
def test_removing_an_id_changes_no_other_rows(world, max_rows):
    """Brute force: every way in which six rows belong to three ids, every id removed."""
    for ids in product("ab", repeat=4):
        rows = people((*ids, "c", "c"))
        whole = world.kept(rows, max_rows)
        for gone in set(ids) | {"c"}:
            left = world.kept([r for r in rows if r[0] != gone], max_rows)
            assert left == Counter(
                {row: n for row, n in whole.items() if row[0] != gone}
            )
            assert sum(whole.values()) - sum(left.values()) <= max_rows


def test_each_id_keeps_its_rows_up_to_the_bound(world):
    rows = people(tuple("aaaabbc"))
    for max_rows in (1, 2, 3, 9):
        kept = world.kept(rows, max_rows)
        per_id = Counter(i for i, _ in kept.elements())
        assert per_id == {
            i: min(n, max_rows) for i, n in Counter(i for i, _ in rows).items()
        }
        assert not kept - Counter(rows)


def test_the_order_of_rows_does_not_matter(world):
    rows = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]
    assert (
        len(
            {
                frozenset(world.kept(list(order), 2).items())
                for order in permutations(rows)
            }
        )
        == 1
    )


def test_threads_do_not_matter(world):
    rows = [(f"id {v % 500}", v) for v in range(5_000)]
    first = world.kept(rows, 3)
    world.engine.run("SET threads = 1", doing="testing")
    assert world.kept(rows, 3) == first


def test_which_rows_are_kept_depends_on_the_salt(world):
    rows = [(f"id {v % 100}", v) for v in range(1_000)]
    assert world.kept(rows, 2, salt="01" * 16) != world.kept(rows, 2, salt="02" * 16)


def test_the_choice_among_an_ids_rows_is_even(world):
    """Each of ten rows is kept by about a tenth of 2,000 ids; six standard deviations
    are 80.
    """
    rows = [(f"id {v // 10}", v % 10) for v in range(20_000)]
    kept = Counter(
        value for (_, value), n in world.kept(rows, 1).items() for _ in range(n)
    )
    assert all(abs(kept[value] - 200) < 80 for value in range(10))


def test_rows_without_an_id_are_dropped(world):
    rows: list[Row] = [(None, 1), ("", 2), ("unknown", 3), ("a", 4)]
    assert world.kept(rows, 5) == Counter({("a", 4): 1})


def schema(max_rows: int) -> Schema:
    columns = (
        Identifier(name="id"),
        Integer(name="v", min=0, max=9),
        Categorical(name="c", values=("x", "y")),
    )
    return Schema(columns=columns, unit=Unit(id="id", max_rows=max_rows))


def frame(ids: str) -> pl.DataFrame:
    return pl.DataFrame(
        {"id": list(ids), "v": [i % 10 for i in range(len(ids))], "c": ["x"] * len(ids)}
    )


def test_a_table_counts_bounded_rows_and_units():
    with open_table(frame("aaaaabbc")) as source:
        table = Table(source, schema(2))
        assert (table.rows(), table.count_units()) == (5, 3)
        assert table.counts([("c",), ("v", "c"), ()])[0].tolist() == [5, 0, 0]
        assert table.counts([("v",)])[0].sum() == table.count_valid("v") == 5
        assert (
            table.with_schema(schema(2)).counts([("v",)])[0].tolist()
            == table.counts([("v",)])[0].tolist()
        )


def test_one_unit_moves_a_marginal_by_its_rows_at_most():
    """And without bounding it moves it further: the bound is what does it."""

    def moved(max_rows: int) -> int:
        tables = [
            Table(open_table(frame(ids)), schema(max_rows)).counts([("v", "c")])[0]
            for ids in ("bcaaaaaa", "bc")
        ]
        return int(abs(tables[0] - tables[1]).sum())

    assert moved(2) == 2
    assert moved(100) == 6


def test_a_table_that_forgot_to_bound_is_caught(monkeypatch):
    monkeypatch.setattr(
        bounded_rows, "bound_units", lambda engine, relation, **_: relation
    )
    with open_table(frame("aaaaabbc")) as source:
        assert Table(source, schema(2)).rows() == 8, (
            "the brute-force tests above would fail"
        )


NEAR = [
    ("a", None, "b"),
    (None, "a", "b"),
    ("a", "b", None),
    ("ab", None, None),
    ("", "ab", None),
    ("1:a", "b", None),
    ("a", "1:b", None),
]


def drawn(
    rows: list[tuple[str | None, ...]], *salts: str, most: int
) -> list[list[tuple[str | None, ...]]]:
    """The first rows of one unit in the order in which they are drawn, by each salt."""
    frame = pl.DataFrame(
        [("p", *row) for row in rows], schema=["id", "a", "b", "c"], orient="row"
    )
    orders: list[list[tuple[str | None, ...]]] = [[] for _ in salts]
    with open_table(frame) as source:
        for order, salt, count in (
            (o, s, n)
            for o, s in zip(orders, salts, strict=True)
            for n in range(1, most + 1)
        ):
            source.engine.run("DROP TABLE IF EXISTS bounded", doing="testing")
            bound_units(
                source.engine,
                source.relation,
                id=source.stored_column("id"),
                column=Identifier(name="id"),
                unit=Unit(id="id", max_rows=count),
                salt=salt,
                cells=[source.stored_column(name) for name in source.names],
                keep=[1, 2, 3],
            )
            kept = source.engine.run("SELECT x1, x2, x3 FROM bounded", doing="testing")
            order += [row for row in kept if row not in order]
    return orders


def test_rows_that_are_nearly_spelled_alike_are_drawn_apart():
    """Empty cells and cells that run into each other: no two rows tie, so the order of
    a file decides nothing.
    """
    assert drawn(NEAR, SALT, most=len(NEAR)) == drawn(NEAR[::-1], SALT, most=len(NEAR))


def test_the_salt_decides_the_whole_order():
    """Not only the last step of it: over twenty salts nearly every row comes first
    once.
    """
    first = {
        order[0]
        for order in drawn(NEAR[:4], *(f"{salt:032x}" for salt in range(20)), most=1)
    }
    assert len(first) == 4


def test_cells_without_a_text_are_hashed_all_the_same():
    """A list, a structure, a span: the database has no reliable text for them, and they
    may hold anything.
    """
    data = duckdb.sql(
        "SELECT 'p' AS id, i AS v, [i] AS l, {'a': -170141183460469231731687303715884105727::HUGEINT - 1, 'b': i} AS s, "
        "INTERVAL '178000000' YEARS AS w, -170141183460469231731687303715884105727::HUGEINT - 1 AS h, "
        "TIMESTAMP '290309-12-22 (BC) 00:00:00' AS t FROM range(5) r(i)"
    )
    schema = Schema(
        columns=(Identifier(name="id"), Integer(name="v", min=0, max=9)),
        unit=Unit(id="id", max_rows=3),
    )
    with open_table(data) as source:
        assert Table(source, schema).rows() == 3


ODD = [
    (odd, kind)
    for kind in ("object", "category")
    for odd in ("text", 7, "\ud800", b"x", None)
]


@pytest.mark.parametrize(
    ("odd", "kind"),
    [(odd, kind) for odd, kind in ODD if (odd, kind) != ("\ud800", "category")],
    ids=repr,
)  # pandas makes no category of half a character
def test_one_odd_cell_changes_no_other_unit_s_chances(odd: object, kind: str) -> None:
    """An empty text and an empty cell read alike, so rows that differ in them alone are
    drawn as one, whoever else is there.

    Each unit has two such rows and one other: the other is kept by half of them. Were
    the two drawn apart, a third would keep it.
    """
    units = 1500
    cells = [
        (f"p{i}", s, x)
        for i in range(units)
        for s, x in ((True, ""), (True, None), (False, "z"))
    ]
    for rows in (cells, [*cells, ("new", True, odd)]):
        frame = pd.DataFrame({"id": [r[0] for r in rows], "s": [r[1] for r in rows]})
        frame["x"] = pd.Series([r[2] for r in rows], dtype=object).astype(kind)
        with open_table(frame) as source:
            others = int(Table(source, ONE).counts([("s",)])[0][0])
        assert (
            abs(others - units / 2) < 6 * (units / 4) ** 0.5
        )  # six deviations; a third would be thirteen


ONE = Schema(
    columns=(
        Identifier(name="id"),
        Boolean(name="s", nullable=False),
        Categorical(name="x", use=False),
    ),
    unit=Unit(id="id", max_rows=1),
)
