"""The tree of places: widths by persons, shades by error, nothing lost."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from understudy.censuses.output.place_figure import draw_places
from understudy.censuses.places import Place, PlaceTree
from understudy.errors import Refused

TREE = PlaceTree(
    ("nation", "state", "county"),
    (
        Place((), 10_003, 3.0),
        Place(("north",), 8_000, 8.0),
        Place(("south",), 2_003, 200.0),
        *(Place(("north", f"c{i}"), 2_000, None) for i in range(4)),
        Place(("south", "large"), 2_000, 20.0),
        *(Place(("south", f"tiny {i}"), 1, 2.0) for i in range(3)),
    ),
)


def boxes(figure: str) -> dict[str, tuple[float, str]]:
    """Width and colour of every box, by what it says."""
    root = ElementTree.fromstring(figure)
    return {
        title.text or "": (float(box.attrib["width"]), box.attrib["fill"])
        for box in root.iterfind(".//{*}rect")
        for title in box.findall("{*}title")
    }


def test_places_are_as_wide_as_their_persons_are_many():
    found = boxes(draw_places(TREE))
    widths = {words.split(":")[0]: width for words, (width, _) in found.items()}
    assert widths["north"] / widths["south"] == pytest.approx(8_000 / 2_003, rel=0.01)
    assert widths["north / c0"] == pytest.approx(widths["north"] / 4, abs=1.5)
    assert any(words.startswith("3 small places with 3 persons") for words in found)
    assert any("nothing was measured" in words for words in found)


def test_larger_errors_are_darker():
    found = boxes(draw_places(TREE))
    shades = {
        words.split(":")[0]: sum(int(fill[i : i + 2], 16) for i in (1, 3, 5))
        for words, (_, fill) in found.items()
    }
    assert shades["nation"] >= shades["north"] > shades["south"] > shades["north / c0"]


def test_a_place_is_drawn_from_itself_down():
    figure = draw_places(TREE, ("north",), link=lambda path: "?" + "+".join(path))
    assert "south" not in figure
    assert len(re.findall("<a ", figure)) == 5
    with pytest.raises(Refused, match="no such place"):
        draw_places(TREE, ("west",))


def test_a_card_keeps_the_whole_tree():
    assert PlaceTree.from_dict(TREE.to_dict()) == TREE
