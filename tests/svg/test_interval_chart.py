"""Figures of numbers with intervals."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

from understudy.svg.axis import LinearAxis
from understudy.svg.interval_chart import (
    MAX_INTERVAL_LINES,
    IntervalPoint,
    draw_intervals,
)

SVG = "{http://www.w3.org/2000/svg}"


def test_a_bar_lies_where_its_numbers_are() -> None:
    points = [IntervalPoint("a", 50, 25, 100), IntervalPoint("b", -100, -100, 0)]
    root = ElementTree.fromstring(draw_intervals(points, title="n"))
    first, second = root.iter(f"{SVG}g")
    ends = [first.find(f"{SVG}line"), second.find(f"{SVG}line")]
    left, right = ([float(line.get(end)) for line in ends] for end in ("x1", "x2"))  # type: ignore[union-attr,arg-type]
    dots = [float(dot.get("cx", "")) for dot in root.iter(f"{SVG}circle")]
    # The axis goes from -100 to 100, and b lies at its left end.
    middle = right[1]
    width = right[0] - left[1]
    assert middle == left[1] + width / 2
    assert left[0] == middle + width / 8
    assert dots == [middle + width / 4, left[1]]


def test_an_interval_without_an_end_has_no_cap() -> None:
    drawn = draw_intervals([IntervalPoint("a", 1, -math.inf, math.inf)], title="n")
    whole = draw_intervals([IntervalPoint("a", 1, 0, 2)], title="n")
    strokes = [len(re.findall("stroke-width", each)) for each in (drawn, whole)]
    assert strokes == [1, 3], "a bar, and a cap at either end"
    assert "no end to no end" in drawn
    assert "inf" not in re.sub("<title>.*?</title>", "", drawn)


def test_names_are_text_and_long_lists_are_cut() -> None:
    point = IntervalPoint("<script>x</script>", 0, 0, 0)
    drawn = draw_intervals([point] * 100, title="<b>")
    root = ElementTree.fromstring(drawn)
    assert not list(root.iter(f"{SVG}script"))
    assert len(list(root.iter(f"{SVG}circle"))) == MAX_INTERVAL_LINES
    assert f"the first {MAX_INTERVAL_LINES} of 100" in drawn


def test_ticks_are_round_on_either_side_of_zero() -> None:
    axis = LinearAxis(-250.0, 900.0, start=0, length=100)
    assert axis.ticks() == [-200.0, 0.0, 200.0, 400.0, 600.0, 800.0]
