"""The picture of an explanation: well-formed, bounded, blue for what was measured."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from kit.releases.decisions import FAR_PAIR, NEAR_PAIR, UNASKED_COLUMN
from understudy.releases.explanation.picture import (
    PICTURE_BARS_PER_STAGE,
    REJECTED_COLOUR,
    draw_gains,
)
from understudy.svg.colours import OKABE_ITO_BLUE

KEY_SWATCHES = 1
"""Rectangles of each colour in the key."""


def test_bars_have_the_colour_of_their_decision() -> None:
    picture = draw_gains([FAR_PAIR, NEAR_PAIR, UNASKED_COLUMN])
    assert picture.count(OKABE_ITO_BLUE) == 2 + KEY_SWATCHES
    assert picture.count(REJECTED_COLOUR) == 1 + KEY_SWATCHES
    for words in ("forest", "tree", "sex × age", "60 % of the budget left"):
        assert words in picture


def test_a_stage_has_a_bounded_number_of_bars() -> None:
    picture = draw_gains([FAR_PAIR] * 1000)
    assert picture.count("<rect") == PICTURE_BARS_PER_STAGE + 2 * KEY_SWATCHES


@pytest.mark.parametrize("gain", [0.0, -5.0, 5e-324, 1e308])
def test_made_up_gains_of_a_file_are_drawn(gain: float) -> None:
    picture = draw_gains([replace(FAR_PAIR, gain=gain)])
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert 'width="inf"' not in picture


def test_no_decisions_are_an_empty_picture() -> None:
    assert ElementTree.fromstring(draw_gains([])).tag.endswith("svg")
