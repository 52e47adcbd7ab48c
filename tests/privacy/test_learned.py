"""A learned schema tells no more than it cost: whole discoveries with real noise, on
neighbours between which the schema turns.

`test_metamorphic` shows that a declared schema does not depend on rows at all. What is
learned does, by chance, and here is how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy.curator.discovery.close as discovery
import understudy.curator.discovery.learned_bins as learned_bins
import understudy.curator.discovery.tree_histogram as descent
import understudy.curator.discovery.types as vote
import understudy.curator.discovery.vote_noise as vote_noise
import understudy.curator.mechanisms.sparse_histogram as stability
from kit.curator.contexts import context_of, no_noise
from kit.privacy.learned import Few, Learning, Row, canonical, check, hanging
from kit.privacy.world import Pooled
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, MechanismContext
from understudy.curator.discovery.bounds import LearnedBounds
from understudy.measurements import SparseMeasurement
from understudy.schema import (
    Categorical,
    Date,
    Integer,
    Lattice,
    Schema,
    UndeclaredColumn,
)
from understudy.synthesizers import ignore_progress
from understudy.tables import Table, open_table

Patch = pytest.MonkeyPatch
PURE, GDP, ZCDP = Accounting.PURE, Accounting.GDP, Accounting.ZCDP
ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
EPSILON = {PURE: 2, GDP: 10, ZCDP: 10}

FILE = Schema(
    columns=(
        UndeclaredColumn(name="n"),
        UndeclaredColumn(name="w"),
        UndeclaredColumn(name="d"),
    )
)
"""A CSV file without a schema: types are voted on, then bounds, lists and bins are
bought.
"""

PLAIN = {"n": "12", "w": "red", "d": "2024-02-29"}
LATER = {"n": "700", "w": "blue", "d": "1987-06-05"}
ODD = {"n": "9999999999", "w": "unheard of", "d": "the day after"}
"""A row with an extreme, a label of its own, and a cell of another type."""

LIST = Schema(columns=(Categorical(name="w"),))
NUMBER = Schema(columns=(Integer(name="n"),))
BOUNDED = Schema(columns=(Integer(name="n", min=0, max=999),))
TYPED = Schema(columns=(Integer(name="n"), Categorical(name="w"), Date(name="d")))


def row(schema: Schema, of: Row) -> Row:
    return {name: of[name] for name in (c.name for c in schema.columns)}


def growing(
    name: str, schema: Schema, accounting: Accounting, relation: Neighbours
) -> Callable[[int], Learning]:
    """k rows of one kind and one more of it; under replace, one of another kind becomes
    one of it, and both hang by it.
    """
    one, other = row(schema, PLAIN), row(schema, LATER)

    def make(k: int) -> Learning:
        here, there = [(one, k)], [(one, k + 1)]
        if relation is REPLACE:
            here, there = [(one, k), (other, k + 1)], [(one, k + 1), (other, k)]
        return Learning(
            name=name,
            schema=schema,
            here=here,
            there=there,
            accounting=accounting,
            relation=relation,
            epsilon=EPSILON[accounting],
        )

    return make


COLUMN = Schema(columns=(UndeclaredColumn(name="n"),))


def worded(accounting: Accounting, relation: Neighbours) -> Callable[[int], Learning]:
    """Many numbers, and k times a word among them: labels, or numbers with a missing
    code.
    """

    def make(k: int) -> Learning:
        number, word = {"n": "12"}, {"n": "N"}
        return Learning(
            name="words among numbers",
            schema=COLUMN,
            here=[(number, 200), (word, k)],
            there=[(number, 200 if relation is ADD_REMOVE else 199), (word, k + 1)],
            accounting=accounting,
            relation=relation,
            epsilon=EPSILON[accounting],
        )

    return make


def odd(
    name: str, schema: Schema, accounting: Accounting, relation: Neighbours
) -> Learning:
    """Thirty plain rows, and an odd one beside them or in place of one."""
    plain, strange = row(schema, PLAIN), row(schema, ODD)
    there = [(plain, 30 if relation is ADD_REMOVE else 29), (strange, 1)]
    return Learning(
        name=name,
        schema=schema,
        here=[(plain, 30)],
        there=there,
        accounting=accounting,
        relation=relation,
        epsilon=1,
    )


GROWING = [
    (
        "a file",
        FILE,
        2,
        [(GDP, ADD_REMOVE), (PURE, REPLACE)],
        [(GDP, REPLACE), (PURE, ADD_REMOVE), (ZCDP, ADD_REMOVE)],
    ),
    (
        "a list",
        LIST,
        1,
        [(PURE, ADD_REMOVE), (GDP, REPLACE)],
        [(GDP, ADD_REMOVE), (PURE, REPLACE), (ZCDP, REPLACE)],
    ),
    (
        "bounds",
        NUMBER,
        2,
        [(PURE, ADD_REMOVE)],
        [(GDP, ADD_REMOVE), (GDP, REPLACE), (PURE, REPLACE)],
    ),
    (
        "bins",
        BOUNDED,
        4,
        [(GDP, REPLACE)],
        [(GDP, ADD_REMOVE), (PURE, ADD_REMOVE), (PURE, REPLACE)],
    ),
]
"""What is learned, the number of rows from which to look, and the runs that are looked
at always and at length.
"""


def crowded(
    name: str, schema: Schema, accounting: Accounting, relation: Neighbours
) -> Learning:
    """Two labels that always show, as good as equally often: which is ahead hangs by
    one row.
    """
    one, other = row(schema, PLAIN), row(schema, LATER)
    there = [(one, 61), (other, 60 if relation is REPLACE else 61)]
    return Learning(
        name=name,
        schema=schema,
        here=[(one, 60), (other, 61)],
        there=there,
        accounting=accounting,
        relation=relation,
        epsilon=2,
    )


ODDITIES = [
    (
        "an odd row of a file",
        FILE,
        [(GDP, ADD_REMOVE), (PURE, REPLACE)],
        [(GDP, REPLACE), (PURE, ADD_REMOVE)],
    ),
    (
        "an odd row of a frame",
        TYPED,
        [(PURE, ADD_REMOVE)],
        [(GDP, ADD_REMOVE), (GDP, REPLACE), (PURE, REPLACE)],
    ),
]


def learnings(*, long: bool) -> list[tuple[str, Callable[[], Learning]]]:
    found: list[tuple[str, Callable[[], Learning]]] = []
    for name, schema, least, short, more in GROWING:
        for how in [*short, *(more if long else ())]:
            make = growing(name, schema, *how)
            found.append(
                (
                    f"{name}, {how[0]}, {how[1]}",
                    lambda make=make, least=least: hanging(make, least),
                )
            )
    for name, schema, short, more in ODDITIES:
        for how in [*short, *(more if long else ())]:
            found.append(
                (
                    f"{name}, {how[0]}, {how[1]}",
                    lambda name=name, schema=schema, how=how: odd(name, schema, *how),
                )
            )
    for how in [
        (GDP, ADD_REMOVE),
        *([(PURE, REPLACE), (ZCDP, ADD_REMOVE)] if long else ()),
    ]:
        found.append(
            (
                f"words among numbers, {how[0]}, {how[1]}",
                lambda how=how: hanging(worded(*how)),
            )
        )
    for how in [(GDP, REPLACE), *([(PURE, ADD_REMOVE)] if long else ())]:
        found.append(
            (
                f"two labels, {how[0]}, {how[1]}",
                lambda how=how: crowded("two labels", LIST, *how),
            )
        )
    return found


def named(name: str, accounting: Accounting, relation: Neighbours) -> Learning:
    return dict(learnings(long=True))[f"{name}, {accounting}, {relation}"]()


@pytest.mark.parametrize(
    ("name", "make"), learnings(long=False), ids=[n for n, _ in learnings(long=False)]
)
def test_a_learned_schema_tells_no_more_than_it_cost(name, make):
    check(make(), 180)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make"), learnings(long=True), ids=[n for n, _ in learnings(long=True)]
)
def test_a_learned_schema_tells_no_more_than_it_cost_at_length(name, make):
    check(make(), 6_000)


def test_a_list_hangs_by_all_that_it_cost():
    """One label at its threshold: whether it shows is all that is learned, and the
    audit sees much of the price. Else it has gone blind.
    """
    assert check(named("a list", GDP, ADD_REMOVE), 1_500).share > 0.35


@pytest.mark.slow
@pytest.mark.parametrize("how", [(GDP, ADD_REMOVE), (PURE, ADD_REMOVE)], ids=str)
def test_a_list_hangs_by_all_that_it_cost_at_length(how):
    assert check(named("a list", *how), 20_000).share > 0.75


# What the audit is made of is real


def test_few_rows_are_counted_as_a_file_of_them_is(tmp_path: Path):
    """Discovery without noise asks the same of the real table behind a CSV file, and
    arrives at the same schema.
    """
    path = tmp_path / "people.csv"
    rows = [(PLAIN, 30), (LATER, 20), (ODD, 1), ({"n": "", "w": "", "d": ""}, 3)]
    lines = [
        ",".join(map(str, of.values())) for of, times in rows for _ in range(times)
    ]
    path.write_text("\n".join([",".join(PLAIN), *lines]) + "\n")
    found = []
    with open_table(path) as source:
        for table in (Few(rows, FILE), Table(source, FILE)):
            context = replace(
                context_of([], FILE, epsilon=10, delta="1e-3", noise=no_noise),
                table=table,
            )
            curator = Curator(context, FILE)
            schema = curator.discover(
                share=Fraction(1), delta=curator.delta_left, progress=ignore_progress
            )
            found.append(
                (
                    canonical(schema),
                    [m.values.tolist() for m in curator.discovered_measurements],
                    curator.charges,
                )
            )
    assert found[0] == found[1]
    assert '"blue", "red"' in found[0][0]
    assert "unheard" not in found[0][0]


@pytest.mark.parametrize("relation", Neighbours)
def test_the_tables_are_neighbours(relation):
    for case in (
        growing("a file", FILE, GDP, relation)(7),
        odd("a file", FILE, GDP, relation),
    ):
        counted = [
            Few(rows, FILE).votes(["n", "w", "d"]) for rows in (case.here, case.there)
        ]
        assert np.abs(counted[1] - counted[0]).sum() <= 3 * (
            1 if relation is ADD_REMOVE else 2
        )
        sizes = [Few(rows, FILE).rows() for rows in (case.here, case.there)]
        assert sizes[1] - sizes[0] == (relation is ADD_REMOVE)


# Broken on purpose


def bounds_from_the_smallest_and_the_largest_value(patch: Patch) -> None:
    original = discovery.learn_bounds

    def observed(
        context: MechanismContext, column: str, **options: Any
    ) -> LearnedBounds:
        original(context, column, **options)  # paid for all the same
        values, _ = context.table.lattice(column)
        if not len(values):
            return LearnedBounds(0, 1)
        return LearnedBounds(int(values.min()), int(values.max()))

    patch.setattr(discovery, "learn_bounds", observed)


def every_label_shows(patch: Patch) -> None:
    patch.setattr(stability, "threshold", lambda **how: -(10**6))


def types_that_every_cell_can_be_read_as(patch: Patch) -> None:
    original = discovery.learn_types

    def parsed(
        context: MechanismContext, columns: list[UndeclaredColumn], *, amount: Fraction
    ) -> list[vote.ElectedColumn]:
        patch.setattr(vote, "MAX_VOTE_ODD_SHARE", Fraction(0))
        patch.setattr(vote_noise, "VOTE_NOISE_SIGMAS", 0)
        found = original(replace(context, draw=no_noise), columns, amount=amount)
        return [
            replace(elected, beside=None) for elected in found
        ]  # one word makes a list of labels, for good

    patch.setattr(discovery, "learn_types", parsed)


def bins_from_exact_counts(patch: Patch) -> None:
    original = learned_bins.descend_tree

    def exact(
        context: MechanismContext, column: Lattice, *, amount: Fraction
    ) -> descent.CountTree:
        return original(replace(context, draw=no_noise), column, amount=amount)

    patch.setattr(learned_bins, "descend_tree", exact)


def labels_in_the_order_of_how_many_there_are(patch: Patch) -> None:
    original = discovery.learn_labels

    def ranked(
        context: MechanismContext, column: str, **asked: Any
    ) -> tuple[tuple[str, ...], SparseMeasurement]:
        shown, bought = original(context, column, **asked)
        many = dict(zip(*context.table.labels(column), strict=True))
        return tuple(sorted(shown, key=lambda label: -many[label])), bought

    patch.setattr(discovery, "learn_labels", ranked)


def a_place_for_others_only_where_there_are_others(patch: Patch) -> None:
    original = Curator.discover

    def observed(self: Curator, **options: object) -> Schema:
        schema = original(self, **options)  # type: ignore[arg-type]
        column = schema["w"]
        assert isinstance(column, Categorical)
        hidden = set(self._context.table.labels("w")[0]) - set(column.values or ())
        return schema.with_column(
            replace(
                column,
                other="other" if hidden else None,
                values=column.values or ("none",),
            )
        )

    patch.setattr(Curator, "discover", observed)


def half_of_the_noise(patch: Patch) -> None:
    def halved(
        self: Pooled, law: Law, scale: Fraction, shape: tuple[int, ...]
    ) -> np.ndarray:
        return original(self, law, scale / 2, shape)

    original = Pooled.__call__
    patch.setattr(Pooled, "__call__", halved)


def half_of_the_price(patch: Patch) -> None:
    """The noise is what it is said to be, and the scale is that of half the
    sensitivity.
    """
    original = MechanismContext.unit_vector

    def half(self: MechanismContext) -> object:
        real = original(self)
        return replace(real, l1=real.l1 / 2, l2_squared=real.l2_squared / 4)

    patch.setattr(MechanismContext, "unit_vector", half)


BROKEN = [
    (
        bounds_from_the_smallest_and_the_largest_value,
        ("an odd row of a frame", PURE, ADD_REMOVE),
        200,
    ),
    (every_label_shows, ("an odd row of a frame", GDP, ADD_REMOVE), 200),
    (
        types_that_every_cell_can_be_read_as,
        ("an odd row of a file", GDP, ADD_REMOVE),
        200,
    ),
    (bins_from_exact_counts, ("bins", GDP, REPLACE), 200),
    (labels_in_the_order_of_how_many_there_are, ("two labels", GDP, REPLACE), 200),
    (
        a_place_for_others_only_where_there_are_others,
        ("an odd row of a frame", GDP, ADD_REMOVE),
        200,
    ),
    (half_of_the_noise, ("a list", GDP, ADD_REMOVE), 1_500),
    (half_of_the_price, ("a list", PURE, ADD_REMOVE), 2_400),
]
BROKEN_AT_LENGTH = [
    (
        bounds_from_the_smallest_and_the_largest_value,
        ("an odd row of a frame", GDP, REPLACE),
        1_000,
    ),
    (every_label_shows, ("an odd row of a frame", PURE, ADD_REMOVE), 1_000),
    (
        types_that_every_cell_can_be_read_as,
        ("an odd row of a file", PURE, REPLACE),
        1_000,
    ),
    (bins_from_exact_counts, ("bins", PURE, ADD_REMOVE), 1_000),
    (labels_in_the_order_of_how_many_there_are, ("a list", PURE, REPLACE), 6_000),
    (half_of_the_noise, ("a list", PURE, ADD_REMOVE), 6_000),
    (half_of_the_noise, ("a list", GDP, REPLACE), 6_000),
    (half_of_the_price, ("a list", GDP, ADD_REMOVE), 6_000),
]


@pytest.mark.parametrize(
    ("broken", "which", "times"),
    BROKEN,
    ids=lambda part: getattr(part, "__name__", None),
)
def test_a_broken_discovery_is_caught(broken, which, times, monkeypatch):
    check_caught(broken, which, times, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "which", "times"),
    BROKEN_AT_LENGTH,
    ids=lambda part: getattr(part, "__name__", None),
)
def test_a_broken_discovery_is_caught_in_other_runs_too(
    broken, which, times, monkeypatch
):
    check_caught(broken, which, times, monkeypatch)


def check_caught(
    broken: Callable[[Patch], None],
    which: tuple[str, Accounting, Neighbours],
    times: int,
    patch: Patch,
) -> None:
    broken(patch)
    case = named(*which)
    with pytest.raises(AssertionError, match=case.name):
        check(case, times)
