"""SVG elements as text. Only what this module wrote counts as markup.

Column names and labels come from files of other people, and one that is pasted into a
figure unescaped runs in the reader's browser. So `svg_element` returns `Markup`, and
every child that is not `Markup` is escaped, as is every attribute: a figure cannot
forget to.
"""

from __future__ import annotations

import re
from html import escape

from understudy.svg.colours import INK_COLOUR

SVG_NAMESPACE = "http://www.w3.org/2000/svg"

_XML_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold, not even escaped; one of them would turn a whole
figure into an error.
"""


class Markup(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()

    def __html__(self) -> str:
        """Template engines insert a value with this method as it is."""
        return self


def escape_markup(text: str) -> Markup:
    """Text as a figure may hold it, between tags and in attributes.

    >>> escape_markup('<b onload="x">'), escape_markup("a\x0bb")
    ('&lt;b onload=&quot;x&quot;&gt;', 'a\ufffdb')
    """
    return Markup(escape(_XML_UNWRITABLE.sub("\ufffd", text)))


def shorten_text(text: str, most: int = 16) -> str:
    """At most `most` letters of a text, the last of them an ellipsis if it is cut.

    >>> shorten_text("abc"), shorten_text("a rather long name", 8)
    ('abc', 'a rathe…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shorten_middle(text: str, most: int = 16) -> str:
    """At most `most` letters of a name, with an ellipsis in its middle if it is cut:
    names of one questionnaire begin alike, and differ at their ends.

    >>> shorten_middle("abc"), shorten_middle("income_from_source_25", 12)
    ('abc', 'incom…rce_25')
    """
    if len(text) <= most:
        return text
    begin = (most - 1) // 2
    return f"{text[:begin]}…{text[begin + 1 - most :]}"


def svg_element(tag: str, *children: str, **attributes: str | float | None) -> Markup:
    """One element. Underscores in attribute names become hyphens; None is left out.

    A float is a position and is written to a tenth of a pixel; whole numbers and texts
    are written as they are.

    >>> svg_element("rect", svg_title("a < b"), x=1.25, height=4, stroke_width=None)
    '<rect x="1.2" height="4"><title>a &lt; b</title></rect>'
    """
    written = "".join(
        f' {name.replace("_", "-")}="{_write_attribute(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if not children:
        return Markup(f"<{tag}{written}/>")
    content = "".join(map(_write_child, children))
    return Markup(f"<{tag}{written}>{content}</{tag}>")


def svg_title(words: str) -> Markup:
    """What a pointer that rests on an element shows, and what a screen reader reads."""
    return svg_element("title", words)


def svg_text(
    x: float,
    y: float,
    words: str,
    *,
    size: int,
    anchor: str | None = None,
    **attributes: str | float | None,
) -> Markup:
    """Words at a place; `anchor` is `start`, `middle` or `end`.

    >>> svg_text(1, 2.5, "a & b", size=10, anchor="end")
    '<text x="1" y="2.5" font-size="10" text-anchor="end">a &amp; b</text>'
    """
    return svg_element(
        "text", words, x=x, y=y, font_size=size, text_anchor=anchor, **attributes
    )


def svg_line(
    x1: float, y1: float, x2: float, y2: float, stroke: str, **attributes: float | None
) -> Markup:
    """A straight line in a colour.

    >>> svg_line(0, 1, 2, 1, "#222", stroke_width=2.5)
    '<line x1="0" y1="1" x2="2" y2="1" stroke="#222" stroke-width="2.5"/>'
    """
    return svg_element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **attributes)


def svg_root(
    *children: str,
    view: tuple[float, float, float, float],
    **attributes: str | float | None,
) -> Markup:
    """The outermost element; `view` is the left edge, the top, width and height."""
    view_box = " ".join(f"{edge:.0f}" for edge in view)
    return svg_element(
        "svg", *children, xmlns=SVG_NAMESPACE, viewBox=view_box, **attributes
    )


def svg_figure(
    *children: str, width: float, height: float, title: str, left: float = 0
) -> Markup:
    """A whole figure with its title, as pages show it.

    >>> svg_figure(width=20, height=10, title="empty")
    '<svg xmlns="..." viewBox="0 0 20 10" width="20" role="img" ...><title>empty</title></svg>'
    """
    # Without a height, a page that narrows the figure keeps its proportions.
    return svg_root(
        svg_title(title),
        *children,
        view=(left, 0, width, height),
        width=round(width),
        role="img",
        fill=INK_COLOUR,
    )


def _write_attribute(value: str | float) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    return escape_markup(str(value))


def _write_child(child: str) -> str:
    return child if isinstance(child, Markup) else escape_markup(child)
