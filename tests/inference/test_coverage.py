"""How often intervals of real releases hold, with the noise of the curator: the settings
of benchmarks/coverage.py that a test can afford.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from kit.noisy_pairs import draw_people, measure_pairs
from understudy.inference.population import infer_population
from understudy.inference.regression import fit_regression

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
    all of them together; naive intervals are the broken twin.
    """
    (case,) = [case for case in coverage.list_cases(None) if case.name == name]
    found = coverage.run_setting(case, rows, 0.5, 60, "gaussian")
    held = count_held(found, "low", "high")
    least = binom.ppf(FALSE_ALARM / len(held), 60, LEAST_COVERAGE)
    assert (held >= least).all(), held
    assert (count_held(found, "naive_low", "naive_high") < least).any()


def test_unmeasured_triples_widen_what_depends_on_them_alone():
    """Terms of three columns that the model leaves out widen intervals that depend on
    them, and leave those of least squares, which does not, as they are.
    """
    rng = np.random.default_rng(9)
    people = draw_people(rng, 20_000)
    pooled = measure_pairs(people, rng, 1)
    rows = pd.DataFrame(people)
    for family, most in (("gaussian", 1.1), ("binomial", 2.0)):
        got = infer_population(pooled, "ill ~ age + sex", family=family).error
        plain = fit_regression("ill ~ age + sex", rows, family)
        ratio = got / np.sqrt(np.diag(plain.cov_params()))[[0, 2, 1]]
        assert (ratio < most).all()
        assert (ratio > 0.9).all()
