"""One small SVG writer for every figure of the package: markup, axes and colours.

Figures are written without a plotting library: bars, squares and lines need none of its
megabyte of script, and a figure of a few kilobytes prints, loads nothing, and is read
aloud by its titles.
"""

from understudy.svg.markup import (
    Markup,
    escape_markup,
    shorten_middle,
    shorten_text,
    svg_element,
    svg_figure,
    svg_line,
    svg_root,
    svg_text,
    svg_title,
)

__all__ = [
    "Markup",
    "escape_markup",
    "shorten_middle",
    "shorten_text",
    "svg_element",
    "svg_figure",
    "svg_line",
    "svg_root",
    "svg_text",
    "svg_title",
]
