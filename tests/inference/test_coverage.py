"""How often intervals of real releases hold, with the noise of the curator: the settings
of benchmarks/coverage.py that a test can afford.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom

from kit.noisy_pairs import SCHEMA, draw_people, measure_pairs
from understudy.inference.population import infer_population
from understudy.inference.population_estimate import reach_with_bias
from understudy.inference.regression import fit_regression
from understudy.schema import Schema

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
FALSE_ALARM = 1e-6
LEAST_COVERAGE = 0.92
"""What intervals at 95 % are held to: three hundredths for the approximations."""


@pytest.fixture
def coverage(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    # Another package has the same name.
    monkeypatch.delitem(sys.modules, "coverage", raising=False)
    import coverage as found

    yield found
    sys.modules.pop("coverage", None)


def count_held(found: pd.DataFrame, low: str, high: str) -> pd.Series:
    is_held = (found[low] <= found.truth) & (found.truth <= found[high])
    return is_held.groupby([found.family, found.coefficient]).sum()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairs", "triple", "interactions"])
@pytest.mark.parametrize("rows", [2_000, 10_000])
def test_every_coefficient_is_held_and_naively_not(coverage, name, rows):
    """Each coefficient is counted over 60 runs, at a false alarm of one in a million for
    all of them together; naive intervals are the broken twin. They hold about .75 of the
    time at ε = 0.5 and 10,000 rows, which 60 runs hardly tell from .92, and .6 at 0.3.
    """
    (case,) = [case for case in coverage.list_cases(None) if case.name == name]
    found = coverage.run_setting(case, rows, 0.3, 60, "gaussian")
    held = count_held(found, "low", "high")
    least = binom.ppf(FALSE_ALARM / len(held), 60, LEAST_COVERAGE)
    assert (held >= least).all(), held
    assert (count_held(found, "naive_low", "naive_high") < least).any()


def test_what_depends_on_pairs_alone_is_as_narrow_as_the_rows_allow():
    """Terms of three columns that were not measured leave it as it is."""
    rng = np.random.default_rng(9)
    people = draw_people(rng, 20_000)
    pooled = measure_pairs(people, rng, 1)
    rows = pd.DataFrame(people)
    for family in ("gaussian", "binomial"):
        found = infer_population(pooled, "ill ~ age + sex", family=family)
        plain = fit_regression("ill ~ age + sex", rows, family)
        ratio = found.error / np.sqrt(np.diag(plain.cov_params()))[[0, 2, 1]]
        assert (ratio < 1.1).all()
        assert (ratio > 0.9).all()
        # Two predictors and a response depend on pairs alone, in any family.
        assert (found.bias_bound < 1e-4 * found.error).all()


def test_an_interval_holds_at_the_largest_bias_it_allows_for():
    """The reach is the quantile of |e + b|: at b itself it holds as often as it says,
    and without the allowance, the broken twin, far less often.
    """
    rng = np.random.default_rng(4)
    draws = np.abs(rng.standard_normal(200_000))
    signed = draws * rng.choice([-1, 1], len(draws))
    for bias in (0.0, 0.3, 1.0, 3.0, 20.0):
        (reach,) = reach_with_bias(np.ones(1), np.array([bias]), 0.95)
        assert np.mean(np.abs(signed + bias) <= reach) == pytest.approx(0.95, abs=0.003)
    assert np.mean(np.abs(signed + 3.0) <= 1.96) < 0.2


def test_what_leans_on_unmeasured_triples_is_called_modelled_and_says_the_remedy():
    """A logistic regression depends on how three predictors lie together, least squares
    does not. With little noise the bias of the model is what is left.
    """
    rng = np.random.default_rng(9)
    people = draw_people(rng, 200_000)
    job = (rng.random(200_000) < (people["age"] + 1) / 6).astype(int)
    # Each predictor goes with the others: how all lie together is not measured.
    people["sex"] = (rng.random(200_000) < 0.2 + 0.5 * job).astype(int)
    odds = 0.4 * people["age"] + people["sex"] + job - 2
    people["ill"] = (rng.random(200_000) < expit(odds)).astype(int)
    schema = Schema(columns=(*SCHEMA.columns, replace(SCHEMA.columns[-1], name="job")))
    pooled = measure_pairs({**people, "job": job}, rng, 1, schema=schema)
    least = infer_population(pooled, "ill ~ age + sex + job")
    assert set(least.basis) == {"measured"}
    found = infer_population(pooled, "ill ~ age + sex + job", family="binomial")
    assert "modelled" in found.basis
    assert "`triples`" in str(found)
    low, high = found.interval()
    assert ((high - low) / (2 * 1.96 * found.error))[found.is_leaning].min() > 1.1
