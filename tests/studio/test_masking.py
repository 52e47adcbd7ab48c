"""The second door, in a real browser: masked copies, apart from differential privacy."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import understudy as us
from kit.studio.server import Place
from understudy.errors import Refused
from understudy.schema import Boolean, Integer, Schema
from understudy.studio.mask_pages import _read_formula

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
PATIENCE = 120_000
"""Milliseconds; a loaded machine is slow, and this is no benchmark."""


@pytest.fixture
def page(browser: Browser, place: Place) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    name = f"understudy_studio_{place.port}"
    context.add_cookies([{"name": name, "value": place.session, "url": place.url}])
    opened = context.new_page()
    troubles: list[str] = []
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    yield opened
    context.close()
    assert troubles == []


def test_copies_are_measured_drawn_and_written(page: Page, place: Place) -> None:
    page.goto(f"{place.url}/t/people.csv")
    page.click("text=Masked copies")
    expect(page.locator("#promise")).to_contain_text("not differential privacy")
    page.check(".replaced[value=age]")
    page.select_option("#response", "age")
    page.fill("#risk-target", "0.9")
    page.click("#measure")
    expect(page.locator("#tuning svg")).to_be_visible()
    expect(page.locator("#choice")).to_contain_text("Recommended")
    settings = page.locator("#settings tbody tr").count()
    key, ring = 2, 1
    assert page.locator("#tuning circle").count() == settings + key + ring
    page.click("#write")
    expect(page.locator("#written")).to_contain_text("Hand out the whole folder")
    folder = place.folder / "people.csv.masked" / "1"
    assert folder.stat().st_mode & 0o077 == 0
    document = json.loads((folder / "copies.json").read_text())
    assert "without differential privacy" in document["promise"]
    assert len(us.load_copies(folder)) == len(document["files"])


def test_a_wrong_option_is_refused_in_words(page: Page, place: Place) -> None:
    page.goto(f"{place.url}/t/people.csv/mask")
    for box in page.locator(".replaced:checked").all():
        box.uncheck()
    page.click("#measure")
    expect(page.locator("#error")).to_contain_text("at least one column")
    page.check(".replaced[value=age]")
    page.fill("#risk-target", "much")
    page.click("#measure")
    expect(page.locator("#error")).to_contain_text("between 0 and 1")


def test_a_formula_is_made_of_the_schema_alone() -> None:
    columns = (Integer(name="age"), Boolean(name="ill"), Boolean(name="a b"))
    schema = Schema(columns=columns)
    assert _read_formula(schema, "ill") == {"ill ~ age": "logit"}
    assert _read_formula(schema, "") == {}
    for hostile in ("__import__('os')", "a b", "age + ill"):
        with pytest.raises(Refused):
            _read_formula(schema, hostile)
