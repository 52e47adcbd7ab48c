"""Frequent texts of an open vocabulary."""

from __future__ import annotations

import numpy as np
import pytest

from kit.local.plans import small_plan
from understudy.errors import Refused
from understudy.local import plan_collection
from understudy.local.collector import Collector, simulate_reports
from understudy.local.heavy_hitters import (
    count_prefixes,
    decode_prefix,
    extend_prefixes,
)
from understudy_client import HASH_PRIME, hash_prefix


def test_the_frequent_emoji_are_found_with_their_shares() -> None:
    plan = plan_collection("emoji", max_bytes=4, epsilon=5)
    rare = [chr(0x1F400 + i) for i in range(100)]
    shares = {"😂": 0.5, "❤": 0.3}
    typed = ["😂"] * 2_000 + ["❤"] * 1_200 + [rare[i % 100] for i in range(800)]
    collector = Collector(plan)
    assert collector.add(simulate_reports(plan, typed)) == 4_000
    table = collector.find_heavy_hitters(2, level=1 - 1e-6)
    # Groups of 500: noise of 10 counts against 250 and 150 (false alarm below 1e-6).
    assert table.values == ("😂", "❤")
    for i, value in enumerate(table.values):
        assert table.low[i] <= shares[value] <= table.high[i]
    # A fifth typed something else: what is shown was scaled to 1, ❤ to two fifths.
    assert table.display_shares() == pytest.approx(table.shares)


def test_counts_of_prefixes_are_those_of_the_definition() -> None:
    plan = small_plan("prefix")
    rng = np.random.default_rng(2)
    members = rng.integers(0, HASH_PRIME, (200, 3))
    members[:, 2] %= 3
    counts = count_prefixes(plan, members, [5, 6, 200], 8)
    for prefix, count in zip([5, 6, 200], counts, strict=True):
        x = hash_prefix(prefix, 8)
        assert count == sum(
            (int(a) * x + int(b)) % HASH_PRIME % 3 == c for a, b, c in members
        )


def test_prefixes_grow_by_every_continuation() -> None:
    assert extend_prefixes([0b1], 2) == [0b100, 0b101, 0b110, 0b111]


def test_bytes_that_are_no_text_are_left_out() -> None:
    assert decode_prefix(0xFF000000, 4) is None
    assert decode_prefix(int.from_bytes("é\0\0".encode(), "big"), 4) == "é"


def test_another_plan_is_refused() -> None:
    with pytest.raises(Refused, match="max_bytes"):
        Collector(small_plan("krr")).find_heavy_hitters()


@pytest.mark.parametrize("count", [0, -1, 1.5, 10**6])
def test_how_many_texts_to_find_is_a_small_number(count: int) -> None:
    """-1 gave all texts but one, and 0 divided by zero."""
    plan = plan_collection("x", max_bytes=1, epsilon=4)
    collector = Collector(plan)
    collector.add(simulate_reports(plan, "a" * 50))
    with pytest.raises(Refused, match="frequent texts are"):
        collector.find_heavy_hitters(count)
