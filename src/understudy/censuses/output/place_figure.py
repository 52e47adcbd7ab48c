"""A tree of places as an icicle: one band for each level, each place as wide as its
persons are many, below the place it lies in, and darker the larger its error is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from understudy.censuses.hierarchy import UnitPath
from understudy.censuses.places import Place, PlaceTree
from understudy.svg.colours import blue_shade
from understudy.svg.markup import (
    Markup,
    shorten_text,
    svg_element,
    svg_figure,
    svg_text,
    svg_title,
)
from understudy.text import format_percent

PlaceLink = Callable[[UnitPath], str]
"""The address that a place leads to."""

_BANDS_LEFT, _BANDS_TOP, _BANDS_WIDTH, _BAND_HEIGHT = 90, 46, 820, 52
_MIN_PLACE_WIDTH = 3.0
"""Pixels below which places are drawn together: narrower ones cannot be pointed at."""

_MIN_LABEL_LETTERS = 8
"""Letters of a label that is cut: shorter ones of one level look all alike."""

_LETTER_WIDTH = 7.5
"""Pixels of a letter, on average: labels that do not fit are left out."""

_SHADE_ERRORS = (0.001, 0.01, 0.1, 1.0)
"""Relative errors of the key, from the palest shade to the darkest."""


def draw_places(
    tree: PlaceTree, at: UnitPath = (), *, link: PlaceLink | None = None
) -> Markup:
    """The place `at` and all inside it; with `link`, every place leads to an address."""
    bands = _Bands(tree, link)
    bands.draw(tree.find(at), float(_BANDS_LEFT), float(_BANDS_WIDTH), 0)
    names = [
        svg_text(_BANDS_LEFT - 8, _middle(depth) + 4, name, size=12, anchor="end")
        for depth, name in enumerate(tree.levels[len(at) :])
    ]
    return svg_figure(
        _draw_key(),
        *names,
        *bands.marks,
        width=_BANDS_LEFT + _BANDS_WIDTH + 10,
        height=_BANDS_TOP + _BAND_HEIGHT * len(names) + 8,
        title="Places by persons (width) and relative standard error (shade)",
    )


@dataclass
class _Bands:
    """The marks of the bands, drawn from the top down."""

    tree: PlaceTree
    link: PlaceLink | None
    marks: list[Markup] = field(default_factory=list)

    def draw(self, place: Place, left: float, width: float, depth: int) -> None:
        """A place, and below it the places inside."""
        label = place.path[-1] if place.path else self.tree.levels[0]
        mark = _draw_box(
            left,
            width,
            depth,
            label,
            _describe_place(place, label),
            place.relative_error,
        )
        if self.link is not None:
            mark = svg_element("a", mark, href=self.link(place.path))
        self.marks.append(mark)
        small: list[Place] = []
        for child in self.tree.find_children(place.path):
            share = width * child.persons / max(place.persons, 1)
            if share < _MIN_PLACE_WIDTH:
                small.append(child)
                continue
            self.draw(child, left, share, depth + 1)
            left += share
        if small:
            self._draw_small(small, left, width / max(place.persons, 1), depth + 1)

    def _draw_small(
        self, small: list[Place], left: float, person_width: float, depth: int
    ) -> None:
        """The places that are too narrow to be drawn, as one."""
        persons = sum(place.persons for place in small)
        error = median(place.relative_error for place in small)
        words = (
            f"{len(small):,} small places with {persons:,} persons together; half of them"
            f" ± {_spell_error(error)} or less"
        )
        width = max(persons * person_width, 1.0)
        self.marks.append(_draw_box(left, width, depth, "…", words, error))


def _draw_box(
    left: float, width: float, depth: int, label: str, words: str, error: float
) -> Markup:
    fill, ink = blue_shade(_shade_error(error))
    box = svg_element(
        "rect",
        svg_title(words),
        x=left,
        y=float(_BANDS_TOP + depth * _BAND_HEIGHT),
        width=max(width - 1, 0.5),
        height=_BAND_HEIGHT - 2,
        fill=fill,
        stroke="#9aa5b1",
        stroke_width="0.5",
    )
    letters = int((width - 6) / _LETTER_WIDTH)
    if letters < min(len(label), _MIN_LABEL_LETTERS):
        return box
    text = svg_text(
        left + width / 2,
        float(_middle(depth) + 4),
        shorten_text(label, letters),
        size=12,
        anchor="middle",
        fill=ink,
        pointer_events="none",
    )
    return svg_element("g", box, text)


def _draw_key() -> Markup:
    """Shades with their relative errors."""
    marks = [svg_text(_BANDS_LEFT, 22, "standard error of the persons:", size=12)]
    for place, error in enumerate(_SHADE_ERRORS):
        left = _BANDS_LEFT + 210 + 90 * place
        fill, _ = blue_shade(_shade_error(error))
        marks.append(
            svg_element(
                "rect", x=left, y=9, width=18, height=18, fill=fill, stroke="#9aa5b1"
            )
        )
        marks.append(svg_text(left + 24, 22, _spell_error(error), size=12))
    return svg_element("g", *marks)


def _shade_error(error: float) -> float:
    """From 0 at a thousandth to 1 at the whole, by orders of magnitude.

    >>> [round(_shade_error(error), 2) for error in (0.0, 0.01, 1.0, 30.0)]
    [0.0, 0.33, 1.0, 1.0]
    """
    low, high = _SHADE_ERRORS[0], _SHADE_ERRORS[-1]
    inside = min(max(error, low), high)
    return math.log(inside / low) / math.log(high / low)


def _describe_place(place: Place, label: str) -> str:
    path = " / ".join(place.path) or label
    if place.error is None:
        return f"{path}: {place.persons:,} persons; nothing was measured here"
    return (
        f"{path}: {place.persons:,} ± {place.error:,.1f} persons"
        f" ({_spell_error(place.relative_error)})"
    )


def _spell_error(error: float) -> str:
    return "unknown" if math.isinf(error) else format_percent(error)


def _middle(depth: int) -> int:
    return _BANDS_TOP + depth * _BAND_HEIGHT + _BAND_HEIGHT // 2
