"""Shades keep their order in grey, and their ink can be read."""

from __future__ import annotations

import pytest

from understudy.svg.colours import blue_shade, signed_shade


def luminance(colour: str) -> float:
    """Relative luminance as the web's accessibility guidelines define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_more_is_darker() -> None:
    greys = [luminance(blue_shade(i / 20)[0]) for i in range(21)]
    assert greys == sorted(greys, reverse=True)


@pytest.mark.parametrize("shade", [blue_shade, signed_shade])
def test_numbers_can_be_read_on_every_shade(shade) -> None:
    for i in range(-50, 51):
        fill, ink = (luminance(colour) for colour in shade(i / 50))
        contrast = (max(fill, ink) + 0.05) / (min(fill, ink) + 0.05)
        assert contrast >= 3.0
