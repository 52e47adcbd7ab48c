"""Every line of the sensitivity catalogue against every small table."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from understudy.accounting import sensitivity
from understudy.accounting.cost import Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.sensitivity import marginal_sensitivity
from understudy.errors import Refused
from understudy.measurements.maps import Centring, Identity, Partition

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
BOTH = [ADD, REPLACE]


def neighbouring(units, neighbours, sizes) -> Iterator[tuple[list, list]]:
    """All pairs of neighbouring tables whose larger one has that many units; a unit is
    a tuple of rows.
    """
    for size in sizes:
        for rest in combinations_with_replacement(units, size - 1):
            if neighbours is ADD:
                yield from ((_rows(rest), _rows((*rest, unit))) for unit in units)
            else:
                yield from (
                    (_rows((*rest, one)), _rows((*rest, other)))
                    for one, other in combinations(units, 2)
                )


def _rows(units):
    return [row for unit in units for row in unit]


def singles(values):
    return [(value,) for value in values]


def bundles(values, most):
    """Units of one to `most` rows."""
    return [
        unit
        for size in range(1, most + 1)
        for unit in combinations_with_replacement(values, size)
    ]


def furthest(query, pairs) -> Sensitivity:
    """The largest change in each norm over all pairs."""
    l1 = l2 = linf = Fraction(0)
    l0 = 0
    for before, after in pairs:
        change = [
            abs(Fraction(x) - Fraction(y))
            for x, y in zip(query(before), query(after), strict=True)
        ]
        l1, l2 = (
            max(l1, sum(change, Fraction(0))),
            max(l2, sum((c * c for c in change), Fraction(0))),
        )
        linf, l0 = max(linf, *change), max(l0, sum(1 for c in change if c))
    return Sensitivity(l1, l2, l0, linf)


def holds(claim, seen):
    return (
        seen.l1 <= claim.l1
        and seen.l2_squared <= claim.l2_squared
        and seen.l0 <= claim.l0
        and seen.linf <= claim.linf
    )


def tight(claim, seen):
    return seen.l1 == claim.l1 and seen.l2_squared == claim.l2_squared


BOUNDS = [(0, 1), (-1, 3), (2, 5), (-4, -1)]


def grid(low, high):
    return [Fraction(low) + Fraction(high - low) * k / 3 for k in range(4)]


@pytest.mark.parametrize("neighbours", BOTH)
def test_count(neighbours):
    seen = furthest(
        lambda rows: [rows.count(1)],
        neighbouring(singles([0, 1]), neighbours, range(1, 7)),
    )
    assert (
        seen
        == sensitivity.count_sensitivity(neighbours)
        == Sensitivity(Fraction(1), Fraction(1))
    )


@pytest.mark.parametrize("n", range(1, 7))
def test_fraction(n):
    seen = furthest(
        lambda rows: [Fraction(rows.count(1), len(rows))],
        neighbouring(singles([0, 1]), REPLACE, [n]),
    )
    assert tight(sensitivity.fraction_sensitivity(REPLACE, n=n), seen)
    assert seen.l1 == Fraction(1, n)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("neighbours", BOTH)
def test_sum(bounds, neighbours):
    low, high = bounds
    seen = furthest(
        lambda rows: [sum(rows, Fraction(0))],
        neighbouring(singles(grid(low, high)), neighbours, range(1, 7)),
    )
    assert tight(sensitivity.sum_sensitivity(neighbours, low=low, high=high), seen)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("n", range(1, 7))
def test_mean(bounds, n):
    low, high = bounds
    seen = furthest(
        lambda rows: [sum(rows, Fraction(0)) / len(rows)],
        neighbouring(singles(grid(low, high)), REPLACE, [n]),
    )
    assert tight(sensitivity.mean_sensitivity(REPLACE, low=low, high=high, n=n), seen)


def _median(rows):
    rows, half = sorted(rows), len(rows) // 2
    return [rows[half] if len(rows) % 2 else (rows[half - 1] + rows[half]) / 2]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("n", range(1, 7))
def test_median_under_replace(bounds, n):
    low, high = bounds
    seen = furthest(_median, neighbouring(singles(grid(low, high)), REPLACE, [n]))
    assert tight(sensitivity.median_sensitivity(REPLACE, low=low, high=high, n=n), seen)
    assert seen.l1 == Fraction(high - low) / (1 if n % 2 else 2)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_median_under_add_remove(bounds):
    """Half the width at n = 2 already; the whole width is claimed, since the claim must
    not depend on a private n.
    """
    low, high = bounds
    seen = furthest(_median, neighbouring(singles(grid(low, high)), ADD, range(2, 7)))
    assert holds(sensitivity.median_sensitivity(ADD, low=low, high=high), seen)
    assert seen.l1 == Fraction(high - low) / 2


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("n", range(2, 7))
@pytest.mark.parametrize("less", [0, 1])
def test_variance(bounds, n, less):
    low, high = bounds

    def query(rows):
        mean = sum(rows, Fraction(0)) / n
        return [sum(((row - mean) ** 2 for row in rows), Fraction(0)) / (n - less)]

    seen = furthest(query, neighbouring(singles(grid(low, high)), REPLACE, [n]))
    assert tight(
        sensitivity.variance_sensitivity(
            REPLACE, low=low, high=high, n=n, divisor=n - less
        ),
        seen,
    )


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("end", [max, min])
def test_extremes(bounds, neighbours, end):
    low, high = bounds
    sizes = range(2, 7) if neighbours is ADD else range(1, 7)
    seen = furthest(
        lambda rows: [end(rows)],
        neighbouring(singles(grid(low, high)), neighbours, sizes),
    )
    assert tight(sensitivity.extreme_sensitivity(neighbours, low=low, high=high), seen)


@pytest.mark.parametrize("cells", [1, 2, 4])
@pytest.mark.parametrize("neighbours", BOTH)
def test_histogram(cells, neighbours):
    query = lambda rows: [rows.count(cell) for cell in range(cells)]  # noqa: E731
    seen = furthest(query, neighbouring(singles(range(cells)), neighbours, range(1, 7)))
    assert seen == sensitivity.histogram_sensitivity(neighbours, cells=cells)


def test_histogram_numbers():
    assert sensitivity.histogram_sensitivity(ADD, cells=9) == Sensitivity(
        Fraction(1), Fraction(1), 1, Fraction(1)
    )
    assert sensitivity.histogram_sensitivity(REPLACE, cells=9) == Sensitivity(
        Fraction(2), Fraction(2), 2, Fraction(1)
    )
    assert sensitivity.histogram_sensitivity(
        REPLACE, cells=9, max_rows=3
    ) == Sensitivity(Fraction(6), Fraction(18), 6, Fraction(3))


@pytest.mark.parametrize("n", range(1, 7))
def test_proportions(n):
    query = lambda rows: [Fraction(rows.count(cell), n) for cell in range(3)]  # noqa: E731
    assert furthest(
        query, neighbouring(singles(range(3)), REPLACE, [n])
    ) == sensitivity.proportions_sensitivity(REPLACE, cells=3, n=n)


@pytest.mark.parametrize("neighbours", BOTH)
def test_many_counts(neighbours):
    """All predicates over three values at once: the ones that hold for everything move
    under add/remove only.
    """
    predicates = [
        set(kept) for size in (1, 2, 3) for kept in combinations(range(3), size)
    ]
    query = lambda rows: [sum(row in kept for row in rows) for kept in predicates]  # noqa: E731
    seen = furthest(query, neighbouring(singles(range(3)), neighbours, range(1, 7)))
    assert holds(sensitivity.counts_sensitivity(len(predicates), neighbours), seen)
    same = furthest(
        lambda rows: [rows.count(1)] * 5,
        neighbouring(singles(range(3)), neighbours, range(1, 7)),
    )
    assert same == sensitivity.counts_sensitivity(5, neighbours)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("seed", range(6))
def test_workload(neighbours, seed):
    matrix = np.random.default_rng(seed).integers(-3, 4, (3, 4)).tolist()
    query = lambda rows: [sum(line[row] for row in rows) for line in matrix]  # noqa: E731
    seen = furthest(query, neighbouring(singles(range(4)), neighbours, range(1, 5)))
    assert seen == sensitivity.workload_sensitivity(matrix, neighbours)
    by_id = furthest(query, neighbouring(bundles(range(4), 2), neighbours, range(1, 3)))
    assert holds(
        sensitivity.workload_sensitivity(matrix, neighbours, max_rows=2), by_id
    )
    if neighbours is ADD:
        assert tight(
            sensitivity.workload_sensitivity(matrix, neighbours, max_rows=2), by_id
        )


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("max_rows", [2, 3])
def test_units_of_several_rows(neighbours, max_rows):
    pairs = list(
        neighbouring(
            bundles([0, 1, 2], max_rows), neighbours, range(1, 5 - max_rows + 1)
        )
    )
    counted = furthest(lambda rows: [rows.count(1)], pairs)
    assert tight(sensitivity.count_sensitivity(neighbours, max_rows=max_rows), counted)
    cells = furthest(lambda rows: [rows.count(cell) for cell in range(3)], pairs)
    claim = sensitivity.histogram_sensitivity(neighbours, cells=3, max_rows=max_rows)
    assert tight(claim, cells)
    assert holds(claim, cells)
    for low, high in BOUNDS:
        values = grid(low, high)
        summed = furthest(
            lambda rows: [sum(rows, Fraction(0))],
            neighbouring(bundles(values, max_rows), neighbours, [1, 2]),
        )
        assert holds(
            sensitivity.sum_sensitivity(
                neighbours, low=low, high=high, max_rows=max_rows
            ),
            summed,
        )


AXES = [
    Identity(1), Identity(2), Identity(3),
    Centring(1), Centring(2), Centring(3), Centring(4),
    Partition((0, 0, 1)), Partition((0, 0, 0)), Partition((1, 0, 2, 0)),
]  # fmt: skip
CLIQUES = [
    (),
    *((a,) for a in AXES),
    *combinations_with_replacement(AXES, 2),
    (Centring(3), Identity(2), Centring(2)),
    (Partition((0, 0, 1)), Centring(3), Identity(2)),
]


@pytest.mark.parametrize("neighbours", BOTH)
def test_marginals_with_axis_maps_equal_the_norms_of_their_matrix(neighbours):
    for maps in CLIQUES:
        matrix = np.ones((1, 1), np.int64)
        for axis in maps:
            matrix = np.kron(matrix, axis.matrix())
        columns = matrix.T
        moves = (
            columns
            if neighbours is ADD
            else (columns[:, None] - columns[None]).reshape(-1, len(matrix))
        )
        claim = marginal_sensitivity(maps, neighbours)
        assert claim.l1 == np.abs(moves).sum(1).max(), maps
        assert claim.l2_squared == (moves**2).sum(1).max(), maps
        assert claim.linf == np.abs(moves).max(), maps
        assert claim.l0 == (moves != 0).sum(1).max(), maps
        assert claim == sensitivity.workload_sensitivity(matrix.tolist(), neighbours)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize(
    "maps",
    [
        (Identity(2), Centring(2)),
        (Partition((0, 0, 1)),),
        (Partition((0, 0)),),
        (Centring(3),),
    ],
)
def test_marginals_of_units_with_several_rows(neighbours, maps):
    cells = list(product(*(range(m.size) for m in maps)))
    matrix = np.ones((1, 1), np.int64)
    for axis in maps:
        matrix = np.kron(matrix, axis.matrix())

    def query(rows):
        return (matrix @ np.array([rows.count(cell) for cell in cells])).tolist()

    seen = furthest(query, neighbouring(bundles(cells, 2), neighbours, [1, 2]))
    claim = marginal_sensitivity(maps, neighbours, max_rows=2)
    assert holds(claim, seen)
    if neighbours is ADD or math.prod(m.out for m in maps) > 1:
        assert tight(claim, seen)


def test_a_plain_marginal_costs_the_same_for_one_norm_and_the_other():
    claim = marginal_sensitivity((Identity(1000), Identity(500)), ADD, max_rows=7)
    assert claim == Sensitivity(Fraction(7), Fraction(49), 7, Fraction(7))


def test_large_axes_need_no_matrix():
    claim = marginal_sensitivity(
        (Centring(10**6), Identity(10**6), Centring(3)), REPLACE
    )
    n = 10**6
    assert claim.l2_squared == 18 * n * (
        n - 1
    )  # the same cell of the first two axes, another of the third
    assert claim.l1 == 16 * (n - 1)  # another cell of the identity


def test_sum_mean_median_and_variance_of_numbers_between_zero_and_one():
    """1; unbounded; 1/n; 1 or 1/2; (n−1)/n² or 1/n."""
    unit = {"low": 0, "high": 1}
    assert sensitivity.sum_sensitivity(REPLACE, **unit).l1 == 1
    with pytest.raises(
        Refused, match=r"without bounds by any amount: give the column `min` and `max`"
    ):
        sensitivity.sum_sensitivity(REPLACE, low=None, high=None)
    assert sensitivity.mean_sensitivity(REPLACE, **unit, n=100).l1 == Fraction(1, 100)
    assert [
        sensitivity.median_sensitivity(REPLACE, **unit, n=n).l1 for n in (99, 100)
    ] == [1, Fraction(1, 2)]
    assert sensitivity.variance_sensitivity(
        REPLACE, **unit, n=100, divisor=100
    ).l1 == Fraction(99, 10_000)
    assert sensitivity.variance_sensitivity(
        REPLACE, **unit, n=100, divisor=99
    ).l1 == Fraction(1, 100)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sensitivity.fraction_sensitivity(ADD, n=10),
        lambda: sensitivity.mean_sensitivity(ADD, low=0, high=1, n=10),
        lambda: sensitivity.variance_sensitivity(ADD, low=0, high=1, n=10, divisor=10),
        lambda: sensitivity.proportions_sensitivity(ADD, cells=3, n=10),
    ],
)
def test_a_private_number_of_rows_divides_nothing(ask):
    with pytest.raises(
        Refused,
        match=r"needs a public number of rows.*release .* instead\. Nothing was spent\.",
    ):
        ask()


@pytest.mark.parametrize(
    ("low", "high"), [(0, math.inf), (-math.inf, 0), (math.nan, 1), (2, 1), ("x", 1)]
)
def test_bounds_that_bound_nothing_are_refused(low, high):
    with pytest.raises(Refused, match="`min` and `max`"):
        sensitivity.sum_sensitivity(ADD, low=low, high=high)
