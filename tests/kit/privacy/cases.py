"""What the curator can be asked, each with a pair of neighbouring tables on which one
row matters as much as it can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from kit.curator.contexts import neighbouring, no_noise
from kit.privacy.world import Ask, Row, ask_repeatedly
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import price
from understudy.curator import Curator, CuratorView, MechanismContext
from understudy.curator.discovery import extras
from understudy.curator.discovery.bounds import _measure_histogram
from understudy.curator.discovery.magnitudes import MAGNITUDE_EDGES
from understudy.curator.discovery.tree_histogram import _measure_cells
from understudy.curator.discovery.types import learn_types
from understudy.curator.mechanisms.marginals import measure_marginals
from understudy.curator.mechanisms.select_marginal import measure_distances
from understudy.curator.mechanisms.sums import measure_mean, measure_sum
from understudy.measurements import AxisMap, Centring, Identity, Partition
from understudy.schema import (
    Boolean,
    Categorical,
    Integer,
    Lattice,
    Schema,
    UndeclaredColumn,
)
from understudy.synthesizers import SYNTHESIZER_CLASSES, Workload, ignore_progress

ADD_REMOVE, REPLACE = Neighbours
PURE, GDP, ZCDP = Accounting

COLOURS = Schema(
    columns=(
        Categorical(name="colour", values=("red", "green", "blue"), nullable=False),
        Boolean(name="smoker", nullable=False),
    )
)
PEOPLE: list[Row] = [
    {"colour": c, "smoker": s} for c in ("red", "green", "blue") for s in (False, True)
]
NUMBERS = Schema(columns=(Integer(name="x", min=0, max=10),))
RANGE = Schema(columns=(Integer(name="x", min=0, max=99),))
OPEN = Schema(columns=(Integer(name="x"),))
UNTYPED = Schema(columns=tuple(UndeclaredColumn(name=name) for name in "abc"))

EPSILON = {PURE: 3, GDP: 10, ZCDP: 10}
"""Budgets at which twenty thousand answers tell a lot."""


@dataclass(frozen=True)
class Case:
    """A question whose answer is integers plus noise, and two neighbours. `tight`: the
    claim is reached on them.
    """

    name: str
    ask: Ask
    schema: Schema
    here: Sequence[Row]
    there: Sequence[Row]
    relation: Neighbours
    accounting: Accounting = GDP
    tight: bool = True
    effort: float = 1.0
    """How many answers it takes, by comparison."""

    def __str__(self) -> str:
        return f"{self.name}-{self.relation}-{self.accounting}"

    @property
    def options(self) -> Mapping[str, object]:
        return {
            "relation": self.relation,
            "accounting": self.accounting,
            "epsilon": EPSILON[self.accounting],
        }


def marginal(clique: tuple[str, ...], maps: tuple[AxisMap, ...] | None = None) -> Ask:
    """All of the budget on one marginal."""

    def ask(context: MechanismContext, schema: Schema) -> object:
        return measure_marginals(
            context,
            schema,
            [clique],
            amount=context.payments.amount_left,
            maps=None if maps is None else [maps],
        )

    return ask


def worst_pair(
    ask: Ask, relation: Neighbours, accounting: Accounting
) -> tuple[list[Row], list[Row]]:
    """The neighbours among all tables of at most two people between which the exact
    answer moves furthest.
    """

    found: dict[str, np.ndarray] = {}

    def exact(rows: list[Row]) -> np.ndarray:
        key = repr(rows)
        if key not in found:
            repeated = ask_repeatedly(
                ask,
                rows,
                COLOURS,
                times=1,
                relation=relation,
                accounting=accounting,
                noise=no_noise,
            )
            found[key] = repeated[0].stacked("0")
        return found[key]

    def moved(pair: tuple[list[Row], list[Row]]) -> float:
        here, there = map(exact, pair)
        return float(
            np.abs(there - here).sum()
            if accounting is PURE
            else ((there - here) ** 2).sum()
        )

    return max(neighbouring(PEOPLE, 2, relation), key=moved)


MAPS: dict[str, tuple[AxisMap, ...]] = {
    "counts": (Identity(3), Identity(2)),
    "coarse": (Partition((0, 0, 1)), Identity(2)),
    "centred": (Centring(3), Centring(2)),
    "mixed": (Centring(3), Partition((0, 0))),
}


def marginals() -> list[Case]:
    """Every kind of map; the plain counts in every accounting."""
    found = []
    for name, maps in MAPS.items():
        for relation in Neighbours:
            for accounting in Accounting if name == "counts" else (GDP,):
                ask, effort = (
                    marginal(("colour", "smoker"), maps),
                    1.5 if accounting is PURE else 1.0,
                )
                pair = worst_pair(ask, relation, accounting)
                found.append(
                    Case(
                        f"marginal, {name}",
                        ask,
                        COLOURS,
                        *pair,
                        relation,
                        accounting,
                        effort=effort,
                    )
                )
    return found


def whole(what: Callable[..., object], *args: object, **options: object) -> Ask:
    """All of the budget on one question."""

    def ask(context: MechanismContext, schema: Schema) -> object:
        columns = [
            schema[a] if isinstance(a, str) and isinstance(schema[a], Lattice) else a
            for a in args
        ]
        return what(context, *columns, amount=context.payments.amount_left, **options)

    return ask


def performed(name: str) -> Ask:
    """Everything a synthesizer asks, with all of the budget."""

    def ask(context: MechanismContext, schema: Schema) -> object:
        curator = Curator(context, schema)
        return SYNTHESIZER_CLASSES[name]().measure(
            CuratorView(curator), Workload.of_order(schema), ignore_progress
        )

    return ask


def cells(context: MechanismContext, schema: Schema) -> object:
    """One level of a descent: cells with gaps between them, the last of which holds all
    that lies beyond the bound.
    """
    column, one = schema["x"], context.unit_vector()
    assert isinstance(column, Lattice)
    scale = context.scale(context.payments.amount_left, one)
    cost = price(context.law, scale, one, context.accounting)
    return _measure_cells(
        context, column, np.array([0, 40, 90]), np.array([10, 60, 100]), scale, cost
    )


def x(*values: int | None) -> list[Row]:
    return [{"x": v} for v in values]


def besides_of(what: Callable[..., object]) -> Ask:
    """All of the budget on something that a schema asks for beyond its columns."""

    def ask(context: MechanismContext, schema: Schema) -> object:
        days = [schema[name] for name in schema if schema[name].type == "date"]
        args = (
            (schema, *days)
            if what is extras.learn_weekdays
            else (schema,)
            if what is extras.learn_unit_sizes
            else ()
        )
        return what(context, *args, amount=context.payments.amount_left)

    return ask


def visits(**rows: int) -> list[Row]:
    return [{"who": who, "x": 1} for who, count in rows.items() for _ in range(count)]


def days(*numbers: int) -> list[Row]:
    return [{"day": date(2024, 1, number)} for number in numbers]


VISITS = Schema.parse("""
unit: {id: who, max_rows: 3}
columns: {who: {type: identifier, generate: true}, x: {type: integer, min: 0, max: 9}}
rules: [x < 1]
""")
"""In which every row of `visits` breaks a rule."""

DAYS = Schema.parse(
    "columns: {day: {type: date, min: 2024-01-01, max: 2024-12-31, weekdays: learn}}"
)

FAR = {("colour",): np.array([10.0, 0.0, 0.0]), ("smoker",): np.array([10.0, 0.0])}
NEAR = {("colour",): np.zeros(3), ("smoker",): np.zeros(2)}
FIRST, LAST = PEOPLE[0], PEOPLE[-1]
BALLOT = {"a": "12", "b": "red", "c": "2024-02-29"}
OTHER = {"a": "red", "b": "2024-02-29", "c": "12"}
EDGES = tuple(range(65))

CASES = [
    *marginals(),
    *(
        Case("total", marginal(()), COLOURS, [FIRST], [FIRST, LAST], ADD_REMOVE, c)
        for c in Accounting
    ),
    *(
        Case(
            "sum",
            whole(measure_sum, "x"),
            NUMBERS,
            x(3),
            x(3, 10),
            ADD_REMOVE,
            c,
            effort=1.5,
        )
        for c in (PURE, GDP)
    ),
    Case("sum", whole(measure_sum, "x"), NUMBERS, x(3, 0), x(3, 10), REPLACE),
    Case(
        "sum, clipped", whole(measure_sum, "x"), NUMBERS, x(3), x(3, 10**9), ADD_REMOVE
    ),
    Case(
        "sum, in steps",
        whole(measure_sum, "x", granularity=4),
        NUMBERS,
        x(1),
        x(1, 10),
        ADD_REMOVE,
    ),
    Case("mean", whole(measure_mean, "x"), NUMBERS, x(3), x(3, 10), ADD_REMOVE),
    Case(
        "mean",
        whole(measure_mean, "x"),
        NUMBERS,
        x(3, 0),
        x(3, 10),
        REPLACE,
        tight=False,
    ),
    *(
        Case(
            "errors",
            whole(measure_distances, NEAR),
            COLOURS,
            [],
            [FIRST],
            ADD_REMOVE,
            c,
            effort=4 if c is PURE else 1,
        )
        for c in (PURE, GDP)
    ),
    Case("errors", whole(measure_distances, FAR), COLOURS, [FIRST], [LAST], REPLACE),
    Case(
        "bounds, magnitudes",
        whole(_measure_histogram, column="x", edges=MAGNITUDE_EDGES),
        OPEN,
        x(3),
        x(3, 900),
        ADD_REMOVE,
        effort=1.2,
    ),
    Case(
        "bounds, magnitudes",
        whole(_measure_histogram, column="x", edges=MAGNITUDE_EDGES),
        OPEN,
        x(3, -3),
        x(3, 900),
        REPLACE,
        effort=1.2,
    ),
    Case(
        "bounds, pieces",
        whole(_measure_histogram, column="x", edges=EDGES),
        OPEN,
        x(3),
        x(3, 9),
        ADD_REMOVE,
    ),
    Case(
        "bounds, pieces",
        whole(_measure_histogram, column="x", edges=EDGES),
        OPEN,
        x(3, 3),
        x(3, 9),
        REPLACE,
        effort=1.5,
    ),
    *(
        Case("bins", cells, RANGE, x(3), x(3, 950), ADD_REMOVE, c, effort=1.5)
        for c in (PURE, GDP)
    ),
    Case("bins", cells, RANGE, x(3, 3), x(3, 95), REPLACE, effort=1.5),
    *(
        Case(
            "vote",
            whole(learn_types, list(UNTYPED.columns)),
            UNTYPED,
            [],
            [BALLOT],
            ADD_REMOVE,
            c,
            effort=3,
        )
        for c in (PURE, GDP)
    ),
    Case(
        "vote",
        whole(learn_types, list(UNTYPED.columns)),
        UNTYPED,
        [BALLOT],
        [OTHER],
        REPLACE,
        effort=1.5,
    ),
    *(
        Case(
            "rows per unit",
            besides_of(extras.learn_unit_sizes),
            VISITS,
            visits(a=2),
            visits(a=2, b=3),
            ADD_REMOVE,
            c,
        )
        for c in (PURE, GDP)
    ),
    Case(
        "rows per unit",
        besides_of(extras.learn_unit_sizes),
        VISITS,
        visits(a=2, b=1),
        visits(a=2, b=3),
        REPLACE,
    ),
    *(
        Case(
            "broken rows",
            besides_of(extras.count_broken_rows),
            VISITS,
            visits(a=2),
            visits(a=2, b=3),
            ADD_REMOVE,
            c,
        )
        for c in (PURE, GDP)
    ),
    Case(
        "weekdays",
        besides_of(extras.learn_weekdays),
        DAYS,
        days(3),
        days(3, 7),
        ADD_REMOVE,
    ),
    Case(
        "weekdays",
        besides_of(extras.learn_weekdays),
        DAYS,
        days(3, 5),
        days(3, 7),
        REPLACE,
    ),
]
"""Every mechanism that adds noise to integers, both relations."""

PERFORMANCES = [
    Case(
        name,
        performed(name),
        COLOURS,
        here,
        there,
        relation,
        accounting,
        effort=2.5 if name == "independent" else 1.5,
    )
    for name in ("independent", "histogram", "gaussian", "residual")
    for relation, here, there in (
        (ADD_REMOVE, [FIRST], [FIRST, LAST]),
        (REPLACE, [FIRST, FIRST], [FIRST, LAST]),
    )
    for accounting in (PURE, GDP)
]
"""Every synthesizer that asks the same whatever it is answered, with all it asks. The
sparse one is audited on its own, adaptive ones in test_paths.
"""
