"""Where heavy tails end."""

import numpy as np

from understudy.curator.discovery.magnitudes import MAGNITUDE_EDGES, widen_range
from understudy.curator.discovery.tail_bounds import find_heavy_tail_end
from understudy.models.estimates.support import ADJACENT_BIN_SIGMAS

EDGES = np.array(MAGNITUDE_EDGES, np.float64)
SIGMA = 30.0
RUNS = 40


def tail_ends(values: np.ndarray) -> list[float | None]:
    """Where the tail of these values ends, in many runs."""
    rng = np.random.default_rng(5)
    exact = np.histogram(values, EDGES)[0]
    noisy = exact + np.rint(rng.normal(0, SIGMA, (RUNS, exact.size))).astype(np.int64)
    ends = []
    for counts in noisy:
        top = int(np.argmax(counts))
        first, last = widen_range(counts, top, top, ADJACENT_BIN_SIGMAS * SIGMA)
        occupied = {"first": first, "last": last}
        ends.append(find_heavy_tail_end(EDGES, counts, SIGMA**2, **occupied))
    return ends


def test_a_heavy_tail_is_hardly_clipped():
    """Values beyond the last magnitude that exceeds the noise hold a fifth of the sum."""
    rng = np.random.default_rng(7)
    values = rng.lognormal(8, 1.5, 5000)
    kept = [np.minimum(values, end).sum() for end in tail_ends(values) if end]
    assert len(kept) > RUNS / 2
    assert np.median(kept) > 0.97 * values.sum()


def test_ages_and_scores_have_no_heavy_tail():
    rng = np.random.default_rng(8)
    ages = rng.integers(18, 91, 5000)
    scores = rng.normal(500, 100, 5000).clip(0).round()
    for values in (ages, scores, 3 * ages, np.where(ages < 50, 0, ages)):
        assert tail_ends(values) == [None] * RUNS


def test_a_column_of_few_values_has_no_heavy_tail():
    """Most answers are 1, few are 10: eleven cannot occur."""
    answers = np.repeat([1, 2, 3, 4, 6, 8, 10], [3000, 900, 500, 300, 200, 150, 150])
    assert tail_ends(answers) == [None] * RUNS
