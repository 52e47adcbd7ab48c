"""The card and the answers: from the release alone, right about what was measured,
silent about what was not.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import understudy as us
from understudy.accounting import Accounting, Cost, Law
from understudy.errors import Refused
from understudy.measurements import Distance, EstimateDistance, Measurements
from understudy.models import ProductModel
from understudy.models.estimates.noise_moments import (
    MEAN_ABS_NORMAL,
    noise_size,
    noise_variance,
)
from understudy.models.sampling.rounding import fraction_variance
from understudy.models.uncertainty.intervals import distance_bound, supported_bound
from understudy.models.uncertainty.measured_bound import measured_bound
from understudy.releases import MarginalVerdict, Release
from understudy.releases.card.bounds import marginal_error_bound
from understudy.releases.evidence import ROUNDING_ERROR_FACTOR
from understudy.schema import Categorical, Integer, Schema, parse_predicate

SCHEMA = Schema(
    columns=(
        Categorical(name="sex", values=("F", "M"), nullable=False),
        Integer(
            name="age", min=0, max=99, bins=tuple(range(0, 101, 10)), nullable=False
        ),
        Categorical(name="town", values=("x", "y", "z"), nullable=False),
    )
)


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], 5000)
    age = np.clip(rng.normal(np.where(sex == "F", 45, 35), 15, 5000), 0, 99).astype(int)
    return pl.DataFrame(
        {
            "sex": sex,
            "age": age,
            "town": rng.choice(["x", "y", "z"], 5000, p=[0.6, 0.3, 0.1]),
        }
    )


@pytest.fixture(scope="module")
def release(people: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Release:
    ledger = tmp_path_factory.mktemp("card") / "people.ledger"
    return us.synthesize(
        people, SCHEMA, epsilon=2, synthesizer="mst", ledger=ledger, seed=1
    )


def test_every_column_and_pair_has_an_entry(release: Release):
    assert [e.clique for e in release.card][:3] == [("sex",), ("age",), ("town",)]
    assert len(release.card.entries) == 6
    assert all(e.supported for e in release.card if len(e.clique) == 1)


def test_a_pair_nobody_looked_at_has_no_bound(people: pl.DataFrame, tmp_path: Path):
    alone = us.synthesize(
        people, SCHEMA, epsilon=2, synthesizer="independent", ledger=tmp_path / "l"
    )
    entry = alone.card.of(("sex", "age"))
    assert (entry.supported, entry.error, entry.verdict) == (
        False,
        None,
        MarginalVerdict.UNKNOWN,
    )
    assert "no bound" in repr(alone.card)


def test_a_tiny_budget_makes_for_a_poor_card(
    people: pl.DataFrame, release: Release, tmp_path: Path
):
    poor = us.synthesize(
        people, SCHEMA, epsilon=0.01, synthesizer="mst", ledger=tmp_path / "l"
    )
    rich = release.card.of(("sex",)).error
    assert rich is not None
    assert rich < 0.02
    assert (poor.card.of(("sex",)).error or 0) > 10 * rich


def test_the_sentence_counts_and_names_the_pair_that_is_least_sure(release: Release):
    pairs = [e for e in release.card if len(e.clique) == 2 and e.error is not None]
    worst = max(pairs, key=lambda e: e.error or 0)
    said = release.card.sentence()
    assert said.startswith("3 of 3 columns are good or usable; of 3 pairs ")
    assert f"least sure: {' × '.join(worst.clique)} (at most " in said
    alone = replace(
        release,
        measurements=Measurements(),
        model=ProductModel.uniform(SCHEMA, total=10.0),
    )
    assert (
        alone.card.sentence()
        == "0 of 3 columns are good or usable; of 3 pairs 3 no bound."
    )


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (2, "0 of 2 columns are good or usable; their pair: no bound."),
        (
            40,
            "0 of 40 columns are good or usable; of 500 of the 780 pairs 500 no bound.",
        ),
    ],
)
def test_the_sentence_speaks_of_one_pair_as_one_and_says_how_many_of_very_many_it_shows(
    release: Release, columns: int, said: str
):
    schema = Schema(
        columns=tuple(
            Categorical(name=f"c{i}", values=("x", "y"), nullable=False)
            for i in range(columns)
        )
    )
    model = ProductModel.uniform(schema, total=10.0)
    assert (
        replace(
            release, schema=schema, measurements=Measurements(), model=model
        ).card.sentence()
        == said
    )


def test_of_two_bounds_the_smaller_one_is_taken_and_both_are_asked_to_hold_more_often(
    people: pl.DataFrame, tmp_path: Path
):
    both = us.synthesize(
        people, SCHEMA, epsilon=0.3, synthesizer="adaptive", ledger=tmp_path / "l"
    )
    evidence = both.evidence
    gaps = {frozenset(g.distance.clique): g for g in both.measurements.gaps}
    checked = 0
    for clique in combinations(SCHEMA, 2):
        gap = gaps.get(frozenset(clique))
        if gap is None or not evidence.least_squares.is_measured(clique):
            continue
        table = evidence.marginal(clique)
        turned = table.transpose([clique.index(name) for name in gap.distance.clique])
        least = min(
            measured_bound(
                evidence.least_squares, clique, table, confidence=0.975
            ).rows,
            distance_bound(gap, turned, confidence=0.975).rows,
        )
        found = marginal_error_bound(evidence, clique)
        assert found is not None
        assert found.supported
        assert found.rows == pytest.approx(least + evidence.sampling_error(clique))
        checked += 1
    assert checked, "this budget measures a pair of which a distance was bought"


def test_noise_is_blank_where_the_bound_does_not_rest_on_it(release: Release):
    """Else a pair may be called good beside noise of many times its rows."""
    pair = next(e.clique for e in release.card if len(e.clique) == 2 and e.supported)
    paid = Distance(
        pair,
        0,
        1024,
        Law.ROUNDED_GAUSSIAN,
        Fraction(1024),
        Cost(Accounting.GDP, Fraction(1, 10**6)),
    )
    near = EstimateDistance.of(paid, release.evidence.marginal(pair))
    told = replace(
        release, measurements=Measurements(tuple(release.measurements), (), (near,))
    )
    before, after = release.card.of(pair), told.card.of(pair)
    assert before.noise is not None
    assert (after.supported, after.noise) == (True, None)
    assert (after.error or 1) < (before.error or 0)


def test_noise_with_heavier_tails_than_gaussian_has_the_bound_with_room_for_them(
    people: pl.DataFrame, tmp_path: Path
):
    pure = us.synthesize(
        people,
        SCHEMA,
        epsilon=1,
        delta=0,
        synthesizer="independent",
        ledger=tmp_path / "l",
    )
    table = pure.evidence.marginal(("town",))
    found = marginal_error_bound(pure.evidence, ("town",))
    assert found is not None
    wide = supported_bound(pure.evidence.least_squares, ("town",), table).rows
    assert wide > measured_bound(pure.evidence.least_squares, ("town",), table).rows
    # Rows of independent columns are rounded: fractions of a row are all that they can
    # be off.
    left = fraction_variance(table)
    mean = np.minimum(MEAN_ABS_NORMAL * np.sqrt(left), 2 * table).sum()
    assert found.rows == pytest.approx(
        wide + ROUNDING_ERROR_FACTOR * (mean + 2 * np.sqrt(left.sum()))
    )
    assert found.rows < wide + 2 * np.minimum(table, 1.0).sum()


def test_the_bounds_hold_for_rows_too_where_noise_is_next_to_nothing(
    people: pl.DataFrame, tmp_path: Path
):
    """With noise of less than a row, what is left is that rows are whole: without that,
    the rows would break the bounds.
    """
    exact = us.synthesize(
        people, SCHEMA, epsilon=1000, synthesizer="mst", ledger=tmp_path / "l"
    )
    rows, real = exact.sample(seed=1, kind="polars"), people
    bins = pl.col("age") // 10
    off = {}
    for entry in exact.card:
        if entry.supported:
            real_counts, shown = (
                t.with_columns(bins).group_by(entry.clique).len() for t in (real, rows)
            )
            joined = real_counts.join(
                shown, on=entry.clique, how="full", coalesce=True
            ).fill_null(0)
            off[entry.clique] = float(
                (joined["len"] - joined["len_right"]).abs().sum()
            ) / (2 * len(real))
            assert off[entry.clique] <= (entry.error or 0)
    assert len(off) >= 3


def test_noise_much_smaller_than_a_row_is_as_small_as_whole_noise_is(
    people: pl.DataFrame, tmp_path: Path
):
    release = us.synthesize(
        people, SCHEMA, epsilon=100, synthesizer="independent", ledger=tmp_path / "l"
    )
    (look,) = release.measurements.of(("town",))
    exact = noise_size(look.law, look.scale)
    assert release.card.of(("town",)).noise == pytest.approx(exact)
    assert MEAN_ABS_NORMAL * np.sqrt(noise_variance(look.law, look.scale)) > 2 * exact


def test_what_sampled_rows_may_be_off_holds_and_is_not_far_from_what_they_are(
    people: pl.DataFrame, tmp_path: Path
):
    """Pairs that a node holds, rounded from fractions of rows; half of what is allowed
    would not do.
    """
    release = us.synthesize(
        people, SCHEMA, epsilon=1, synthesizer="mst", ledger=tmp_path / "l"
    )
    assert release.model is not None
    cliques = [
        c
        for k in (1, 2)
        for c in combinations(SCHEMA, k)
        if release.model.rounding_variance(c) is not None
    ]
    assert len(cliques) == 5  # a tree of three columns holds two pairs
    held, half = [], []
    for seed in range(100):
        rows = release.model.sample(release.rows, np.random.default_rng(seed))
        for clique in cliques:
            table = release.evidence.marginal(clique)
            flat = np.ravel_multi_index([rows[n] for n in clique], table.shape)
            off = np.abs(
                np.bincount(flat, minlength=table.size).reshape(table.shape) - table
            ).sum()
            allowed = release.evidence.sampling_error(clique)
            held.append(off <= allowed)
            half.append(off <= allowed / 2)
    assert binom.cdf(sum(held), len(held), 0.95) > 1e-6
    assert np.mean(half) < 0.9


def test_a_column_summed_from_a_large_node_may_be_off_by_more_than_a_row_in_every_cell(
    tmp_path: Path,
):
    sizes = {"a": 3, "b": 25, "c": 3, "d": 25}
    rng = np.random.default_rng(8)
    hidden = rng.integers(3, size=12_000)
    rows = pl.DataFrame(
        {
            name: (hidden + rng.integers(size, size=12_000)) % size
            for name, size in sizes.items()
        }
    )
    schema = Schema(
        columns=tuple(
            Integer(name=n, min=0, max=k - 1, bins=tuple(range(k + 1)), nullable=False)
            for n, k in sizes.items()
        )
    )
    release = us.synthesize(
        rows, schema, epsilon=200, synthesizer="residual", ledger=tmp_path / "l"
    )
    assert release.model is not None
    off = []
    for seed in range(20):
        sample = release.model.sample(release.rows, np.random.default_rng(seed))
        table = release.evidence.marginal(("d",))
        off.append(
            np.abs(np.bincount(sample["d"], minlength=25) - table).sum()
            / release.evidence.sampling_error(("d",))
        )
    assert np.mean(np.array(off) <= 1) >= 0.8
    assert np.median(off) > 0.1


def test_the_card_is_the_same_after_saving_and_each_time(
    release: Release, tmp_path: Path
):
    release.save(tmp_path / "r.understudy")
    back = Release.load(tmp_path / "r.understudy")
    assert [e.to_dict() for e in back.card] == [e.to_dict() for e in release.card]
    assert json.loads(json.dumps(release.card.to_dict()))["confidence"] == 0.95


def test_a_notebook_shows_numbers_at_the_right_and_folds_pairs_beyond_twenty(
    release: Release,
):
    schema = Schema(
        columns=tuple(
            Categorical(name=f"c{i}", values=("x", "y"), nullable=False)
            for i in range(8)
        )
    )
    many = replace(
        release,
        schema=schema,
        measurements=Measurements(),
        model=ProductModel.uniform(schema, total=10.0),
    ).card._repr_html_()
    shown, folded = many.split("<details>")
    assert (shown.count("<tr>"), folded.count("<tr>")) == (1 + 8 + 20, 1 + 8)
    assert "8 more pairs" in folded
    assert '<td style="text-align: right">4</td>' in folded
    assert "<details>" not in release.card._repr_html_()
    assert "http" not in many


def test_the_card_escapes_names(tmp_path: Path):
    schema = Schema(
        columns=(Categorical(name="<b>x</b>", values=("1", "2"), nullable=False),)
    )
    frame = pl.DataFrame({"<b>x</b>": ["1", "2"] * 50})
    card = us.synthesize(
        frame, schema, epsilon=1, synthesizer="independent", ledger=tmp_path / "l"
    ).card
    assert "&lt;b&gt;x" in card._repr_html_()
    assert "<b>x" not in card._repr_html_()


def test_columns_that_are_not_there_are_refused(release: Release):
    with pytest.raises(Refused, match="takes no part"):
        release.card.of(("sex", "height"))
    with pytest.raises(Refused, match="each once"):
        release.card.of(("sex", "sex"))


def test_answers_hold_the_truth_as_often_as_they_say(
    people: pl.DataFrame, tmp_path: Path
):
    questions = {
        "count": len(people),
        "count where sex = F": int((people["sex"] == "F").sum()),
        "count where age >= 50": int((people["age"] >= 50).sum()),
        "share where town in ('x', 'z')": float(
            people["town"].is_in(["x", "z"]).mean()
        ),
    }
    held = trials = 0
    for _ in range(40):
        one = us.synthesize(
            people,
            SCHEMA,
            epsilon=0.5,
            synthesizer="independent",
            ledger=tmp_path / "l",
        )
        for question, true in questions.items():
            found = one.answer(question)
            assert found.supported
            held += found.low <= true <= found.high
            trials += 1
    # A question asked of one release is right or wrong together with the others about
    # the total: a loose bound on 40 runs.
    assert held >= binom.ppf(1e-6, trials // 4, 0.95) * 4 - 8


def test_an_interval_is_not_wider_than_it_has_to_be(release: Release):
    found = release.answer("count where sex = 'F'")
    assert 0 < found.high - found.low < 400


def test_a_bin_cut_in_two_widens_the_interval(release: Release):
    whole, cut = (
        release.answer("count where age >= 40"),
        release.answer("count where age >= 45"),
    )
    assert cut.high - cut.low > whole.high - whole.low + 100


def test_what_was_not_measured_is_answered_by_the_model_and_says_so(
    people: pl.DataFrame, tmp_path: Path
):
    alone = us.synthesize(
        people, SCHEMA, epsilon=2, synthesizer="independent", ledger=tmp_path / "l"
    )
    found = alone.answer("count where sex = F and town = x")
    assert not found.supported
    assert found.low == 0
    assert found.high == min(
        alone.answer(f"count where {part}").high for part in ("sex = F", "town = x")
    )
    assert "not measured" in str(found)


def test_what_the_schema_calls_impossible_is_no_question(
    people: pl.DataFrame, tmp_path: Path
):
    """Nobody is there, exactly; of a question that reaches into it, only the rest
    counts. Both, measured or not.
    """
    schema = replace(SCHEMA, impossible=(parse_predicate("town = 'z' and age < 50"),))
    allowed = people.filter((pl.col("town") != "z") | (pl.col("age") >= 50))
    for name in ("independent", "gaussian"):
        made = us.synthesize(
            allowed, schema, epsilon=2, synthesizer=name, ledger=tmp_path / name
        )
        nobody = made.answer("count where town = z and age < 30")
        assert (nobody.estimate, nobody.low, nobody.high, nobody.supported) == (
            0,
            0,
            0,
            True,
        )
        whole, rest = (
            made.answer("count where town = z and age >= 0"),
            made.answer("count where town = z and age >= 50"),
        )
        assert (whole.estimate, whole.low, whole.high) == (
            rest.estimate,
            rest.low,
            rest.high,
        )
        assert whole.high > 0


@pytest.mark.parametrize(
    "question",
    [
        "how many",
        "count where",
        "count where height > 3",
        "count where age > 'x'",
        "mean where age > 3",
    ],
)
def test_questions_that_make_no_sense_are_refused(release: Release, question: str):
    with pytest.raises(Refused):
        release.answer(question)
