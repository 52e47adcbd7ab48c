"""Membership by shadow releases: releases made with and without one row, distinguished
by the counts of cells that the row is in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.membership.roc import Scores, roc_finding
from understudy.evaluation.risk.rates import MembershipBound
from understudy.findings import Finding, Unavailable
from understudy.measurements import Clique
from understudy.schema import Schema
from understudy.tables import Table

MIN_SHADOWS = 8
"""On either side; half of them train the attack, and fewer than four train nothing."""

MAX_SHADOW_CLIQUE = 3
"""Columns of one query."""

Codes = Mapping[str, NDArray[np.integer]]


def codes_of_table(table: Table) -> Codes:
    """The codes of every row of a table, column by column."""
    return table.records().codes


def find_rarest_row(rows: Codes) -> int:
    """The row whose values are the rarest, column by column: whom a release betrays
    first, if anybody.

    >>> find_rarest_row({"job": np.array([0, 0, 0, 1]), "sex": np.array([0, 1, 0, 1])})
    3
    """
    surprise = np.zeros(len(next(iter(rows.values()))))
    for codes in rows.values():
        counts = np.bincount(np.asarray(codes, np.int64))
        # Columns taken as independent: a cheap measure of how rare a row is.
        surprise -= np.log(counts[codes] / len(codes))
    return int(surprise.argmax())


def attack_by_shadows(
    rows: Codes,
    target: int,
    make: Callable[[Codes], Codes],
    *,
    schema: Schema,
    rng: np.random.Generator,
    shadows: int = 50,
    queries: int = 30,
    guarantee: MembershipBound | None = None,
) -> Finding:
    """The attack on one row; `make` turns rows of codes into a synthetic table of
    codes, as the release was made.

    Half of the shadow releases train the attack, the other half judge it.
    """
    if shadows < MIN_SHADOWS:
        raise Unavailable(
            "fewer than eight shadow releases on either side teach nothing"
        )
    cliques = _draw_cliques(list(schema), queries, rng)
    others = np.arange(len(next(iter(rows.values())))) != target
    without = {name: codes[others] for name, codes in rows.items()}
    inside, outside = (
        _query_shadows(make, table, shadows, rows, target, cliques)
        for table in (rows, without)
    )
    # Judged on shadows that it was not trained on, or noise would look like skill.
    half = shadows // 2
    weight = _query_weights(inside[:half], outside[:half])
    return roc_finding(
        "membership_shadows",
        "Membership of one row, by shadow releases",
        inside[half:] @ weight,
        outside[half:] @ weight,
        guarantee=guarantee,
        facts={"shadows": shadows, "queries": queries},
        note=(
            "0.5 is a coin. Such attacks see less than the measurements tell; a small"
            " number is no proof of safety."
        ),
    )


def _draw_cliques(
    names: list[str], queries: int, rng: np.random.Generator
) -> list[Clique]:
    cliques = []
    for _ in range(queries):
        size = min(int(rng.integers(1, MAX_SHADOW_CLIQUE + 1)), len(names))
        chosen = rng.choice(len(names), size, replace=False)
        cliques.append(tuple(names[i] for i in chosen))
    return cliques


def _query_shadows(
    make: Callable[[Codes], Codes],
    table: Codes,
    shadows: int,
    rows: Codes,
    target: int,
    cliques: list[Clique],
) -> Scores:
    """Shadow releases × queries: how many of their rows agree with the target."""
    counts = []
    for _ in range(shadows):
        released = make(table)
        counts.append(
            [_count_matching_rows(released, rows, target, clique) for clique in cliques]
        )
    return np.array(counts, np.float64)


def _query_weights(inside: Scores, outside: Scores) -> Scores:
    """Fisher's linear discriminant with a diagonal covariance: too few shadows train it
    for a full one.
    """
    moved = inside.mean(0) - outside.mean(0)
    centred = np.vstack([inside - inside.mean(0), outside - outside.mean(0)])
    return np.asarray(moved / (centred.var(0) + 1e-9))


def _count_matching_rows(
    released: Codes, rows: Codes, target: int, clique: Clique
) -> int:
    matches = np.ones(len(released[clique[0]]), bool)
    for name in clique:
        matches &= np.asarray(released[name]) == rows[name][target]
    return int(matches.sum())
