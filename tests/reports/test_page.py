"""The report in a real browser: on a phone, on paper, with the keyboard alone, and with
a hundred columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

import understudy as us
from understudy.reports.evaluate import evaluate
from understudy.schema import Categorical, Integer, Schema

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
PATIENCE = 120_000
DESK: ViewportSize = {"width": 1200, "height": 900}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report about a hundred columns, one of them with a long name."""
    folder: Path = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(0)
    names = [f"answer_{i:02}_of_the_form" for i in range(98)]
    schema = Schema(
        columns=(
            *(Integer(name=name, min=0, max=9, nullable=False) for name in names),
            Categorical(
                name="a_name_without_a_single_space_" * 4,
                values=("x", "y"),
                nullable=False,
            ),
            Categorical(
                name="town",
                values=("a town with a rather long name", "b"),
                nullable=False,
            ),
        )
    )
    frame = pl.DataFrame(
        {name: rng.integers(0, 10, 200) for name in names}
        | {
            schema.columns[98].name: rng.choice(["x", "y"], 200),
            "town": rng.choice(["a town with a rather long name", "b"], 200),
        }
    )
    release = us.synthesize(
        frame, schema, epsilon=1, synthesizer="independent", ledger=folder / "l"
    )
    report = evaluate(frame, release.sample(kind="polars", seed=1), release=release)
    report.save(folder / "report.html")
    assert (folder / "report.html").stat().st_size < 5_000_000
    return (folder / "report.html").as_uri()


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[tuple[Page, list[str]]]:
    """The page, offline, and what went wrong on it so far."""
    context = browser.new_context(viewport=DESK, offline=True)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
    page.on(
        "request",
        lambda r: (
            troubles.append(r.url) if not r.url.startswith(("file:", "data:")) else None
        ),
    )
    page.goto(address)
    yield page, troubles
    context.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page of one's own, to type into."""
    with opened(browser, address) as (page, troubles):
        yield page
    assert troubles == []


@pytest.fixture(scope="module")
def loaded(browser: Browser, address: str) -> Iterator[tuple[Page, list[str]]]:
    with opened(browser, address) as (page, troubles):
        yield page, troubles


@pytest.fixture
def sight(loaded: tuple[Page, list[str]]) -> Iterator[Page]:
    """A page to be looked at only, at the width a test gives it: a hundred columns take
    long to load.
    """
    page, troubles = loaded
    yield page
    page.emulate_media(media="screen")
    assert troubles == []


def test_a_hundred_columns_are_found_by_their_names(page: Page) -> None:
    cards = page.locator("#column-list > li:visible")
    expect(cards).to_have_count(100)
    page.fill("input[data-filters=column-list]", "TOW")
    expect(cards).to_have_count(1)
    expect(page.locator("#column-list-count")).to_have_text("1 shown")
    page.fill("input[data-filters=column-list]", "")
    expect(cards).to_have_count(100)
    assert not page.locator("#card-rows").is_visible(), "thousands of rows are folded"
    page.click("#card-table > summary")
    page.fill("input[data-filters=card-rows]", "answer_97")
    rows = page.locator("#card-rows tbody tr")
    expect(page.locator("#card-rows tbody tr:visible")).not_to_have_count(rows.count())


def test_the_keyboard_reaches_everything(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0, (
        "it shows once it is reached"
    )
    page.keyboard.press("Enter")
    page.wait_for_url("**#main")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
        if {"INPUT", "SUMMARY"} <= reached:
            break
    assert {"INPUT", "SUMMARY"} <= reached
    summary = page.locator("summary").first
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("details").first).to_have_attribute("open", "")
    shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert shown != "none", "whoever has no mouse sees where they are"


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_phone_needs_not_scroll_sideways(sight: Page, width: int) -> None:
    sight.set_viewport_size({"width": width, "height": 800})
    assert sight.evaluate("document.documentElement.scrollWidth") <= width


def test_paper_leaves_out_what_only_a_screen_can_do(sight: Page) -> None:
    sight.emulate_media(media="print")
    assert not sight.locator("nav").is_visible()
    assert not sight.locator("p.filter").first.is_visible()
    expect(sight.locator("h1")).to_be_visible()
    assert sight.pdf(format="A4").startswith(b"%PDF")
    # A sheet of A4 between its margins: no table reaches beyond it.
    sight.set_viewport_size({"width": 718, "height": 1000})
    beyond = "[...document.querySelectorAll('table')].filter((t) => t.getBoundingClientRect().right > innerWidth + 1).length"
    assert sight.evaluate(beyond) == 0


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_findings_are_read_without_scrolling_sideways(
    sight: Page, width: int
) -> None:
    sight.set_viewport_size({"width": width, "height": 800})
    notes = sight.locator(".findings td:last-child")
    assert notes.count() > 10
    beyond = "(cells, width) => cells.filter((c) => c.getBoundingClientRect().right > width).length"
    assert notes.evaluate_all(beyond, width) == 0
    # A large heatmap keeps its size and is scrolled by itself.
    drawn = sight.locator(".heat svg").first
    assert drawn.evaluate("(s) => s.getBoundingClientRect().width") > width


def test_every_picture_says_what_it_is(sight: Page) -> None:
    sight.set_viewport_size(DESK)
    unnamed = """[...document.querySelectorAll('svg')].filter(
        (s) => s.getAttribute('role') !== 'img' || !(s.querySelector('title') || s.getAttribute('aria-label'))
    ).length"""
    assert sight.evaluate(unnamed) == 0
    assert sight.evaluate("document.documentElement.lang") == "en"
    headings = sight.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map((h) => Number(h.tagName[1]))"
    )
    assert headings[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(headings)), (
        "no level is skipped"
    )


def test_labels_under_a_chart_stay_inside_and_apart(sight: Page) -> None:
    sight.set_viewport_size(DESK)
    beyond = """[...document.querySelectorAll('#column-list svg')].flatMap((s) => {
        const box = s.getBoundingClientRect();
        const words = [...s.querySelectorAll('text[text-anchor=middle]')].map((t) => t.getBoundingClientRect());
        const outside = words.filter((w) => w.left < box.left - 1 || w.right > box.right + 1).length;
        const over = words.filter((w, i) => i && w.left < words[i - 1].right - 1).length;
        return outside + over ? [outside + over] : [];
    }).length"""
    assert sight.evaluate(beyond) == 0
