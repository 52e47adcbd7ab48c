"""The parts of a budget that leave the least error, and the proof that they do."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.synthesizers.adaptive.allocation import AllocationProblem, Incidence
from understudy.synthesizers.adaptive.gains import gain_curve


def random_problem(seed: int, size: int, *, shared: bool) -> AllocationProblem:
    """Marginals of random sizes and distances; with `shared`, some inform others, and
    targets are composed of several.
    """
    rng = np.random.default_rng(seed)
    distances = rng.gamma(0.7, 1500.0, size)
    tables = [rng.gamma(0.5, 80.0, rng.integers(10, 300)) for _ in range(size)]
    own = [(i, i, 1.0) for i in range(size)]
    links = [(i, int(j), 0.4) for i in range(size) for j in rng.choice(size, 2)]
    groups = [(i, int(j), 1.0) for i in range(size) for j in rng.choice(size, 2)]
    return AllocationProblem(
        informs=Incidence.of(own + links if shared else own),
        composes=Incidence.of(list(dict.fromkeys(own + groups if shared else own))),
        questions=size,
        target_weights=rng.gamma(2.0, 1.0, size),
        distances=distances,
        gains=np.stack(
            [
                gain_curve(table, distance, 40.0, 0.5)
                for table, distance in zip(tables, distances, strict=True)
            ]
        ),
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("seed", "size"), [(0, 3), (1, 40), (2, 300)])
def test_the_gap_certifies_the_best_parts(seed, size, shared):
    """No other parts leave less error than the certificate allows."""
    problem = random_problem(seed, size, shared=shared)
    found = problem.solve()
    assert found.parts.sum() == pytest.approx(1)
    assert 0 <= found.gap <= 1e-5
    rng = np.random.default_rng(3)
    for concentration in (0.05, 1.0):
        for _ in range(50):
            other = rng.dirichlet(np.full(size, concentration))
            assert problem.evaluate(other)[0] >= found.error * (1 - found.gap - 1e-3)
    # Near the optimum as well: a tenth of a part moved elsewhere.
    for _ in range(50):
        one, two = rng.choice(size, 2, replace=False)
        moved = found.parts.copy()
        moved[one], moved[two] = 0.9 * moved[one], moved[two] + 0.1 * moved[one]
        assert problem.evaluate(moved)[0] >= found.error * (1 - found.gap - 1e-4)


@pytest.mark.parametrize("shared", [False, True])
def test_the_gap_of_even_parts_is_large(shared):
    """It has teeth: even parts leave more error, and their gap covers the difference."""
    problem = random_problem(1, 40, shared=shared)
    best, even = problem.solve().error, np.full(40, 1 / 40)
    error, marginal_gains = problem.evaluate(even)
    gap = float(marginal_gains.max() - even @ marginal_gains)
    assert error > 1.01 * best
    assert gap >= 0.98 * (error - best)


def test_marginal_gains_are_derivatives():
    problem = random_problem(4, 12, shared=True)
    parts = np.random.default_rng(5).dirichlet(np.full(12, 3.0))
    _, marginal_gains = problem.evaluate(parts)
    for i in range(12):
        step = np.zeros(12)
        step[i] = parts[i] * 0.5
        more, less = (problem.evaluate(parts + way * step)[0] for way in (1, -1))
        slope = (less - more) / (2 * step[i])
        assert marginal_gains[i] == pytest.approx(slope, rel=0.15)


def test_beyond_the_whole_budget_precision_still_gains():
    """Several answers together may be more precise than one with the whole budget."""
    gains = gain_curve(np.full(20, 100.0), 400.0, 20.0, 0.5)
    problem = AllocationProblem(
        informs=Incidence.of([(0, 0, 8.0)]),
        composes=Incidence.of([(0, 0, 1.0)]),
        questions=1,
        target_weights=np.ones(1),
        distances=np.array([400.0]),
        gains=gains[None],
    )
    once, eight_times = (problem.errors_left(np.array([p])) for p in (1 / 8, 1.0))
    assert eight_times[0][0] < 0.6 * once[0][0]
    assert eight_times[1][0] < once[1][0]


def test_where_nothing_gains_one_question_gets_all():
    gains = np.stack([gain_curve(np.full(5, 10.0), 0.0, 5.0, 0.5)] * 2)
    own = Incidence.of([(0, 0, 1.0), (1, 1, 1.0)])
    found = AllocationProblem(own, own, 2, np.ones(2), np.zeros(2), gains).solve()
    assert found.parts.tolist() == [1.0, 0.0]
