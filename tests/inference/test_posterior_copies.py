"""Noise-aware copies: combined by their rule they hold, each alone does not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import understudy as us
from kit.noisy_pairs import SCHEMA, draw_people, measure_pairs
from understudy.errors import Refused
from understudy.inference.copies import SyntheticCopies
from understudy.inference.population import InferenceSettings
from understudy.inference.posterior_copies import PosteriorCopies


def make_copies(pooled, count=20, **settings):
    drawn = PosteriorCopies.of(
        pooled,
        tuple(SCHEMA),
        count=count,
        rows=None,
        seed=1,
        settings=InferenceSettings(**settings),
    )
    frames = [pd.DataFrame(drawn.draw_codes(i)) for i in range(count)]
    return SyntheticCopies.of_frames(frames, drawn.rule)


def compare_sexes(frame):
    """The difference of the share of the ill, and its variance as if rows were real."""
    sex, ill = frame.sex.to_numpy(), frame.ill.to_numpy()
    first, second = ill[sex == 0], ill[sex == 1]
    variance = first.var() / len(first) + second.var() / len(second)
    return second.mean() - first.mean(), variance


def test_combined_intervals_hold_where_those_of_one_copy_do_not():
    """30 tables of 1,500 people with much noise: of 30 intervals at 95 % at least 20 hold
    but for one time in a million; one copy read as rows fails that.
    """
    rng = np.random.default_rng(21)
    people = draw_people(np.random.default_rng(0), 400_000)
    truth, _ = compare_sexes(pd.DataFrame(people))
    held = naive = 0
    for _ in range(30):
        pooled = measure_pairs(draw_people(rng, 1500), rng, 60)
        copies = make_copies(pooled)
        combined = us.analyse(copies, estimator=compare_sexes).combined
        low, high = combined.interval()
        held += bool(low[0] <= truth <= high[0])
        estimate, variance = compare_sexes(copies.load(0))
        naive += bool(abs(estimate - truth) <= 1.96 * np.sqrt(variance))
    assert held >= 20
    assert naive < 20


def test_a_copy_is_the_same_whenever_it_is_asked_for():
    rng = np.random.default_rng(3)
    pooled = measure_pairs(draw_people(rng, 500), rng, 10)
    one, two = make_copies(pooled), make_copies(pooled)
    assert one.load(3).equals(two.load(3))
    assert not one.load(3).equals(one.load(4))


def test_what_was_not_measured_varies_by_what_is_assumed():
    rng = np.random.default_rng(4)
    pooled = measure_pairs(
        draw_people(rng, 3000), rng, 5, [("age", "ill"), ("sex", "ill")]
    )
    with pytest.raises(Refused, match=r"age × sex.*fewer `columns`"):
        make_copies(pooled)

    def associate(frame):
        return np.corrcoef(frame.age, frame.sex)[0, 1]

    wide = np.std([associate(frame) for frame in make_copies(pooled, assume=0.5)])
    narrow = np.std([associate(frame) for frame in make_copies(pooled, assume=0.01)])
    assert wide > 3 * narrow


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"count": 5}, "at least 20"),
        ({"rows": 0}, "between 1 and"),
        ({"columns": ["none"]}, "takes no part"),
    ],
)
def test_refusals_of_a_release(release, options, said):
    with pytest.raises(Refused, match=said):
        release.copies(**options)


def test_copies_of_a_release_carry_their_rule(release):
    copies = release.copies(20, columns=["age", "ill"], rows=300, seed=2)
    frame = copies.load(0)
    assert list(frame.columns) == ["age", "ill"]
    assert len(frame) == 300
    assert copies.rule.kind == "full-between"
    assert copies.promise == release.guarantee.sentence()
    found = us.analyse(copies, "ill ~ age")
    assert "20 copies" in str(found)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    people = pd.DataFrame(draw_people(np.random.default_rng(5), 800))
    people["sex"] = np.where(people.sex == 1, "M", "F")
    return us.synthesize(
        people,
        SCHEMA,
        epsilon=1,
        synthesizer="independent",
        workload="model=ill~age+sex",
        ledger=tmp_path_factory.mktemp("copies") / "people.ledger",
    )
