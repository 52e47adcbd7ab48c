"""Options: every one explained, read from Python and from text alike, and refused
before anything is spent.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import Refused
from understudy.synthesizers import (
    AIM,
    MST,
    SYNTHESIZER_CLASSES,
    make,
    options_of,
    synthesizer_class,
)
from understudy.synthesizers.options import option_text

DOCS = Path(__file__).resolve().parents[2] / "docs"
OWN = {"random", "adaptive"}
"""Those without a paper."""

EVERY = [
    (name, option)
    for name, cls in SYNTHESIZER_CLASSES.items()
    for option in options_of(cls)
]


@pytest.mark.parametrize("name", SYNTHESIZER_CLASSES)
def test_every_algorithm_says_what_a_reader_asks(name):
    about = SYNTHESIZER_CLASSES[name].about
    assert about.use
    assert about.avoid
    assert about.cost
    assert about.paper or name in OWN


@pytest.mark.parametrize(("name", "option"), EVERY)
def test_every_option_is_explained_and_set_by_its_own_default(name, option):
    """What is printed as the default can be typed, and changes nothing."""
    found = options_of(SYNTHESIZER_CLASSES[name])[option]
    assert found.help
    assert (
        make(name, **{option: found.default_text})
        == make(name)
        == make(name, **{option: found.default})
    )


@pytest.mark.parametrize(("name", "option"), EVERY)
def test_every_option_is_on_its_page(name, option):
    page = DOCS / "synthesizers" / f"{name}.md"
    assert (
        f"`{option}`"
        in (page if page.exists() else DOCS / "synthesizers.md").read_text()
    )


@pytest.mark.parametrize(("name", "option"), EVERY)
def test_nonsense_is_refused_in_one_line_that_names_the_option(name, option):
    for nonsense in ("", "certainly", object(), [[1]], float("nan")):
        with pytest.raises(Refused) as refusal:
            make(name, **{option: nonsense})
        assert f"{name}: `{option}` takes " in str(refusal.value)
        assert str(refusal.value).endswith("Nothing was spent")
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "options", "made"),
    [
        (
            "aim",
            {"rounds": "20", "selection": "0.2", "picks": "none"},
            AIM(rounds=20, selection=Fraction(1, 5)),
        ),
        ("aim", {"selection": 0.1}, AIM()),
        (
            "mst",
            {"public": '[["age", "sex"]]', "compress": "yes"},
            MST(public=(("age", "sex"),), compress=True),
        ),
        (
            "mst",
            {"public": [["age", "sex"]], "singles": "1/3"},
            MST(public=(("age", "sex"),), singles=Fraction(1, 3)),
        ),
    ],
)
def test_values_are_read_as_they_are_written(name, options, made):
    assert make(name, **options) == made


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("aim", {"rounds": True}),
        ("aim", {"rounds": 2.5}),
        ("aim", {"selection": 1}),
        ("aim", {"selection": "1/0"}),
        ("mst", {"compress": 1}),
        ("mst", {"select": "guess"}),
        ("mst", {"public": '["age"]'}),
        ("mst", {"public": '{"age": 1}'}),
        ("privmrf", {"theta": "inf"}),
        ("privmrf", {"theta": 10**400}),
    ],
)
def test_near_misses_are_refused(name, options):
    with pytest.raises(Refused, match="Nothing was spent"):
        make(name, **options)


def test_the_nearest_name_is_offered():
    with pytest.raises(Refused, match=r"Did you mean `rounds`\? It has rounds, "):
        make("aim", round=3)
    with pytest.raises(Refused, match=r"Did you mean `privbayes`\? Choose one of"):
        make("PrivBays")
    with pytest.raises(Refused, match=r'There is no synthesizer "zzz"\. Choose one of'):
        synthesizer_class("zzz")


def test_an_option_may_be_called_like_a_parameter():
    with pytest.raises(Refused, match='no option "name"'):
        make("aim", name="mst")


@given(st.fractions(min_value=0, max_value=1).filter(lambda f: 0 < f < 1))
def test_parts_of_the_budget_stay_exact(part):
    assert make("aim", selection=option_text(part)) == replace(AIM(), selection=part)


PAGES = [
    page
    for page in sorted((DOCS / "synthesizers").glob("*.md"))
    if not page.stem.endswith("-results")  # figures alone
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_answers_what_a_reader_asks(page):
    """How it is run, what it looks like, when to use it, what it costs, what can be
    set.
    """
    text = page.read_text()
    assert f"--synthesizer {page.stem}" in text
    assert "```mermaid" in text or "](../images/" in text
    assert "\n## When" in text
    assert "\n## What it costs" in text
    assert "| option | default |" in text
    assert (
        page.stem in OWN
        or SYNTHESIZER_CLASSES[page.stem].about.paper.split(",")[0] in text
    )
