"""Counts of the far tails of a schema's columns (models/estimates/tail_shape.py)."""

from __future__ import annotations

import numpy as np

from understudy.models.arrays import Array
from understudy.models.estimates.tail_shape import fit_upper_tail
from understudy.schema import Lattice, Schema


def estimate_tails(schema: Schema, name: str, counts: Array, variance: Array) -> Array:
    """The estimated counts of a column's tails, zero for every other code.

    `counts` are noisy and have one number for every code, as has `variance`.
    """
    estimated = np.zeros(counts.shape)
    codec = schema.codecs[name]
    # A rule that forbids some values cuts the column where no smooth law ends.
    if not isinstance(codec.column, Lattice) or schema.zeros((name,)) is not None:
        return estimated
    edges = codec.edges.astype(np.float64)
    bins = len(edges) - 1
    estimated[:bins] = _upper_counts(edges, counts[:bins], variance[:bins])
    mirrored = _upper_counts(-edges[::-1], counts[:bins][::-1], variance[:bins][::-1])
    estimated[:bins] += mirrored[::-1]
    return estimated


def _upper_counts(edges: Array, counts: Array, variance: Array) -> Array:
    """The estimated counts of the bins of an upper tail, zero for the others."""
    estimated = np.zeros(counts.size)
    tail = fit_upper_tail(edges, counts, variance)
    if tail is not None:
        estimated[tail.first :] = tail.law.counts(edges[tail.first :])
    return estimated
