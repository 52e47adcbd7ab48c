"""Errors of counts by their size: bias, and the error a producer and a consumer of the
table see.

JASON, "Consistency of data products and formal privacy methods for the 2020 census",
JSR-21-02, 2022. Making noisy counts non-negative lifts small counts and pays for it
with large ones. B = (σ₊² − σ₋²)/(σ₊² + σ₋²), where σ±² is the mean square of the
positive and of the negative errors: 1 where every error is upwards, −1 where every one
is downwards.

The producer compares a count with the one enumerated. The consumer wants the population
behind it, so the enumeration's own uncertainty adds to the error: by default that of a
sample, n·p·(1 − p) for a cell's share p; with `enumeration`, that share of each count.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.utility.marginals import (
    MAX_DENSE_MARGINAL_CELLS,
    CountableTable,
)
from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.measurements import Clique
from understudy.schema import Schema

COUNT_CLASS_STARTS = (0, 1, 10, 50, 100, 200, 400, 800, 3000)
"""Lower ends of the classes of true counts."""

MAX_BIAS_PAIRS = 200


def error_imbalance(errors: NDArray[np.float64]) -> float | None:
    """B of some errors; None where all are zero.

    >>> error_imbalance(np.array([3.0, 0.0, 1.0])), error_imbalance(np.array([1.0, -1.0]))
    (1.0, 0.0)
    """
    above, below = errors[errors > 0], errors[errors < 0]
    up = float(np.mean(above**2)) if len(above) else 0.0
    down = float(np.mean(below**2)) if len(below) else 0.0
    return None if up + down == 0 else (up - down) / (up + down)


def count_errors(
    real: CountableTable,
    synthetic: CountableTable,
    schema: Schema,
    *,
    pairs: int = MAX_BIAS_PAIRS,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True counts of all cells of the columns and of some pairs, and the errors of the
    synthetic table's, scaled to as many rows.
    """
    cliques: list[Clique] = [(name,) for name in schema]
    cliques += sorted(
        combinations(schema, 2), key=lambda c: (int(np.prod(schema.sizes(c))), c)
    )[:pairs]
    cliques = [
        clique
        for clique in cliques
        if np.prod(schema.sizes(clique)) <= MAX_DENSE_MARGINAL_CELLS
    ]
    true, errors = [], []
    for clique in cliques:
        (here,), (there,) = real.counts([clique]), synthetic.counts([clique])
        rows, made = int(here.sum()), int(there.sum())
        if rows == 0 or made == 0:
            raise Unavailable("one of the tables has no rows")
        zeros = schema.zeros(clique)
        kept = np.ones(here.shape, bool) if zeros is None else ~zeros
        true.append(here[kept].astype(np.float64))
        errors.append(there[kept] * (rows / made) - here[kept])
    if not true:
        raise Unavailable("every column has too many values to count each")
    return np.concatenate(true), np.concatenate(errors)


def assess_bias(
    real: CountableTable, synthetic: CountableTable, schema: Schema
) -> Finding:
    """B over all cells, and for each class of true counts."""
    true, errors = count_errors(real, synthetic, schema)
    parts = []
    for low, high in pairwise([*COUNT_CLASS_STARTS, np.inf]):
        inside = (true >= low) & (true < high)
        name = (
            f"true count {low}"
            if high == low + 1
            else f"{low} and more"
            if high == np.inf
            else f"{low} to {high - 1:.0f}"
        )
        if not inside.any():
            continue
        found = error_imbalance(errors[inside])
        facts = {
            "cells": int(inside.sum()),
            "mean_error": float(errors[inside].mean()),
            "rmse": _root_mean_square(errors[inside]),
        }
        parts.append(
            FindingPart(name=name, value=found, facts=dict(facts))
            if found is not None
            else FindingPart(
                name=name, reason="every such count is exact", facts=dict(facts)
            )
        )
    overall = error_imbalance(errors)
    return Finding(
        name="bias",
        title="Bias of counts, B",
        family="counts",
        value=0.0 if overall is None else overall,
        best=0.0,
        note=(
            "1: errors go upwards only; −1: downwards only. Listed by the size of the"
            " true count."
        ),
        parts=tuple(parts),
        facts={"cells": len(true), "mean_error": float(errors.mean())},
    )


def assess_count_error(
    real: CountableTable,
    synthetic: CountableTable,
    schema: Schema,
    *,
    enumeration: float | None = None,
) -> Finding:
    """Root mean square error of a count against the enumerated one, and against the
    population behind it.
    """
    if enumeration is not None and not enumeration >= 0:
        raise Unavailable("the enumeration's error is a share, zero or more")
    true, errors = count_errors(real, synthetic, schema)
    rows = int(real.counts([()])[0])
    own = true * (1 - true / rows) if enumeration is None else (enumeration * true) ** 2
    producer, consumer = (
        _root_mean_square(errors),
        float(np.sqrt(np.mean(errors**2) + np.mean(own))),
    )
    alone = float(np.sqrt(np.mean(own)))
    return Finding(
        name="count_error",
        title="Error of a count, producer's",
        family="counts",
        value=producer,
        better=BetterDirection.LOWER,
        best=0.0,
        note=(
            "In rows. The consumer's error adds what the enumeration itself does not"
            " know."
        ),
        parts=(
            FindingPart(name="producer", value=producer),
            FindingPart(
                name="consumer", value=consumer, facts={"without_release": alone}
            ),
        ),
        facts={
            "cells": len(true),
            "enumeration": "sampling" if enumeration is None else enumeration,
        },
    )


def _root_mean_square(errors: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(errors**2)))
