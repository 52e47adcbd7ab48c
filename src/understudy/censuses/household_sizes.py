"""How many households of each size live in every place, in whole households that agree
with the persons there.

The persons' table says how many householders (n) and persons (T) of each kind a lowest
place has. Its households therefore are n in number and have T persons in all; what is
left to choose is how the persons are spread, and that follows the least-squares estimate
of the noisy tables of households. Larger places are the sums of the lowest ones, so that
persons and households agree at every level. Dividing a parent's households among its
children instead would ask which sets of sizes have given sums: such a division need not
exist.

What rounding and the two sums take from one place is handed to the next one (error
diffusion), so that sums of places stay near their own estimates.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from understudy.censuses.controlled_rounding import Integers, round_columns
from understudy.censuses.lattice import Floats


def fit_sizes(estimate: Floats, households: Integers, persons: Integers) -> Integers:
    """Whole tables (place × size × kind) with these numbers of households and persons
    (place × kind), which must admit them: n ≤ T ≤ n·m.

    >>> sizes = fit_sizes(np.array([[[2.2], [0.7], [0.1]]]), np.array([[3]]), np.array([[5]]))
    >>> sizes.ravel().tolist()
    [2, 0, 1]
    """
    places, most, kinds = estimate.shape
    result = np.zeros(estimate.shape, np.int64)
    keep_free = _project_free(most)
    for kind in range(kinds):
        carried = np.zeros(most)
        for place in range(places):
            target = estimate[place, :, kind] + carried
            fitted = fit_place(
                target, int(households[place, kind]), int(persons[place, kind])
            )
            result[place, :, kind] = fitted
            # The two sums are the persons' table's affair: only the rest is handed on.
            carried = keep_free @ (target - fitted)
    return result


def fit_place(target: Floats, households: int, persons: int) -> Integers:
    """Households by size, near the target, with these two sums.

    >>> fit_place(np.array([1.0, 1.0]), 2, 4).tolist()
    [0, 2]
    """
    counts = round_columns(
        np.maximum(target, 0.0)[:, None], np.array([households])
    ).ravel()
    sizes = np.arange(1, len(target) + 1)
    missing = persons - int(sizes @ counts)
    step = 1 if missing > 0 else -1
    for _ in range(abs(missing)):
        # One household grows or shrinks by one person, where that costs least.
        error = counts - target
        leave, enter = (
            np.abs(error - 1) - np.abs(error),
            np.abs(error + 1) - np.abs(error),
        )
        cost = leave + np.roll(enter, -step)
        last = len(target) - 1 if step > 0 else 0
        cost[last] = np.inf
        moved = int(np.where(counts > 0, cost, np.inf).argmin())
        counts[moved] -= 1
        counts[moved + step] += 1
    return counts


def _project_free(most: int) -> Floats:
    """The projection onto changes that move neither households nor persons in all."""
    fixed = np.stack([np.ones(most), np.arange(1.0, most + 1)])
    return np.asarray(np.eye(most) - np.linalg.pinv(fixed) @ fixed, np.float64)


def deal_households(
    place: Integers, kind: Integers, is_head: Integers, sizes: Integers, rng: Generator
) -> Integers:
    """The number of each person's household, counted from 1; 0 outside of households.

    `place` and `kind` are each person's, `sizes` the fitted households (place × size ×
    kind). Who lives with whom inside a place and kind is drawn at random.
    """
    number = np.zeros(len(place), np.int64)
    kinds = sizes.shape[2]
    group = place * kinds + kind
    # Persons of one place and kind together, householders first, else in random order.
    order = np.lexsort((rng.random(len(place)), ~is_head.astype(bool), group))
    starts = np.searchsorted(group[order], np.arange(len(sizes) * kinds + 1))
    first = 1
    for cell in np.flatnonzero(sizes.sum(axis=1).reshape(-1)):
        of_size = sizes[cell // kinds, :, cell % kinds]
        persons = np.repeat(np.arange(1, len(of_size) + 1), of_size)
        persons = rng.permutation(persons)
        numbers = first + np.arange(len(persons))
        members = np.concatenate([numbers, np.repeat(numbers, persons - 1)])
        number[order[starts[cell] : starts[cell + 1]]] = members
        first += len(persons)
    return number
