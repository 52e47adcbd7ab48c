"""What questions buy is pooled with a release: cheaper, narrower, and still covering."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.queries.estimates import ANSWER_DOUBT
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.offers import Offer, offer_answer
from understudy.queries.plan import plan_query
from understudy.queries.precision import NoisyValues
from understudy.queries.released import ReleasedStatistic
from understudy.queries.results import make_answer, pool_statistics
from understudy.releases.answers.statistic_estimates import estimate_statistics
from understudy.releases.release import Release
from understudy.schema import BrokenRowPolicy, parse_predicate

LAW = Law.ROUNDED_GAUSSIAN
SCHEMA = us.Schema.parse("""
columns:
  sex: {type: categorical, values: [F, M], nullable: false}
  children: {type: integer, min: 0, max: 5, nullable: false}
""")
ROWS = 20_000
_RNG = np.random.default_rng(7)
PEOPLE = pl.DataFrame(
    {
        "sex": _RNG.choice(["F", "M"], ROWS, p=[0.55, 0.45]),
        "children": np.minimum(_RNG.poisson(1.3, ROWS), 5),
    }
)
QUESTION = us.count().by("sex")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    where = tmp_path_factory.mktemp("release") / "people.ledger"
    return us.synthesize(PEOPLE, SCHEMA, epsilon=0.1, ledger=where, seed=1)


def offer_told(told: ReleasedStatistic | None, within: float) -> Offer:
    plan = plan_query(QUESTION, SCHEMA)
    return offer_answer(
        plan,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        within=within,
        released=(told,),
    )


def test_a_release_tells_counts_and_sums_with_their_deviations(
    release: Release,
) -> None:
    plan = plan_query(us.select(us.count(), us.total("children")).by("sex"), SCHEMA)
    counted, added = estimate_statistics(release.evidence, plan)
    assert counted is not None
    groups = PEOPLE.group_by("sex").len().sort("sex")["len"].to_list()
    for value, deviation, truth in zip(
        counted.values, counted.deviations, groups, strict=True
    ):
        # Six deviations are exceeded twice in 10⁹ runs.
        assert math.isfinite(deviation)
        assert abs(value - truth) <= 6 * deviation
    pair = release.evidence.least_squares.is_measured(("sex", "children"))
    assert added is not None
    assert all(map(math.isfinite, added.deviations)) == pair


def test_a_question_within_a_release_costs_less_and_is_within(
    release: Release, tmp_path: Path
) -> None:
    plan = plan_query(QUESTION, SCHEMA)
    (told,) = estimate_statistics(release.evidence, plan)
    assert told is not None
    # A ± that the release alone misses by a third.
    width = NoiseScale(LAW, Fraction(max(told.deviations)), 2).half_width(ANSWER_DOUBT)
    within = math.floor(width / 1.5)
    given = {"ledger": tmp_path / "people.ledger", "budget": 1}
    with us.session(PEOPLE, SCHEMA, **given) as alone:
        full = alone.price(QUESTION, within=within).offer.cost.amount
    with us.session(PEOPLE, SCHEMA, release=release, **given) as questions:
        priced = questions.price(QUESTION, within=within)
        answer = questions.ask(QUESTION, within=within)
        assert priced.offer.cost == answer.cost
        assert 0 < priced.offer.cost.amount < 0.7 * full
        assert answer.half_width <= within
        assert answer.basis == "measured, pooled with the release"
        # After an earlier answer the same is free, and less precision is too.
        assert questions.ask(QUESTION, within=within).cost is None
        assert questions.price(QUESTION, within=2 * within).is_free
        finer = questions.price(QUESTION, within=within / 1.3).offer.cost.amount
    with us.session(PEOPLE, SCHEMA, **given) as alone:
        assert finer < alone.price(QUESTION, within=within / 1.3).offer.cost.amount
    schema_price = us.price(SCHEMA, QUESTION, within=within, release=release)
    assert schema_price.offer.cost == priced.offer.cost


@pytest.mark.parametrize("deviation", [3.0, 12.0, 40.0, 1000.0])
@pytest.mark.parametrize("within", [15.0, 30.0])
def test_pooled_intervals_cover_and_are_no_wider_than_the_better(
    deviation: float, within: float
) -> None:
    """Over 2,000 pairs of release and question the interval holds the truth 95 times in
    100, with five standard errors to spare, and has the ± that was asked for.
    """
    groups, truth = 2, 5000.0
    known = ReleasedStatistic((truth,) * groups, (deviation,) * groups, LAW)
    offer = offer_told(known, within)
    (order,) = offer.orders
    assert offer.half_widths["count"] is not None
    assert offer.half_widths["count"] <= within
    width = order.noise.half_width(ANSWER_DOUBT)
    released = NoiseScale(LAW, Fraction(deviation), 2).half_width(ANSWER_DOUBT)
    assert width <= released + 1e-3
    if order.scale is not None:
        assert width <= NoiseScale(LAW, order.scale).half_width(ANSWER_DOUBT)
    rng = np.random.default_rng(11)
    held, trials = 0, 2_000
    for _ in range(trials):
        told = truth + rng.normal(0, deviation, groups)
        draws: tuple[NoisyValues, ...] = ()
        if order.scale is not None:
            noise = np.rint(rng.normal(0, float(order.scale), groups))
            values = tuple(int(truth + z) for z in noise)
            draws = (NoisyValues(values, LAW, order.scale),)
        drawn = ReleasedStatistic(tuple(told), known.deviations, LAW)
        pooled = pool_statistics(offer.plan, [draws])
        answer = make_answer(offer.plan, pooled, basis="", cost=None, released=[drawn])
        assert answer.half_width <= within + 1e-9
        held += sum(
            row.numbers[0].low <= truth <= row.numbers[0].high for row in answer.rows
        )
    rate = held / (groups * trials)
    assert rate >= 0.95 - 5 * math.sqrt(0.05 * 0.95 / (groups * trials))


def test_a_mean_within_is_priced_by_the_rows_of_a_release() -> None:
    """Without a count that was answered: the release says how many rows there are. Only
    the number of rows is pooled, so that both sides of the ratio stay independent.
    """
    plan = plan_query(us.mean("children").by("sex"), SCHEMA)
    told = ReleasedStatistic((11_000.0, 9_000.0), (20.0, 20.0), LAW)
    offer = offer_answer(
        plan,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        within=0.05,
        released=(told, told),
    )
    bottom, top = offer.orders
    assert bottom.scale is None
    assert top.scale is not None


def test_a_group_that_the_release_does_not_tell_is_paid_in_full() -> None:
    half = ReleasedStatistic((10.0, 20.0), (1.0, math.inf), LAW)
    assert offer_told(half, 30.0).cost == offer_told(None, 30.0).cost


def test_laplace_noise_of_a_release_is_not_pooled() -> None:
    other = ReleasedStatistic((10.0, 20.0), (1.0, 1.0), Law.DISCRETE_LAPLACE)
    assert offer_told(other, 30.0).cost == offer_told(None, 30.0).cost


def test_the_price_after_a_release_follows_from_scales_alone() -> None:
    """Two releases that say opposite things cost the same."""
    prices = {
        offer_told(ReleasedStatistic(values, (12.0, 12.0), LAW), 20.0).cost
        for values in [(0.0, 20_000.0), (9_000.0, 11_000.0)]
    }
    assert len(prices) == 1


def test_nobody_pays_for_the_answers_of_others_that_the_release_makes_needless(
    release: Release, tmp_path: Path
) -> None:
    book = tmp_path / "people.ledger"
    with us.session(PEOPLE, SCHEMA, ledger=book, budget=2) as owner:
        owner.ask(QUESTION, within=50)
    with us.Ledger.open(book) as ledger:
        ledger.grant(us.Budget.of(1), analyst="team-a")
    plan = plan_query(QUESTION, SCHEMA)
    (told,) = estimate_statistics(release.evidence, plan)
    assert told is not None
    within = 3 * max(told.deviations)
    given = {"ledger": book, "analyst": "team-a"}
    with us.session(PEOPLE, SCHEMA, release=release, **given) as questions:
        assert questions.price(QUESTION, within=within).is_free
    with us.session(PEOPLE, SCHEMA, **given) as questions:
        assert not questions.price(QUESTION, within=within).is_free


def test_a_release_of_another_table_is_refused(tmp_path: Path) -> None:
    """Its numbers would be about other people, and so would every pooled one."""
    for name, share in (("theirs", 0.9), ("ours", 0.1)):
        rows = pl.DataFrame({"sex": ["F"] * int(900 * share) + ["M"] * 90})
        rows.write_csv(tmp_path / f"{name}.csv")
    declared = us.Schema.parse("columns:\n  sex: {type: categorical, values: [F, M]}")
    foreign = us.synthesize(tmp_path / "theirs.csv", declared, epsilon=1, seed=1)
    ours = tmp_path / "ours.csv"
    with pytest.raises(Refused, match="The release is of 'theirs"):
        us.session(ours, declared, budget=1, release=foreign)
    us.session(ours, declared, budget=1).close()
    with pytest.raises(Refused, match="Leave the release out"):
        us.price(
            declared,
            "SELECT COUNT(*) FROM ours",
            within=50,
            release=foreign,
            ledger=tmp_path / "ours.csv.ledger",
        )
    own = us.synthesize(ours, declared, epsilon=1, seed=1)
    us.session(ours, declared, release=own).close()


def test_an_answer_in_another_accounting_widens_no_interval(tmp_path: Path) -> None:
    """Laplace noise of a smaller scale may have the wider interval."""
    where = tmp_path / "people.ledger"
    asked = us.count().by("sex")
    given = {"ledger": where, "budget": 1}
    with us.session(PEOPLE, SCHEMA, run="pure", accounting="pure", **given) as first:
        assert first.ask(asked, epsilon=0.05).half_width > 50
    with us.session(PEOPLE, SCHEMA, run="gaussian", **given) as second:
        answer = second.ask(asked, within=50)
        assert answer.half_width <= 50
        assert second.ask(asked, within=50).cost is None


def test_a_price_says_what_the_release_answers_for_nothing(
    release: Release, tmp_path: Path
) -> None:
    """A mean, for which no row was counted yet, is free where the release knows it."""
    where = tmp_path / "people.ledger"
    asked = us.mean("children")
    with us.session(
        PEOPLE, SCHEMA, ledger=where, budget=1, release=release
    ) as questions:
        priced = questions.price(asked, within=2)
        answer = questions.ask(asked, within=2)
        assert answer.cost is None
        assert priced.half_widths == {"mean_children": answer.half_width}
        with pytest.raises(Refused, match="how many rows"):
            questions.price(us.stddev("children"), within=2)
    for ledger in (None, where):
        alone = us.price(SCHEMA, asked, within=2, release=release, ledger=ledger)
        assert alone.is_free
        assert "free: the release of" in str(alone)
    dear = us.price(SCHEMA, us.count(), within=20, release=release, ledger=where)
    assert not dear.is_free
    assert "free" not in str(dear)


def test_a_release_of_fewer_rows_answers_nothing_for_them(tmp_path: Path) -> None:
    """With `broken: drop` a release is about the other rows alone."""
    ruled = replace(
        SCHEMA,
        impossible=(parse_predicate("children > 0"),),
        broken=BrokenRowPolicy.DROP,
    )
    book = tmp_path / "people.ledger"
    made = us.synthesize(PEOPLE, ruled, epsilon=1, ledger=book, seed=1)
    for schema, is_free in ((ruled, True), (SCHEMA, False)):
        with us.session(
            PEOPLE, schema, ledger=book, budget=1, release=made
        ) as questions:
            answer = questions.ask(us.count(), within=500)
            assert (answer.cost is None) == is_free
    low, high = answer.interval
    assert low - 500 <= ROWS <= high + 500
