"""Figures: well-formed, labelled, escaped, and true to their numbers."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from understudy.reports.bars import scale_bar
from understudy.reports.chart import COLUMN_CHART_HEIGHT, column_chart
from understudy.reports.heatmap import pair_heatmap
from understudy.reports.scatter import scatter_chart

HOSTILE = "</svg><script>alert(1)</script>"


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def heights(svg: str) -> list[float]:
    return [float(h) for h in re.findall(r'<rect [^>]*height="([\d.]+)"', svg)]


def test_bars_are_as_tall_as_the_shares() -> None:
    drawn = column_chart(
        "sex", ["F", "M"], np.array([0.5, 0.5]), np.array([0.25, 0.75])
    )
    low, high = heights(drawn)
    assert high == pytest.approx(3 * low, rel=0.01)
    assert high < COLUMN_CHART_HEIGHT


def test_many_codes_are_drawn_together_and_lose_nothing() -> None:
    shares = np.full(1000, 0.001)
    drawn = column_chart("x", [str(i) for i in range(1000)], shares, shares)
    assert len(heights(drawn)) == 40
    assert drawn.count("2.5% real") == 40


@pytest.mark.parametrize(
    "drawn",
    [
        column_chart(HOSTILE, [HOSTILE, "b"], np.array([0.5, 0.5])),
        column_chart("empty", [], np.array([])),
        pair_heatmap([HOSTILE, "b"], {(HOSTILE, "b"): 0.5}, title=HOSTILE),
        scatter_chart([(HOSTILE, 0.0, 0.0)], x=HOSTILE, y=HOSTILE, title=HOSTILE),
        scale_bar(0.3, 0.0, 1.0, 0.5),
    ],
)
def test_figures_are_well_formed_and_hold_no_markup_of_others(drawn: str) -> None:
    parsed(drawn)
    assert "<script" not in drawn


def test_no_scale_without_ends() -> None:
    assert scale_bar(0.3, None, 1.0, None) == ""
    assert scale_bar(0.3, 1.0, 1.0, None) == ""


def test_names_of_neighbouring_points_do_not_cover_each_other() -> None:
    drawn = scatter_chart(
        [("a", 0.1, 0.25), ("b", 0.1, 0.26), ("c", 0.11, 0.255), ("far", 0.9, 0.25)],
        x="x",
        y="y",
        title="t",
    )
    lines = {
        name: float(y)
        for y, name in re.findall(r'y="([\d.]+)" font-size="12">(\w+)<', drawn)
    }
    near = sorted(lines[name] for name in "abc")
    assert all(below - above >= 12 for above, below in pairwise(near))


def test_the_dot_of_a_scale_stays_inside() -> None:
    for value in (-1.0, 0.0, 1.0, 2.0):
        place = re.search(r'cx="([\d.]+)"', scale_bar(value, 1.0, 0.0, None))
        assert place is not None
        assert 5 <= float(place[1]) <= 115


def areas(svg: str) -> list[float]:
    found = re.findall(r'<rect [^>]*width="([\d.]+)" height="([\d.]+)"', svg)
    return [float(width) * float(height) for width, height in found]


def test_bars_are_as_wide_as_their_bins_and_their_areas_are_shares() -> None:
    shares = np.array([0.2, 0.5, 0.3, 0.0])
    drawn = column_chart(
        "age", ["0 to 9", "10 to 19", "20 to 59", "(missing)"], shares,
        widths=[10.0, 10.0, 40.0, None],
    )  # fmt: skip
    first, second, third, _ = areas(drawn)
    assert second == pytest.approx(2.5 * first, rel=0.02)
    assert third == pytest.approx(1.5 * first, rel=0.02)
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', drawn)]
    assert widths[2] == pytest.approx(4 * widths[0], rel=0.05)


def test_one_frequent_value_does_not_flatten_the_others() -> None:
    """A spike at 0 is cut; the bins beside it keep a height that can be seen."""
    drawn = column_chart(
        "rain", ["0", "1 to 100", "101 to 200"], np.array([0.6, 0.3, 0.1]),
        widths=[1.0, 100.0, 100.0],
    )  # fmt: skip
    spike, tall, low = heights(drawn)
    assert spike == pytest.approx(3 * tall, rel=0.02)
    assert tall == pytest.approx(3 * low, rel=0.02)
    assert "0: 60.0% synthetic" in drawn
    assert ">60%</text>" in drawn, "what is cut says its share"
