"""The accountant against numerical composition of the noise that is actually drawn.

Privacy loss distributions (dp-accounting) judge here and admit nothing. Their
optimistic estimate is a lower bound on the true ε of a composition, so an accountant
below it would be wrong.
"""

import math
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import (
    from_discrete_gaussian_mechanism,
    from_discrete_laplace_mechanism,
    from_gaussian_mechanism,
    from_two_probability_mass_functions,
)
from scipy.special import log_ndtr

from understudy.accounting.conversion import epsilon_of
from understudy.accounting.cost import Accounting, Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.pricing import NOISE_SCALE_DENOMINATOR, price, price_choice

ONE = Sensitivity(Fraction(1), Fraction(1))


def claimed(costs, delta):
    """ε that the accountant states for these costs."""
    return float(
        epsilon_of(
            costs[0].accounting, sum((c.amount for c in costs), Fraction(0)), delta
        )
    )


def judged(parts, delta):
    return reduce(lambda a, b: a.compose(b), parts).get_epsilon_for_delta(float(delta))


def gaussian(scale, step):
    return from_gaussian_mechanism(
        float(scale),
        pessimistic_estimate=False,
        value_discretization_interval=step,
        use_connect_dots=False,
    )


def rounded_gaussian(scale, step):
    """round(N(0, σ²)) on two counts that differ by one, by its own probabilities; the
    far tails are left out, which is optimistic.
    """
    s, reach = float(scale), math.ceil(9 * float(scale)) + 2
    k = np.arange(reach + 2)
    nearer, farther = log_ndtr(-(k - 0.5) / s), log_ndtr(-(k + 0.5) / s)
    mass = nearer + np.log(-np.expm1(farther - nearer))
    return from_two_probability_mass_functions(
        {x: mass[abs(x)] for x in range(-reach, reach + 1)},
        {x: mass[abs(x - 1)] for x in range(-reach, reach + 1)},
        pessimistic_estimate=False,
        value_discretization_interval=step,
        symmetric=False,
    )


def discrete_laplace(scale, step):
    return from_discrete_laplace_mechanism(
        1 / float(scale), pessimistic_estimate=False, value_discretization_interval=step
    )


def discrete_gaussian(scale, step):
    return from_discrete_gaussian_mechanism(
        float(scale), pessimistic_estimate=False, value_discretization_interval=step
    )


def choice(epsilon, step, where):
    """The worst pair of an ε-bounded-range mechanism: two outcomes with losses t and t
    − ε.
    """
    e = float(epsilon)
    t = where * e
    p = math.expm1(t - e) / math.expm1(-e)
    q = p * math.exp(-t)
    return from_two_probability_mass_functions(
        {0: math.log(q), 1: math.log1p(-q)},
        {0: math.log(p), 1: math.log1p(-p)},
        pessimistic_estimate=False,
        value_discretization_interval=step,
        symmetric=False,
    )


def random_scale(rng, low, high):
    return Fraction(
        math.ceil(
            math.exp(rng.uniform(math.log(low), math.log(high)))
            * NOISE_SCALE_DENOMINATOR
        ),
        NOISE_SCALE_DENOMINATOR,
    )


def random_delta(rng):
    return Fraction(10 ** rng.uniform(-12, -4))


@pytest.mark.parametrize("times", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_hundreds_of_gaussian_compositions(times):
    """Never below, and never a tenth above."""
    rng = np.random.default_rng(10)
    ratios = []
    for _ in range(times):
        scales, delta = (
            [random_scale(rng, 1, 40) for _ in range(rng.integers(1, 6))],
            random_delta(rng),
        )
        ours = claimed(
            [price(Law.ROUNDED_GAUSSIAN, s, ONE, Accounting.GDP) for s in scales], delta
        )
        step = ours / (100 * len(scales))
        ratios.append(ours / judged([gaussian(s, step) for s in scales], delta))
    assert min(ratios) >= 1
    assert (
        max(ratios) < 1.02
    )  # a tenth would do; half of one per cent is the judge's own rounding


@pytest.mark.slow
def test_a_thousand_gaussian_compositions_of_many_parts():
    rng = np.random.default_rng(11)
    ratios = []
    for _ in range(1000):
        scales, delta = (
            [random_scale(rng, 0.5, 200) for _ in range(rng.integers(5, 20))],
            random_delta(rng),
        )
        ours = claimed(
            [price(Law.ROUNDED_GAUSSIAN, s, ONE, Accounting.GDP) for s in scales], delta
        )
        step = ours / (200 * len(scales))
        ratios.append(ours / judged([gaussian(s, step) for s in scales], delta))
    assert min(ratios) >= 1
    assert max(ratios) < 1.02


def test_a_gdp_account_that_forgets_a_part_is_caught():
    """The judge has teeth: one of three equal parts left out, or two per cent of the
    noise, shows at once.
    """
    scale, delta = Fraction(5), Fraction(1, 10**6)
    parts = [price(Law.ROUNDED_GAUSSIAN, scale, ONE, Accounting.GDP)] * 3
    truth = judged([gaussian(scale, 1e-4)] * 3, delta)
    assert claimed(parts, delta) >= truth
    assert claimed(parts[:2], delta) < truth
    assert (
        claimed(
            [
                price(
                    Law.ROUNDED_GAUSSIAN,
                    scale * Fraction(102, 100),
                    ONE,
                    Accounting.GDP,
                )
            ]
            * 3,
            delta,
        )
        < truth
    )


def test_rounded_gaussian_noise_by_its_own_probabilities():
    rng = np.random.default_rng(12)
    ratios = []
    for _ in range(15):
        scales, delta = (
            [random_scale(rng, 1.5, 12) for _ in range(rng.integers(1, 4))],
            Fraction(10 ** rng.uniform(-9, -4)),
        )
        ours = claimed(
            [price(Law.ROUNDED_GAUSSIAN, s, ONE, Accounting.GDP) for s in scales], delta
        )
        ratios.append(
            ours / judged([rounded_gaussian(s, ours / 2000) for s in scales], delta)
        )
    assert min(ratios) >= 1
    assert max(ratios) < 1.1


def mixed(rng, accounting, step):
    """A random run in one accounting: its costs, and the loss of every draw."""
    laws = {
        Accounting.PURE: [Law.DISCRETE_LAPLACE],
        Accounting.GDP: [Law.ROUNDED_GAUSSIAN, Law.DISCRETE_LAPLACE],
        Accounting.ZCDP: [
            Law.DISCRETE_GAUSSIAN,
            Law.ROUNDED_GAUSSIAN,
            Law.DISCRETE_LAPLACE,
        ],
    }[accounting]
    losses = {
        Law.DISCRETE_LAPLACE: discrete_laplace,
        Law.ROUNDED_GAUSSIAN: gaussian,
        Law.DISCRETE_GAUSSIAN: discrete_gaussian,
    }
    costs, parts = [], []
    for _ in range(rng.integers(1, 5)):
        law, scale = laws[rng.integers(len(laws))], random_scale(rng, 2, 20)
        costs.append(price(law, scale, ONE, accounting))
        parts.append(losses[law](scale, step))
    for _ in range(rng.integers(0, 3)):
        epsilon = Fraction(
            math.ceil(rng.uniform(0.1, 1.5) * NOISE_SCALE_DENOMINATOR),
            NOISE_SCALE_DENOMINATOR,
        )
        costs.append(price_choice(epsilon, accounting))
        parts.append(choice(epsilon, step, rng.uniform(0.02, 0.98)))
    return costs, parts


@pytest.mark.parametrize("accounting", Accounting)
def test_mixed_runs_are_never_below(accounting):
    _never_below(accounting, runs=30, seed=13)


@pytest.mark.slow
@pytest.mark.parametrize("accounting", Accounting)
def test_a_thousand_mixed_runs_are_never_below(accounting):
    _never_below(accounting, runs=1000, seed=14)


def _never_below(accounting, runs, seed):
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        costs, parts = mixed(rng, accounting, 1e-3)
        delta = random_delta(rng)
        assert claimed(costs, delta) >= judged(parts, delta)


def test_pure_epsilon_is_attained():
    """Composed discrete Laplace noise at δ next to nothing: the plain sum, not less."""
    costs = [
        price(Law.DISCRETE_LAPLACE, Fraction(s), ONE, Accounting.PURE)
        for s in (2, 4, 5)
    ]
    truth = judged(
        [discrete_laplace(Fraction(s), 1e-4) for s in (2, 4, 5)], Fraction(1, 10**10)
    )
    assert 0.999 * claimed(costs, Fraction(0)) < truth <= claimed(costs, Fraction(0))
