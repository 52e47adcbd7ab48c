"""Errors of counts by their size: bias, and the error a producer and a consumer of the table see.

JASON, "Consistency of data products and formal privacy methods for the 2020 census", JSR-21-02, 2022. Making noisy counts non-negative
lifts small counts and pays for it with large ones. B = (σ₊² − σ₋²)/(σ₊² + σ₋²), where σ±² is the mean square of the positive and of the
negative errors: 1 where every error is upwards, −1 where every one is downwards.

The producer compares a count with the one enumerated. The consumer wants the population behind it, so the enumeration's own uncertainty
adds to the error: by default that of a sample, n·p·(1 − p) for a cell's share p; with `enumeration`, that share of each count.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.utility.marginals import DENSE_CELLS, Counted
from understudy.findings import Better, Finding, Part, Unavailable
from understudy.measurements import Clique
from understudy.schema import Schema

SIZES = (0, 1, 10, 50, 100, 200, 400, 800, 3000)
"""Lower ends of the classes of true counts."""

PAIRS = 200


def imbalance(errors: NDArray[np.float64]) -> float | None:
    """B of some errors; None where all are zero.

    >>> imbalance(np.array([3.0, 0.0, 1.0])), imbalance(np.array([1.0, -1.0]))
    (1.0, 0.0)
    """
    above, below = errors[errors > 0], errors[errors < 0]
    up = float(np.mean(above**2)) if len(above) else 0.0
    down = float(np.mean(below**2)) if len(below) else 0.0
    return None if up + down == 0 else (up - down) / (up + down)


def count_errors(
    real: Counted, synthetic: Counted, schema: Schema, *, pairs: int = PAIRS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True counts of all cells of the columns and of some pairs, and the errors of the stand-in's, scaled to as many rows."""
    cliques: list[Clique] = [(name,) for name in schema]
    cliques += sorted(combinations(schema, 2), key=lambda c: (int(np.prod(schema.sizes(c))), c))[:pairs]
    cliques = [clique for clique in cliques if np.prod(schema.sizes(clique)) <= DENSE_CELLS]
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


def bias(real: Counted, synthetic: Counted, schema: Schema) -> Finding:
    """B over all cells, and for each class of true counts."""
    true, errors = count_errors(real, synthetic, schema)
    parts = []
    for low, high in pairwise([*SIZES, np.inf]):
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
        found = imbalance(errors[inside])
        facts = {"cells": int(inside.sum()), "mean_error": float(errors[inside].mean()), "rmse": _rms(errors[inside])}
        parts.append(
            Part(name=name, value=found, facts=dict(facts))
            if found is not None
            else Part(name=name, reason="every such count is exact", facts=dict(facts))
        )
    overall = imbalance(errors)
    return Finding(
        name="bias",
        title="Bias of counts, B",
        family="counts",
        value=0.0 if overall is None else overall,
        best=0.0,
        note="1: errors go upwards only; −1: downwards only. Listed by the size of the true count.",
        parts=tuple(parts),
        facts={"cells": len(true), "mean_error": float(errors.mean())},
    )


def producer_consumer(
    real: Counted, synthetic: Counted, schema: Schema, *, enumeration: float | None = None
) -> Finding:
    """Root mean square error of a count against the enumerated one, and against the population behind it."""
    if enumeration is not None and not enumeration >= 0:
        raise Unavailable("the enumeration's error is a share, zero or more")
    true, errors = count_errors(real, synthetic, schema)
    rows = int(real.counts([()])[0])
    own = true * (1 - true / rows) if enumeration is None else (enumeration * true) ** 2
    producer, consumer = _rms(errors), float(np.sqrt(np.mean(errors**2) + np.mean(own)))
    alone = float(np.sqrt(np.mean(own)))
    return Finding(
        name="count_error",
        title="Error of a count, producer's",
        family="counts",
        value=producer,
        better=Better.LOWER,
        best=0.0,
        note="In rows. The consumer's error adds what the enumeration itself does not know.",
        parts=(
            Part(name="producer", value=producer),
            Part(name="consumer", value=consumer, facts={"without_release": alone}),
        ),
        facts={"cells": len(true), "enumeration": "sampling" if enumeration is None else enumeration},
    )


def _rms(errors: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(errors**2)))
