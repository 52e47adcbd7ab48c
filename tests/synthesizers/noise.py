"""What noise a synthesizer's answers really carry: returned minus exact counts, and the loss that would cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from privacy.audit import recomputed
from understudy.accounting.neighbours import Neighbours
from understudy.measurements import Measurement, Measurements
from understudy.schema import Schema


def exact(schema: Schema, rows: Mapping[str, Sequence[object]], measurement: Measurement) -> np.ndarray:
    """The answer without its noise."""
    sizes = schema.sizes(measurement.clique)
    counts = np.zeros(sizes, np.int64)
    codes = [[schema.codecs[name].code(value) for value in rows[name]] for name in measurement.clique]
    np.add.at(counts, tuple(np.array(c, np.int64) for c in codes), 1 if codes else len(next(iter(rows.values()))))
    for axis, map_ in enumerate(measurement.maps):
        counts = np.moveaxis(np.tensordot(map_.matrix(), counts, axes=(1, axis)), 0, axis)
    return counts


def honest(schema: Schema, rows: Mapping[str, Sequence[object]], found: Measurements, *, mutant: str = "") -> bool:
    """Whether no answer would lose more than it paid for. Mutants: "spare" leaves empty cells without noise, "halve" halves all of it."""
    for m in found:
        counts = exact(schema, rows, m)
        noise = m.values - counts
        if mutant == "spare":
            noise = np.where(counts == 0, 0, noise)
        elif mutant == "halve":
            noise = np.rint(noise / 2).astype(np.int64)
        if noise.size > 1 and recomputed(noise, m.law, l1=1, l2=1, cost=m.cost).violated:
            return False
    return True


ADD_REMOVE = Neighbours.ADD_REMOVE
