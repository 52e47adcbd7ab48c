"""Intervals of means, deviations and quantiles hold what they say."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kit.releases.builders import guarantee
from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import Identity, Measurement, Measurements
from understudy.releases.card.column_statistics import find_statistics
from understudy.releases.card.entry import CardEntry, MarginalVerdict
from understudy.releases.card.rendering import statistics_lines, statistics_sentence
from understudy.releases.card.statistic_intervals import (
    CARD_QUANTILES,
    ColumnStatistics,
    StatisticInterval,
    describe_interval,
)
from understudy.releases.contents import ReleaseKind
from understudy.releases.evidence import Evidence
from understudy.releases.release import Release
from understudy.releases.warnings import list_clipped_columns
from understudy.schema import Categorical, Integer, Schema
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX, RowsBeyond

ROWS = 5_000
SIGMA = 15
RUNS = 60
FALSE_ALARM = 1e-6

TAIL_EDGES = (0, 1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 8192, 32_768, 100_000)
EVEN_EDGES = tuple(range(0, 1001, 50))


def spending(rng):
    values = rng.lognormal(4, 1.5, ROWS).clip(max=99_999)
    return np.where(rng.random(ROWS) < 0.4, 0, values).astype(int)


FAMILIES = {
    "spending": (TAIL_EDGES, spending),
    "lognormal": (TAIL_EDGES, lambda rng: rng.lognormal(4, 1.0, ROWS).astype(int)),
    "pareto": (
        TAIL_EDGES,
        lambda rng: (40 * (1 + rng.pareto(1.5, ROWS))).clip(max=99_999).astype(int),
    ),
    "gamma": (TAIL_EDGES, lambda rng: rng.gamma(2, 60, ROWS).astype(int)),
    "even": (EVEN_EDGES, lambda rng: rng.integers(0, 1000, ROWS)),
    "two humps": (
        EVEN_EDGES,
        lambda rng: (
            np.where(
                rng.random(ROWS) < 0.6,
                rng.normal(100, 20, ROWS),
                rng.normal(700, 50, ROWS),
            )
            .clip(0, 999)
            .astype(int)
        ),
    ),
}


def noisy_evidence(values, edges, rng, sigma=SIGMA) -> Evidence:
    """What a measurement of the column says, without a curator."""
    column = Integer(name="x", min=0, max=edges[-1] - 1, bins=edges, nullable=False)
    counts = np.histogram(values, edges)[0]
    noisy = np.rint(counts + rng.normal(0, sigma, counts.size)).astype(np.int64)
    noise = Law.ROUNDED_GAUSSIAN, Fraction(SIGMA), Cost(Accounting.GDP, Fraction(1))
    measured = Measurement(("x",), (Identity(counts.size),), noisy, *noise)
    return Evidence(
        schema=Schema(columns=(column,)), measurements=Measurements((measured,))
    )


def hits(family: str, sigma: float = SIGMA) -> np.ndarray:
    """How often each interval held the true statistic."""
    edges, draw = FAMILIES[family]
    rng = np.random.default_rng(1)
    held = np.zeros(2 + len(CARD_QUANTILES), int)
    for _ in range(RUNS):
        values = draw(rng)
        statistics = find_statistics(noisy_evidence(values, edges, rng, sigma), "x")
        assert statistics is not None
        quantiles = np.quantile(values, CARD_QUANTILES, method="inverted_cdf")
        truth = [values.mean(), values.std(), *quantiles]
        for place, (_, interval) in enumerate(statistics.all_statistics):
            held[place] += interval.low <= truth[place] <= interval.high
    return held


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_hold_as_often_as_they_say(family):
    for held in hits(family):
        test = stats.binomtest(int(held), RUNS, 0.95, alternative="less")
        assert test.pvalue > FALSE_ALARM


def test_an_interval_for_a_quarter_of_the_noise_would_be_found_out():
    held = hits("even", sigma=4 * SIGMA)
    test = stats.binomtest(int(held[0]), RUNS, 0.95, alternative="less")
    assert test.pvalue < FALSE_ALARM


def test_a_column_whose_mean_noise_may_double_is_poor():
    """Most rows are zero, and noise hides whether the others are few or none."""
    rng = np.random.default_rng(2)
    values = np.where(rng.random(200) < 0.9, 0, rng.integers(0, 1000, 200))
    statistics = find_statistics(noisy_evidence(values, EVEN_EDGES, rng), "x")
    assert statistics is not None
    assert not statistics.is_usable
    entry = CardEntry(("x",), True, 20, 1.0, 0.01, statistics=statistics)
    assert entry.verdict is MarginalVerdict.POOR
    assert CardEntry(("x",), True, 20, 1.0, 0.01).verdict is MarginalVerdict.GOOD


@pytest.mark.parametrize(
    ("mean", "deviation", "last", "usable"),
    [
        # Years, and one value of nine billion that noise put there: not even the
        # deviation it brings is a measure of what is known.
        ((88_862, 1, 3_324_720), 2.3e7, 2002, False),
        ((1951, 1950, 1953), 35, 2002, True),
        # Amounts with a heavy tail, whose mean is known to a third.
        ((500, 400, 650), 9_000, 2002, True),
    ],
)
def test_a_deviation_of_few_far_rows_makes_no_mean_usable(
    mean, deviation, last, usable
):
    quantiles = (1895, 1939, 1970, 1988, last)
    statistics = ColumnStatistics(
        "x",
        StatisticInterval(*mean),
        StatisticInterval(deviation, 0, deviation),
        tuple(StatisticInterval(q, q, q) for q in quantiles),
    )
    assert statistics.is_usable == usable


def test_a_column_that_noise_made_constant_is_poor():
    """Rain that came back as zero on every day: the real mean may be anything."""
    schema = Schema(
        columns=(Integer(name="x", min=0, max=999, bins=EVEN_EDGES, nullable=False),)
    )
    counts = np.array([300, *[0] * 19])
    noise = Law.ROUNDED_GAUSSIAN, Fraction(40), Cost(Accounting.GDP, Fraction(1))
    measured = Measurement(("x",), (Identity(20),), counts, *noise)
    evidence = Evidence(
        schema=schema,
        measurements=Measurements((measured,)),
        microdata={"x": np.zeros(300, np.uint8)},
    )
    statistics = find_statistics(evidence, "x")
    assert statistics is not None
    assert not statistics.is_usable


def test_statistics_of_the_release_are_those_of_its_rows():
    """The estimate is computed from bins and densities, not from sampled rows."""
    rng = np.random.default_rng(4)
    evidence = noisy_evidence(FAMILIES["even"][1](rng), EVEN_EDGES, rng)
    statistics = find_statistics(evidence, "x")
    assert statistics is not None
    counts = np.rint(evidence.marginal(("x",))).astype(int)
    codes = np.repeat(np.arange(20), counts * 20)
    rows = evidence.bin_densities["x"].draw(codes, rng)
    assert statistics.mean.estimate == pytest.approx(rows.mean(), abs=2)
    assert statistics.deviation.estimate == pytest.approx(rows.std(), abs=2)
    drawn = np.quantile(rows, CARD_QUANTILES)
    stated = [quantile.estimate for quantile in statistics.quantiles]
    assert stated == pytest.approx(drawn.tolist(), abs=6)


def test_labels_have_no_statistics_and_unmeasured_columns_no_interval():
    columns = (
        Integer(name="x", min=0, max=3, nullable=False),
        Categorical(name="sex", values=("F", "M"), nullable=False),
    )
    noise = Law.ROUNDED_GAUSSIAN, Fraction(1), Cost(Accounting.GDP, Fraction(1))
    measured = Measurement(("sex",), (Identity(2),), np.array([40, 60]), *noise)
    evidence = Evidence(
        schema=Schema(columns=columns),
        measurements=Measurements((measured,)),
        microdata={"x": np.arange(100) % 4, "sex": np.zeros(100, np.uint8)},
    )
    assert find_statistics(evidence, "sex") is None
    statistics = find_statistics(evidence, "x")
    assert statistics is not None
    assert not statistics.mean.is_bounded
    assert statistics.to_dict()["mean"] == {"estimate": 1.5, "interval": None}
    assert describe_interval(statistics.mean) == "1.500"


def test_statistics_fit_a_terminal():
    """Means and quantiles are two tables; whole numbers have no decimals."""
    rng = np.random.default_rng(5)
    evidence = noisy_evidence(FAMILIES["spending"][1](rng), TAIL_EDGES, rng)
    statistics = find_statistics(evidence, "x")
    assert statistics is not None
    lines = statistics_lines([statistics])
    assert [line.split()[:2] for line in lines if line][::2] == [
        ["column", "mean"],
        ["column", "5"],
    ]
    assert max(map(len, lines)) < 100
    assert statistics_lines([]) == []
    assert "25 % 0 (0 to 0); 50 % " in statistics_sentence(statistics)


def with_beyond(evidence: Evidence, *beyond: int) -> Evidence:
    column = replace(evidence.schema["x"], beyond=RowsBeyond(*beyond))
    return replace(evidence, schema=Schema(columns=(column,)))


def test_zeros_alone_are_not_usable_where_noise_may_hide_other_values():
    """Years beside 96 % zeros came back as zeros, with a mean of 0 (0 to 0)."""
    zeros = noisy_evidence(np.zeros(ROWS, int), (0, 1), np.random.default_rng(2))
    assert find_statistics(zeros, "x").is_usable
    far = MAX_LATTICE_INDEX
    hidden = find_statistics(with_beyond(zeros, 250, far, 250, far), "x")
    assert not hidden.is_usable
    assert hidden.is_spoiled_by_clipping
    assert not hidden.mean.is_bounded
    assert not hidden.deviation.is_bounded
    # So few rows may be in a wrong cell of a good column: only the mean is unknown.
    few = find_statistics(with_beyond(zeros, 40, far, 40, far), "x")
    assert few.is_usable
    assert not few.mean.is_bounded


def test_rows_that_learned_bounds_clip_are_in_the_intervals():
    """A tenth of the rows lie around 3,000 and were clipped to 999."""
    rng = np.random.default_rng(2)
    values = rng.integers(0, 1000, ROWS)
    values[: ROWS // 10] = rng.integers(2000, 4000, ROWS // 10)
    clipped = noisy_evidence(values.clip(max=999), EVEN_EDGES, rng)
    before = find_statistics(clipped, "x")
    after = find_statistics(with_beyond(clipped, 0, 0, ROWS // 10 + 30, 2000), "x")
    assert before.mean.high < values.mean() < after.mean.high
    assert before.deviation.high < values.std() < after.deviation.high
    assert (
        before.quantiles[-1].high < np.quantile(values, 0.95) < after.quantiles[-1].high
    )
    assert after.mean.low == before.mean.low
    assert not after.is_usable
    assert after.is_spoiled_by_clipping


def test_a_warning_names_columns_that_clipping_spoils():
    zeros = noisy_evidence(np.zeros(ROWS, int), (0, 1), np.random.default_rng(2))
    far = MAX_LATTICE_INDEX
    for evidence, named in (
        (with_beyond(zeros, 250, far, 250, far), ["x"]),
        (with_beyond(zeros, 40, far, 40, far), []),
        (zeros, []),
    ):
        made = Release(
            guarantee=replace(guarantee(), amount=Fraction(1)),
            schema=evidence.schema,
            kind=ReleaseKind.TABLES,
            measurements=evidence.measurements,
        )
        assert list_clipped_columns(made) == named
