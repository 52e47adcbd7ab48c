"""Heatmaps: each half where it belongs, numbers that can be read, shades that keep
their order, and little to download.
"""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from understudy.reports.heatmap import (
    MAX_PAIR_HEATMAP_COLUMNS,
    blue_shade,
    choose_columns,
    pair_heatmap,
    signed_shade,
)

SVG = "{http://www.w3.org/2000/svg}"


def squares(drawn: str) -> dict[str, list[tuple[float, float, str]]]:
    """The squares of each pair, by its title: x, y and fill."""
    found = {}
    for group in ElementTree.fromstring(drawn).iter(f"{SVG}g"):
        title = group.findtext(f"{SVG}title", "")
        found[title] = [
            (float(r.attrib["x"]), float(r.attrib["y"]), r.attrib["fill"])
            for r in group.iter(f"{SVG}rect")
        ]
    return found


def light(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_matrix_keeps_the_two_sides_apart() -> None:
    drawn = squares(
        pair_heatmap(
            ["a", "b", "c"],
            {("a", "b"): 0.2},
            {("b", "a"): 0.9},
            title="t",
            sides=("made", "real"),
        )
    )
    ((x1, y1, pale), (x2, y2, dark)) = drawn["a × b: made 0.200, real 0.900"]
    assert x1 < x2
    assert y1 > y2
    assert light(pale) > light(dark)


def test_names_that_begin_alike_can_be_told_apart() -> None:
    names = [f"income_from_source_{i}" for i in range(4)]
    drawn = pair_heatmap(names, {}, {}, title="t")
    words = [node.text for node in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert {f"income_…source_{i}" for i in range(4)} <= {*words}


def test_a_pair_that_one_side_alone_has_is_drawn_there() -> None:
    drawn = squares(
        pair_heatmap(
            ["a", "b"], {}, {("a", "b"): 0.9}, title="t", sides=("made", "real")
        )
    )
    ((x, y, _),) = drawn["a × b: real 0.900"]
    assert x > y


def test_signs_are_told_by_colour_and_by_number() -> None:
    drawn = pair_heatmap(
        ["a", "b", "c"],
        {("a", "b"): -0.5, ("a", "c"): 0.5},
        title="t",
        end=1.0,
        signed=True,
    )
    seen = squares(drawn)
    orange, blue = seen["a × b: -0.500"][0][2], seen["a × c: 0.500"][0][2]
    assert int(orange[1:3], 16) > int(orange[5:7], 16)
    assert int(blue[1:3], 16) < int(blue[5:7], 16)
    assert ">-.50<" in drawn
    assert ">.50<" in drawn


@pytest.mark.parametrize("side", [1, -1])
def test_shades_keep_their_order_in_grey(side: int) -> None:
    steps = [light(signed_shade(side * i / 20)[0]) for i in range(21)]
    assert all(a > b for a, b in pairwise(steps))
    assert all(
        a > b for a, b in pairwise(light(blue_shade(i / 20)[0]) for i in range(21))
    )


def test_ink_can_be_read_on_every_shade() -> None:
    def relative(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (
            p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for i in range(-100, 101):
        for fill, ink in (signed_shade(i / 100), blue_shade(abs(i) / 100)):
            dark, bright = sorted((relative(fill), relative(ink)))
            assert (bright + 0.05) / (dark + 0.05) > 3.7, (i, fill, ink)


def test_shades_have_a_key() -> None:
    drawn = pair_heatmap(["a", "b"], {("a", "b"): 0.5}, title="t", end=1.0, signed=True)
    assert re.findall(r">(-?[\d.]+)</text>", drawn)[-5:] == [
        "-1",
        "-0.5",
        "0",
        "0.5",
        "1",
    ]


def test_wide_tables_stay_small() -> None:
    names = [f"a column of many words {i}" for i in range(MAX_PAIR_HEATMAP_COLUMNS)]
    pairs = {(a, b): 0.1 for i, a in enumerate(names) for b in names[:i]}
    assert len(pair_heatmap(names, pairs, title="t")) < 700_000
    assert len(pair_heatmap(names, pairs, pairs, title="t")) < 1_100_000
    brief = pair_heatmap(
        names,
        {pair: (-1) ** i / (i + 1) for i, pair in enumerate(pairs)},
        title="t",
        signed=True,
        brief=True,
    )
    assert len(brief) < 150_000
    assert brief.count("h9v9h-9z") == len(pairs)


def test_of_very_many_columns_the_farthest_are_drawn() -> None:
    names = [f"c{i}" for i in range(MAX_PAIR_HEATMAP_COLUMNS + 20)]
    pairs = {(a, b): 0.01 for i, a in enumerate(names) for b in names[:i]} | {
        ("c110", "c3"): -0.9
    }
    kept = choose_columns(names, pairs, {})
    assert len(kept) == MAX_PAIR_HEATMAP_COLUMNS
    assert {"c3", "c110"} <= set(kept)
    assert kept == sorted(kept, key=names.index)
    assert "c3 × c110: -0.900" in pair_heatmap(names, pairs, title="t", signed=True)


@pytest.mark.parametrize("columns", [5, 30, 70, MAX_PAIR_HEATMAP_COLUMNS])
def test_every_row_and_column_has_its_name(columns: int) -> None:
    names = [f"answer_{i:02}" for i in range(columns)]
    pairs = {(a, b): 0.1 for i, a in enumerate(names) for b in names[:i]}
    drawn = pair_heatmap(names, pairs, title="t")
    words = [each.text for each in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert all(words.count(name) == 2 for name in names)
