"""Errors of counts by their size: bias, and the error a producer and a consumer of the
table see.

JASON, "Consistency of data products and formal privacy methods for the 2020 census",
JSR-21-02, 2022. Making noisy counts non-negative raises small counts at the expense of
large ones. B = (σ₊² − σ₋²)/(σ₊² + σ₋²), where σ±² is the mean square of the positive and
of the negative errors: 1 if every error is upwards, −1 if every one is downwards.

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
from understudy.findings import (
    BetterDirection,
    Fact,
    Finding,
    FindingPart,
    Unavailable,
)
from understudy.measurements import Clique
from understudy.schema import Schema

COUNT_CLASS_STARTS = (0, 1, 10, 50, 100, 200, 400, 800, 3000)
"""Lower ends of the classes of true counts."""

MAX_BIAS_PAIRS = 200
"""Pairs of columns whose cells are counted, the smallest tables first."""


def error_imbalance(errors: NDArray[np.float64]) -> float | None:
    """B of some errors; None if all are zero.

    >>> error_imbalance(np.array([3.0, 0.0, 1.0])), error_imbalance(np.array([1.0, -1.0]))
    (1.0, 0.0)
    """
    above, below = errors[errors > 0], errors[errors < 0]
    up = float(np.mean(above**2)) if len(above) else 0.0
    down = float(np.mean(below**2)) if len(below) else 0.0
    if up + down == 0:
        return None
    return (up - down) / (up + down)


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

    def cell_count(clique: Clique) -> int:
        return int(np.prod(schema.sizes(clique)))

    by_size = sorted(combinations(schema, 2), key=lambda pair: (cell_count(pair), pair))
    candidates: list[Clique] = [*((name,) for name in schema), *by_size[:pairs]]
    cliques = [c for c in candidates if cell_count(c) <= MAX_DENSE_MARGINAL_CELLS]
    true, errors = [], []
    for clique in cliques:
        (here,), (there,) = real.counts([clique]), synthetic.counts([clique])
        rows, made = int(here.sum()), int(there.sum())
        if rows == 0 or made == 0:
            raise Unavailable("one of the tables has no rows")
        # Cells that the schema rules out are right by declaration, and no merit.
        zeros = schema.zeros(clique)
        kept = np.ones(here.shape, bool) if zeros is None else ~zeros
        true.append(here[kept].astype(np.float64))
        # Scaled to as many rows, or a larger synthetic table would look biased.
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
        if inside.any():
            parts.append(_count_class_part(low, high, errors[inside]))
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
    # The variance of the enumeration itself, which is there without any release.
    own = true * (1 - true / rows)
    if enumeration is not None:
        own = (enumeration * true) ** 2
    producer = _root_mean_square(errors)
    consumer = float(np.sqrt(np.mean(errors**2) + np.mean(own)))
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


def _count_class_part(
    low: float, high: float, errors: NDArray[np.float64]
) -> FindingPart:
    """B of the counts between two sizes."""
    name = f"{low} to {high - 1:.0f}"
    if high == low + 1:
        name = f"true count {low}"
    elif high == np.inf:
        name = f"{low} and more"
    facts: dict[str, Fact] = {
        "cells": len(errors),
        "mean_error": float(errors.mean()),
        "rmse": _root_mean_square(errors),
    }
    imbalance = error_imbalance(errors)
    if imbalance is None:
        return FindingPart(name=name, reason="every such count is exact", facts=facts)
    return FindingPart(name=name, value=imbalance, facts=facts)


def _root_mean_square(errors: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(errors**2)))
