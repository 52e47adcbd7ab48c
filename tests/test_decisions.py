"""Decisions: collected around a call, and no business of other runs."""

from __future__ import annotations

import threading

from kit.releases.decisions import FAR_PAIR, NEAR_PAIR
from understudy.decisions import Decision, collect_decisions, post_decisions


def test_decisions_go_to_the_innermost_collector_alone() -> None:
    outer: list[Decision] = []
    inner: list[Decision] = []
    with collect_decisions(outer.extend):
        with collect_decisions(inner.extend):
            post_decisions([FAR_PAIR])
        post_decisions([NEAR_PAIR])
    post_decisions([NEAR_PAIR])  # without a collector they are dropped
    assert (outer, inner) == ([NEAR_PAIR], [FAR_PAIR])


def test_runs_in_other_threads_keep_their_decisions_apart() -> None:
    here: list[Decision] = []
    thread = threading.Thread(target=post_decisions, args=([FAR_PAIR],))
    with collect_decisions(here.extend):
        thread.start()
        thread.join()
    assert here == []
