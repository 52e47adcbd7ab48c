"""What does not occur in a column does not come back because of noise."""

import numpy as np
import polars as pl

import understudy as us
from understudy.schema import Integer, Schema

FLAGS = [f"flag{i}" for i in range(12)]


def test_flags_without_blanks_come_back_without(tmp_path):
    """A blank exceeds 3.5 standard deviations of its noise with a probability of 0.02 %:
    three columns of twelve with blanks have one below 1e-8. Posterior means alone left
    blanks in all of them.
    """
    rng = np.random.default_rng(1)
    table = pl.DataFrame({name: rng.integers(0, 2, 2000) for name in FLAGS})
    schema = Schema(columns=tuple(Integer(name=n, min=0, max=1) for n in FLAGS))
    release = us.synthesize(table, schema=schema, epsilon=1, ledger=tmp_path / "l")
    sample = release.sample(seed=1)
    whole = sum(sample[name].null_count() == 0 for name in FLAGS)
    assert whole >= 10


def test_rare_flags_come_back(tmp_path):
    """Forty rows of 2,000 have each flag, under noise of 17. Where a flag was the end of
    a range, 8 of 12 columns came back without it. Now a column would only where noise
    takes all of its rows, in one of a hundred: four of twelve have a probability below
    1e-5, five one below 1e-7.
    """
    table = pl.DataFrame({name: [1] * 40 + [0] * 1960 for name in FLAGS})
    schema = Schema(columns=tuple(Integer(name=n, min=0, max=1) for n in FLAGS))
    release = us.synthesize(table, schema=schema, epsilon=1, ledger=tmp_path / "l")
    counts = [float(release.evidence.marginal((name,))[1]) for name in FLAGS]
    assert sum(count >= 1 for count in counts) >= 8


def test_years_come_back_from_the_years_that_are_there(tmp_path):
    """Bounds of 1900 to 2026 for years from 2003 to 2009. An outer bin of noise stands
    out in few of eight columns; without a fence at both ends and without the evidence
    that a bin occurs all of them had such years. In 48 columns 3 had one: that seven of
    eight do has a probability below 1e-6, up to one column in ten.
    """
    rng = np.random.default_rng(2)
    names = FLAGS[:8]
    table = pl.DataFrame({name: rng.integers(2003, 2010, 6000) for name in names})
    schema = Schema(columns=tuple(Integer(name=n, min=1900, max=2026) for n in names))
    release = us.synthesize(table, schema=schema, epsilon=2, ledger=tmp_path / "l")
    sample = release.sample(seed=1)
    clean = sum(
        sample.filter(pl.col(name).is_between(2003, 2009)).height == sample.height
        for name in names
    )
    assert clean >= 2
