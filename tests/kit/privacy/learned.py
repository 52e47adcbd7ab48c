"""Schemas that discovery arrives at, thousands of times over: tables on which a schema
hangs by one row, and what its distribution tells.

A learned schema is an answer like any other. The auditor sees it whole (types, bounds,
lists, bins, notes, in the canonical form in which it is saved), for many runs on each
of two neighbouring tables, and looks for an event that is likelier on one than the
price allows:

  * a third of the schemas says what to look for (a linear score of what schemas have in
    them), a third where to cut, a third is judged;
  * rates get Clopper-Pearson bounds, and what thresholds cost is taken off: δ of each
    rate in a Gaussian run, whose answers are within δ of answers that keep μ; δ of the
    sum in a pure one.

The price is that of the answers a schema depends on. Counts of the bins that were found
are bought last and are no part of a schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import log, sqrt

import numpy as np
import pytest
from scipy import special

import understudy.curator.context
import understudy.curator.discovery.bounds
import understudy.curator.discovery.tree_histogram
import understudy.curator.discovery.types
import understudy.curator.discovery.vote_noise
import understudy.curator.mechanisms.marginals
import understudy.curator.mechanisms.sparse_histogram
from kit.curator.contexts import UnchargedRun, allowance, no_noise
from kit.curator.listed import Listed
from kit.privacy.audit import ALPHA, Audit, Floats, audited, lower_bound
from kit.privacy.world import Pooled
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, MechanismContext, Payments
from understudy.schema import Categorical, Lattice, Schema
from understudy.schema.yaml.writer import schema_to_dict
from understudy.synthesizers import ignore_progress

Row = Mapping[str, object]
Rows = Sequence[tuple[Row, int]]
"""Rows, and how many of each."""


class Few:
    """A table of many rows and few different ones: each is counted once, by the oracle
    in plain Python, and taken as often as it occurs.
    """

    def __init__(self, rows: Rows, schema: Schema) -> None:
        self._parts = [(Listed([row], schema), times) for row, times in rows]
        self._rows = rows

    def rows(self) -> int:
        return sum(times for _, times in self._parts)

    def counts(self, cliques: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
        found = [
            [times * counts for counts in one.counts(cliques)]
            for one, times in self._parts
        ]
        return [sum(of[1:], of[0]) for of in zip(*found, strict=True)]

    def votes(self, columns: Sequence[str]) -> np.ndarray:
        return sum(times * one.votes(columns) for one, times in self._parts)

    def lattice_counts(self, column: str, edges: Sequence[int]) -> np.ndarray:
        return sum(
            times * one.lattice_counts(column, edges) for one, times in self._parts
        )

    def lattice(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        indices, times = self._merged(lambda one: one.lattice(column))
        return np.array(indices, np.int64), times

    def labels(self, column: str) -> tuple[list[str], np.ndarray]:
        return self._merged(lambda one: one.labels(column))

    def _merged(
        self, ask: Callable[[Listed], tuple[Sequence, np.ndarray]]
    ) -> tuple[list, np.ndarray]:
        held: dict = {}
        for one, times in self._parts:
            for value, count in zip(*ask(one), strict=True):
                held[value] = held.get(value, 0) + times * int(count)
        found = sorted(value for value, count in held.items() if count)
        return found, np.array([held[value] for value in found], np.int64)

    def with_schema(self, schema: Schema) -> Few:
        return Few(self._rows, schema)


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Two neighbouring tables and a schema with holes, to be closed within a budget."""

    name: str
    schema: Schema
    here: Rows
    there: Rows
    accounting: Accounting
    relation: Neighbours = Neighbours.ADD_REMOVE
    epsilon: object = 10
    delta: object = "1e-3"

    def __str__(self) -> str:
        return f"{self.name}, {self.accounting}, {self.relation}".replace("_", " ")


@dataclass(frozen=True)
class Learned:
    """The schemas of many runs, and the largest price that a run paid for what its
    schema depends on.
    """

    schemas: list[Schema]
    cost: Cost


@contextmanager
def swift() -> Iterator[None]:
    """What prices and thresholds are is worked out once: they depend on public numbers
    alone, and runs repeat them.
    """
    mechanisms, discovery = understudy.curator.mechanisms, understudy.curator.discovery
    with pytest.MonkeyPatch.context() as patch:
        for module, names in (
            (mechanisms.sparse_histogram, ("threshold", "price")),
            (discovery.bounds, ("stand_out_count", "price", "noise_deviation")),
            (discovery.types, ("price",)),
            (discovery.vote_noise, ("noise_deviation", "noise_half_width")),
            (discovery.tree_histogram, ("price", "noise_deviation")),
            (mechanisms.marginals, ("price",)),
            (understudy.curator.context, ("scale_for",)),
        ):
            for name in names:
                patch.setattr(module, name, cache(getattr(module, name)))
        yield


def dearest(one: Cost, other: Cost) -> Cost:
    """What either of two runs may have paid at most: how far a run goes is part of its
    answers.
    """
    return Cost(
        one.accounting, max(one.amount, other.amount), max(one.delta, other.delta)
    )


def learn(
    case: Learning, rows: Rows, times: int, *, noise: object | None = None
) -> Learned:
    """The schemas that discovery arrives at, with all of its budget."""
    found, cost = [], None
    budget = Budget.of(case.epsilon, case.delta)
    context = MechanismContext(
        table=Few(rows, case.schema),
        payments=None,  # type: ignore[arg-type]
        neighbours=case.relation,
        accounting=case.accounting,
        epsilon=budget.epsilon,
        draw=noise or Pooled(20_000),  # type: ignore[arg-type]
    )
    filter = allowance(case.epsilon, case.delta, case.accounting)
    for _ in range(times):
        curator = Curator(
            replace(context, payments=Payments(UnchargedRun(), replace(filter))),
            case.schema,
        )
        found.append(
            curator.discover(
                share=Fraction(1), delta=curator.delta_left, progress=ignore_progress
            )
        )
        paid = [one for asked, one in curator.charges if asked != "marginals"]
        total = sum(paid[1:], paid[0])
        cost = total if cost is None else dearest(cost, total)
    assert cost is not None
    return Learned(found, cost)


def hanging(
    make: Callable[[int], Learning], least: int = 1, most: int = 400
) -> Learning:
    """The neighbours between which the schema would turn if there were no noise: with
    noise it turns by chance there.

    `make(k)` has k rows of a kind on one side, and one more on the other.
    """

    def turns(k: int) -> bool:
        case = make(k)
        one, other = (
            learn(case, rows, 1, noise=no_noise).schemas[0]
            for rows in (case.here, case.there)
        )
        return one != other

    return make(next(k for k in range(least, most) if turns(k)))


# What is in a schema


def canonical(schema: Schema) -> str:
    """The schema as it is saved, and what a guarantee tells of how it was learned."""
    told = [[c.name, c.learned, c.note] for c in schema.columns]
    return json.dumps([schema_to_dict(schema), told], sort_keys=True, default=str)


def features(schema: Schema) -> dict[tuple[object, ...], float]:
    """What an auditor looks at: everything a schema says, piece by piece, and how much
    of it.
    """
    found: dict[tuple[object, ...], float] = {("whole", canonical(schema)): 1.0}
    for column in schema.columns:
        of, said = (
            column.name,
            [
                ("type", column.type),
                ("learned", column.learned),
                ("note", bool(column.note)),
            ],
        )
        if isinstance(column, Categorical):
            said += [("values", column.values), ("other", column.other)]
            found[of, "many values"] = len(column.values or ())
        if isinstance(column, Lattice):
            low, high, bins = column.low or 0, column.high or 0, column.bins or ()
            said += [
                ("step", column.step if hasattr(column, "step") else None),
                ("low", low),
                ("high", high),
                ("bins", bins),
            ]
            found[of, "many bins"] = len(bins)
            found[of, "width"] = log(1 + max(high - low, 0))
        found |= {(of, *piece): 1.0 for piece in said}
    return found


SEEN = 10
"""A piece of a schema that was seen less often says nothing yet."""


def scores(here: Sequence[Schema], there: Sequence[Schema]) -> tuple[Floats, Floats]:
    """How much each schema speaks for the second table, as learned on the first thirds:
    linear discriminant analysis of their pieces.
    """
    pieces = [[features(schema) for schema in schemas] for schemas in (here, there)]
    third = len(here) // 3
    often: dict[tuple[object, ...], int] = {}
    for side in pieces:
        for one in side[:third]:
            for piece in one:
                often[piece] = often.get(piece, 0) + 1
    places = {
        piece: i
        for i, piece in enumerate(
            sorted((p for p, n in often.items() if n >= SEEN), key=repr)
        )
    }
    tables = []
    for side in pieces:
        table = np.zeros((len(side), len(places)))
        for i, one in enumerate(side):
            for piece, amount in one.items():
                if piece in places:
                    table[i, places[piece]] = amount
        tables.append(table)
    first = [table[:third] for table in tables]
    spread = (
        sum(
            np.cov(part, rowvar=False, ddof=0).reshape(len(places), -1)
            for part in first
        )
        / 2
    )
    ridge = np.diag(np.diag(spread) + 1e-3) * 0.1
    weights = np.linalg.solve(
        spread + ridge, first[1].mean(axis=0) - first[0].mean(axis=0)
    )
    return tables[0] @ weights, tables[1] @ weights


def judged(
    here: Sequence[Schema], there: Sequence[Schema], cost: Cost, *, alpha: float = ALPHA
) -> Audit:
    """What the schemas of two neighbours prove about the loss, in the accounting of its
    price; both directions are looked at.
    """
    third = len(here) // 3
    one, other = (part[third:].round(9) for part in scores(here, there))
    looks = [(one, other), (-other, -one)]
    found = [_audited(*look, cost, alpha / len(looks)) for look in looks]
    return max(found, key=lambda audit: audit.lower)


def _audited(here: Floats, there: Floats, cost: Cost, alpha: float) -> Audit:
    """As `audited`; but in a Gaussian run each rate may be off by the δ of its
    thresholds.
    """
    delta = float(cost.delta)
    if cost.accounting is Accounting.GDP:

        def bound(p: Floats, m: Floats) -> Floats:
            return special.ndtri(np.maximum(1 - p - delta, 0)) - special.ndtri(
                np.minimum(m + delta, 1)
            )

        return Audit(lower_bound(here, there, bound, alpha), sqrt(cost.amount))
    return audited(here, there, cost, alpha=alpha)


def check(case: Learning, times: int) -> Audit:
    """A schema tells no more than it cost."""
    with swift():
        one, other = (learn(case, rows, times) for rows in (case.here, case.there))
    found = judged(one.schemas, other.schemas, dearest(one.cost, other.cost))
    assert not found.violated, f"{case}: {found.lower:.3f} of {found.claim:.3f}"
    return found
