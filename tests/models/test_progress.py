"""Whoever waits for a fit hears of it, and nobody else does."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.progress import progress_reporter, watch_fits
from understudy.models.sampling.gum import GumSchedule, run_gum
from understudy.schema import Boolean, Schema

Told = list[tuple[str, float]]


def test_only_what_is_worth_a_word_is_told():
    told: Told = []
    tell = progress_reporter(lambda stage, done: told.append((stage, done)))
    for passes, done in enumerate([0.0, 0.001, 0.5, 0.4, 0.505, 0.6, 1.0, 1.0]):
        tell(passes, done)
    assert told == [
        (f"fitting round {n}", done)
        for n, done in ((0, 0.0), (2, 0.5), (5, 0.6), (6, 1.0))
    ]


def test_one_who_was_named_hears_it_and_the_watcher_does_not():
    named: Told = []
    watcher: Told = []
    with watch_fits(lambda stage, done: watcher.append((stage, done))):
        progress_reporter(lambda stage, done: named.append((stage, done)))(1, 1.0)
    assert (len(named), len(watcher)) == (1, 0)


def test_nobody_watches_afterwards_also_where_it_broke_off():
    told: Told = []
    with (
        pytest.raises(KeyError),
        watch_fits(lambda stage, done: told.append((stage, done))),
    ):
        raise KeyError
    progress_reporter(None)(1, 1.0)
    assert told == []


def test_a_watched_table_grows_as_an_unwatched_one_does():
    schema = Schema(
        columns=tuple(
            Boolean(name=name, nullable=False) for name in ("smoker", "cough")
        )
    )
    targets = {("smoker", "cough"): np.array([[61.0, 9.5], [5.5, 24.0]])}
    told: Told = []
    with watch_fits(lambda stage, done: told.append((stage, done))):
        seen = run_gum(
            schema, targets, 100, np.random.default_rng(0), GumSchedule(iterations=10)
        )
    alone = run_gum(
        schema, targets, 100, np.random.default_rng(0), GumSchedule(iterations=10)
    )
    assert told[0] == ("fitting round 0", 0.0)
    assert all(np.array_equal(seen.table[name], alone.table[name]) for name in schema)
