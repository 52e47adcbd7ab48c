"""Intervals for a population from noisy marginals: they hold, the naive ones do not, and
what was not measured is refused.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit

from kit.noisy_pairs import (
    AGE,
    INTERCEPT,
    SCHEMA,
    SEX,
    draw_people,
    measure_pairs,
)
from understudy.errors import Refused
from understudy.inference.population import (
    InferenceSettings,
    describe_clocks,
    infer_population,
    list_cell_values,
)
from understudy.inference.population_means import (
    estimate_difference,
    estimate_means,
    estimate_proportions,
)
from understudy.schema import Identifier, Integer, Schema, Unit


def test_intervals_hold_where_naive_ones_do_not():
    """120 tables of 1,500 people, three coefficients each: of 360 intervals at 95 % at
    least 318 hold but for one time in a million, were they independent.
    """
    rng = np.random.default_rng(11)
    held = naive = 0
    truth = np.array([INTERCEPT, SEX, AGE])
    for _ in range(120):
        pooled = measure_pairs(draw_people(rng, 1500), rng, 30)
        frame = infer_population(
            pooled, "ill ~ sex + age", family="binomial"
        ).to_frame()
        held += int(((frame.low <= truth) & (truth <= frame.high)).sum())
        naive += int(((frame.naive_low <= truth) & (truth <= frame.naive_high)).sum())
    assert held >= 318
    assert naive < 318


def test_noise_alone_is_what_a_census_adds():
    rng = np.random.default_rng(2)
    pooled = measure_pairs(draw_people(rng, 4000), rng, 10)
    sample = infer_population(pooled, "ill ~ age").error
    census = infer_population(
        pooled, "ill ~ age", settings=InferenceSettings(population="census")
    ).error
    assert (census < sample).all()


def test_little_noise_gives_the_estimate_of_the_rows():
    import pandas as pd
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(3)
    people = draw_people(rng, 5000)
    rows = smf.logit("ill ~ age", pd.DataFrame(people)).fit(disp=0)
    got = infer_population(
        measure_pairs(people, rng, 1), "ill ~ age", family="binomial"
    )
    assert got.estimates == pytest.approx(rows.params.to_numpy(), abs=0.02)
    assert got.error == pytest.approx(rows.bse.to_numpy(), rel=0.05)


def test_a_pair_that_was_not_measured_is_refused_and_named():
    rng = np.random.default_rng(4)
    pooled = measure_pairs(
        draw_people(rng, 500), rng, 10, [("age", "ill"), ("sex", "ill")]
    )
    assert infer_population(pooled, "ill ~ age").names == ("Intercept", "age")
    with pytest.raises(Refused, match="age × sex"):
        infer_population(pooled, "ill ~ age + sex")


def test_an_assumption_widens_what_was_not_measured_and_says_so():
    rng = np.random.default_rng(4)
    people = draw_people(rng, 2000)
    pairs = [("age", "ill"), ("sex", "ill")]
    assumed = infer_population(
        measure_pairs(people, rng, 10, pairs),
        "ill ~ age + sex",
        settings=InferenceSettings(assume=1.0),
    )
    measured = infer_population(measure_pairs(people, rng, 10), "ill ~ age + sex")
    assert assumed.unmeasured == (("age", "sex"),)
    assert assumed.basis == ("modelled",) * 3
    assert measured.basis == ("measured",) * 3
    assert (assumed.error > 1.5 * measured.error).all()
    assert "age × sex" in str(assumed)
    little = infer_population(
        measure_pairs(people, rng, 10, pairs),
        "ill ~ age + sex",
        settings=InferenceSettings(assume=0.01),
    )
    assert (little.error < assumed.error).all()


def test_a_term_of_two_columns_needs_the_three_together():
    rng = np.random.default_rng(7)
    people = draw_people(rng, 2000)
    pooled = measure_pairs(people, rng, 5)
    with pytest.raises(Refused, match="age × sex × ill"):
        infer_population(pooled, "ill ~ age * sex")
    joint = [*combinations(people, 2), ("age", "sex", "ill")]
    found = infer_population(measure_pairs(people, rng, 5, joint), "ill ~ age * sex")
    assert len(found.names) == 4


def test_terms_that_compare_or_code_labels_are_those_of_the_rows():
    import pandas as pd
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(12)
    people = draw_people(rng, 5000)
    pooled = measure_pairs(people, rng, 1)
    for formula in ("ill ~ I(age == 3) + sex", "ill ~ bs(age, knots=[2], degree=1)"):
        rows = smf.ols(formula.replace("sex", "C(sex)"), pd.DataFrame(people)).fit()
        found = infer_population(pooled, formula)
        order = np.argsort(rows.params.to_numpy())
        assert np.sort(found.estimates) == pytest.approx(
            rows.params.iloc[order], abs=0.02
        )
    assert len(infer_population(pooled, "ill ~ C(sex, Sum)").names) == 2


def test_units_of_several_rows_are_what_was_sampled():
    """200 people with four rows each, all alike: rows taken for a sample hold about two
    thirds of the time, and of 150 intervals at 95 % at least 127 hold but for one time in
    a million.
    """
    unit = Unit(id="person", max_rows=4)
    schema = Schema(columns=(*SCHEMA.columns, Identifier(name="person")), unit=unit)
    rng = np.random.default_rng(13)
    truth = float(
        np.mean(
            [expit(INTERCEPT + AGE * a + SEX * s) for a in range(5) for s in (0, 1)]
        )
    )
    held = naive = 0
    for _ in range(150):
        people = {
            name: np.repeat(each, 4) for name, each in draw_people(rng, 200).items()
        }
        pooled = measure_pairs(people, rng, 4, schema=schema)
        found = estimate_proportions(pooled, "ill", 1, settings=InferenceSettings())
        low, high = found.interval()
        held += bool(low[0] <= truth <= high[0])
        low, high = found.naive_interval()
        naive += bool(low[0] <= truth <= high[0])
    assert "Rows of one person may be alike" in str(found)
    assert held >= 127
    assert naive < 127
    census = InferenceSettings(population="census")
    alone = estimate_proportions(pooled, "ill", 1, settings=census)
    assert alone.error[0] < found.error[0] / 2


def test_large_numbers_go_by_polynomials_to_the_estimate_of_the_rows():
    """Two columns of 40 codes have 1,521 contrasts with each other: too many. Sums of
    products are kept, so least squares comes out as on the rows.
    """
    import pandas as pd
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(8)
    age = rng.integers(40, size=20_000)
    pay = np.clip(np.rint(0.4 * age + rng.normal(12, 6, len(age))), 0, 39).astype(int)
    people = {"age": age, "pay": pay}
    columns = [Integer(name=name, min=0, max=39, nullable=False) for name in people]
    schema = Schema(columns=tuple(columns))
    pooled = measure_pairs(people, rng, 1, schema=schema)
    found = infer_population(pooled, "pay ~ age")
    rows = smf.ols("pay ~ age", pd.DataFrame(people)).fit()
    assert found.smoothed == ("age", "pay")
    assert found.estimates == pytest.approx(rows.params.to_numpy(), rel=0.02)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"formula": "ill"}, "write a formula"),
        ({"formula": "x ~ y"}, "takes no part"),
        ({"family": "gamma"}, "gaussian"),
        ({"formula": "ill ~ age + nothing"}, "takes no part"),
        ({"formula": "ill ~ nothing(age)"}, "cannot be fitted"),
        ({"formula": "ill ~ center(age)"}, "a release has none"),
        ({"formula": "ill ~ I(age - np.mean(age))"}, "a release has none"),
        ({"formula": "ill ~ bs(age, df=4)"}, "a release has none"),
        (
            {"formula": "I(age / np.max(age) - np.mean(age)) ~ ill"},
            "a release has none",
        ),
        ({"formula": "ill ~ np.sqrt(age - 1)"}, "no value in some cells"),
        ({"formula": "age ~ sex", "family": "binomial"}, "0 or 1"),
        ({"formula": "I(age - 2) ~ sex", "family": "poisson"}, "from 0 up"),
    ],
)
def test_refusals_name_the_remedy(options, said):
    rng = np.random.default_rng(5)
    pooled = measure_pairs(draw_people(rng, 500), rng, 10)
    facts = {"formula": "ill ~ age", **options}
    with pytest.raises(Refused, match=said):
        infer_population(pooled, facts.pop("formula"), **facts)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"population": "all"}, "census"),
        ({"level": 95}, "0.95"),
        ({"assume": 0.0}, "assume"),
    ],
)
def test_settings_are_refused(options, said):
    with pytest.raises(Refused, match=said):
        InferenceSettings(**options)


def test_what_is_mostly_noise_is_called_modelled_and_says_the_remedy():
    rng = np.random.default_rng(14)
    people = draw_people(rng, 2000)
    for deviation, basis in ((20, "measured"), (150, "modelled")):
        pooled = measure_pairs(people, rng, deviation)
        found = infer_population(pooled, "ill ~ age + sex")
        assert set(found.basis) == {basis}
        assert ("Noise is most" in str(found)) == (basis == "modelled")
    census = InferenceSettings(population="census")
    assert infer_population(pooled, "ill ~ age", settings=census).basis[1] == "modelled"
    both = estimate_difference(
        pooled, "ill", by="sex", between=None, value=1, settings=census
    )
    assert both.basis == ("modelled",)


def test_an_end_that_what_was_measured_allows_moves_out():
    """Of 2,000 people 30 are ill, known within s. The delta method ends the interval of
    the log odds at a count that is nearer than 1.96 s; the end stands where the count is
    1.96 s away, and the upper end stays.
    """
    rng = np.random.default_rng(5)
    people = draw_people(rng, 2_000)
    people["ill"] = (np.arange(2_000) < 30).astype(int)
    pooled = measure_pairs(people, rng, 8)
    settings = InferenceSettings(population="census")
    found = infer_population(pooled, "ill ~ 1", family="binomial", settings=settings)
    (low,), (high,) = found.interval()
    (log_odds,), (error,) = found.estimates, found.error
    share = expit(log_odds)
    count_error = error * share * (1 - share)
    assert share - expit(low) == pytest.approx(1.96 * count_error, rel=0.01)
    assert share - expit(log_odds - 1.96 * error) < 0.85 * 1.96 * count_error
    assert high == pytest.approx(log_odds + 1.96 * error, rel=1e-3)
    # With many ill people both agree.
    often = draw_people(rng, 20_000)
    plain = infer_population(measure_pairs(often, rng, 8), "ill ~ sex", family="logit")
    reach = plain.interval()[1] - plain.estimates
    assert reach == pytest.approx(1.96 * plain.error, rel=0.01)


def test_wide_bins_are_named():
    columns = (
        Integer(name="age", min=0, max=39, bins=(0, 20, 40), nullable=False),
        Integer(name="ill", min=0, max=1, nullable=False),
    )
    rng = np.random.default_rng(15)
    people = {"age": rng.integers(2, size=900), "ill": rng.integers(2, size=900)}
    pooled = measure_pairs(people, rng, 2, schema=Schema(columns=columns))
    found = infer_population(pooled, "ill ~ age")
    assert "middle of its bin: age." in str(found)
    settings = InferenceSettings()
    assert estimate_means(pooled, "age", settings=settings).binned == ("age",)
    assert estimate_proportions(pooled, "ill", 1, settings=settings).binned == ()


def test_what_is_shown_strikes_the_naive_interval_out():
    rng = np.random.default_rng(6)
    pooled = measure_pairs(draw_people(rng, 500), rng, 10)
    got = infer_population(pooled, "ill ~ age")
    assert "<s>" in got._repr_html_()
    assert "\N{COMBINING LONG STROKE OVERLAY}" in str(got)
    assert "sampling and noise" in str(got)
    assert got.to_dict()["estimates"][0]["basis"] == "measured"


def test_dates_count_in_days_and_times_in_hours():
    schema = Schema.parse(
        "columns:\n"
        "  born: {type: date, min: 1970-01-01, max: 1970-01-04, bins: 2}\n"
        "  at: {type: datetime, min: 1970-01-02, max: '1970-01-02 12:00',"
        " resolution: 12h}\n"
        "  hour: {type: time, min: '06:00', max: '18:00', resolution: 6h}\n"
        "  age: {type: integer, min: 0, max: 1}\n"
    )
    for name, values in {
        "born": [0.5, 2.5],
        "at": [1.0, 1.5],
        "hour": [6.0, 12.0, 18.0],
        "age": [0.0, 1.0],
    }.items():
        held = list_cell_values(schema, name)[schema.codecs[name].is_value]
        assert held.tolist() == values
    said = describe_clocks(schema, ["born", "age", "hour"])
    assert said == " (born in days since 1970-01-01 and hour in hours)"
    assert describe_clocks(schema, ["age"]) == ""
