"""Reports are summed as they come: what is kept is a table of counts, never a report.

The table has one cell for each report there could be where those are few, one for each
place of a row of bits, or, for optimal local hashing, one for each value.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.local.reports import Integers, ReportBatch, ReportShape
from understudy_client import HASH_PRIME, CollectionPlan

Counts = NDArray[np.int64]

MAX_COUNT_CELLS = 1 << 27
"""Cells of a table of counts: one gigabyte."""

HASH_BLOCK_REPORTS = 1 << 15
"""Reports hashed at once: their intermediate results stay in the processor's cache."""


def count_shape(plan: CollectionPlan, shape: ReportShape) -> tuple[int, ...]:
    """The shape of a plan's table of counts; refuses one that fits no memory."""
    sizes = shape.limits
    if plan.mechanism == "olh":
        sizes = (len(plan.values),)
    elif shape.width:
        # One more cell in each row: how many reports it has.
        sizes = (prod(shape.limits), shape.width + 1)
    if prod(sizes) > MAX_COUNT_CELLS:
        raise Refused(
            f"the plan of {plan.topic} needs {prod(sizes):,} counts, more than"
            f" {MAX_COUNT_CELLS:,}. Plan fewer rows or a smaller width"
        )
    return sizes


def check_counts(plan: CollectionPlan, counts: Counts, reports: int) -> None:
    """Refuse counts that no reports can have."""
    if plan.mechanism == "olh":
        agree = not counts.size or int(counts.max()) <= reports
    elif counts.ndim == 2 and plan.mechanism != "hadamard":
        agree = int(counts[:, -1].sum()) == reports
        agree = agree and bool(np.all(counts <= counts[:, -1:]))
    else:
        agree = int(counts.sum()) == reports
    if not agree or reports < 0 or bool(np.any(counts < 0)):
        raise ValueError("counts and number of reports contradict each other")


def count_batch(plan: CollectionPlan, shape: ReportShape, batch: ReportBatch) -> Counts:
    """The table of counts of some reports."""
    if plan.mechanism == "olh":
        a, b, bucket = batch.integers.T
        values = np.arange(len(plan.values))
        return count_hashed(a, b, bucket, values, plan.sizes["buckets"])
    if shape.width:
        return _count_bits(shape, batch)
    places = np.ravel_multi_index(tuple(batch.integers.T), shape.limits)
    return np.bincount(places, minlength=prod(shape.limits)).reshape(shape.limits)


def _count_bits(shape: ReportShape, batch: ReportBatch) -> Counts:
    rows = prod(shape.limits)
    counts = np.zeros((rows, shape.width + 1), dtype=np.int64)
    row_of = batch.integers[:, 0] if shape.limits else np.zeros(batch.size, np.int64)
    counts[:, -1] = np.bincount(row_of, minlength=rows)
    # Sorted by row, the reports of a row lie together and are summed at once.
    order = np.argsort(row_of, kind="stable")
    ends = np.cumsum(counts[:, -1])
    for row in np.flatnonzero(counts[:, -1]):
        members = order[ends[row] - counts[row, -1] : ends[row]]
        bits = batch.bits[members, : shape.width]
        counts[row, :-1] = bits.sum(axis=0, dtype=np.int64)
    return counts


def count_hashed(
    a: Integers, b: Integers, bucket: Integers, points: Integers, buckets: int
) -> Counts:
    """How many reports (a, b, bucket) have bucket = (a·x + b) mod P mod buckets, for
    every point x.
    """
    counts = np.zeros(len(points), dtype=np.int64)
    consecutive = bool(np.array_equal(points, np.arange(len(points))))
    for start in range(0, len(a), HASH_BLOCK_REPORTS):
        block = slice(start, start + HASH_BLOCK_REPORTS)
        slope, shift = a[block].astype(np.uint32), b[block].astype(np.uint32)
        goal = bucket[block].astype(np.uint32)
        hashed = shift.copy()
        for i, x in enumerate(points):
            if not consecutive:
                hashed = _multiply_modulo(slope, int(x), shift)
            counts[i] += np.count_nonzero(_reduce(hashed, buckets) == goal)
            if consecutive:
                # From x to x + 1 a sum replaces the product.
                hashed = _add_modulo(hashed, slope)
    return counts


def _add_modulo(x: NDArray[np.uint32], y: NDArray[np.uint32]) -> NDArray[np.uint32]:
    total = x + y
    # Where the sum is below the prime, the difference wraps to a huge number.
    return np.asarray(np.minimum(total, total - np.uint32(HASH_PRIME)))


def _multiply_modulo(
    slope: NDArray[np.uint32], x: int, shift: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    product = slope.astype(np.uint64) * np.uint64(x) + shift
    # 2^31 is one modulo the prime 2^31 - 1: halves are added instead of divided.
    prime = np.uint64(HASH_PRIME)
    folded = (product & prime) + (product >> np.uint64(31))
    folded = (folded & prime) + (folded >> np.uint64(31))
    return np.minimum(folded, folded - prime).astype(np.uint32)


def _reduce(x: NDArray[np.uint32], buckets: int) -> NDArray[np.uint32]:
    divisor = np.uint32(buckets)
    # Division by one number is vectorised and the remainder is not.
    return x - x // divisor * divisor


def transform_hadamard(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row times the Hadamard matrix, in n log n steps.

    >>> transform_hadamard(np.array([[1.0, 0.0, 0.0, 2.0]])).tolist()
    [[3.0, -1.0, -1.0, 3.0]]
    """
    result = rows.astype(np.float64)
    width = result.shape[-1]
    half = 1
    while half < width:
        pairs = result.reshape(-1, width // (2 * half), 2, half)
        first, second = pairs[:, :, 0], pairs[:, :, 1]
        result = np.stack([first + second, first - second], axis=2)
        result = result.reshape(-1, width)
        half *= 2
    return result
