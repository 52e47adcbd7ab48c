"""Only what the writer wrote is markup; everything else is escaped."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.studio.markup import HOSTILE
from understudy.svg import Markup, svg_element, svg_figure, svg_text, svg_title


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_words_stay_words(words: str) -> None:
    figure = svg_figure(
        svg_text(1, 2, words, size=10),
        svg_element("rect", svg_title(words), fill=words),
        words,
        width=10,
        height=10,
        title=words,
    )
    tags = [
        node.tag.rpartition("}")[2] for node in ElementTree.fromstring(figure).iter()
    ]
    assert tags == ["svg", "title", "text", "rect", "title"]


@given(st.text())
def test_any_text_comes_back_as_it_was_or_marked(words: str) -> None:
    """What XML cannot hold becomes one replacement character; the rest is kept."""
    node = ElementTree.fromstring(svg_element("a", words, name=words))
    kept = "".join(
        letter if letter in "\t\n" or letter.isprintable() else "?" for letter in words
    )
    assert len(node.text or "") == len(words)
    for before, after in zip(kept, node.text or "", strict=True):
        assert before == after or before == "?" or after == "\ufffd"


def test_markup_is_not_escaped_twice() -> None:
    inner = svg_element("b", "1 < 2")
    assert svg_element("a", inner) == "<a><b>1 &lt; 2</b></a>"
    assert isinstance(inner, Markup)


def test_adding_a_text_to_markup_gives_no_markup() -> None:
    """A sum of both is a plain text, and so is escaped as a child."""
    both = svg_element("b") + "<script>"
    assert "<script" not in svg_element("a", both)


def test_templates_insert_markup_as_it_is_and_escape_the_rest() -> None:
    jinja2 = pytest.importorskip("jinja2")
    page = jinja2.Environment(autoescape=True).from_string("{{ figure }}{{ words }}")
    assert page.render(figure=svg_element("b"), words="<b/>") == "<b/>&lt;b/&gt;"


def test_numbers_are_written_to_a_tenth_of_a_pixel() -> None:
    assert svg_element("r", x=1 / 3, y=2, z=None) == '<r x="0.3" y="2"/>'
