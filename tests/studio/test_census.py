"""The tree of a census in a real browser: found, drawn, walked through, and no door to
other folders.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import understudy as us
from kit.studio.markup import HOSTILE
from kit.studio.server import Place
from understudy.censuses.output.files import write_census
from understudy.errors import Refused
from understudy.schema import Schema
from understudy.studio.census_pages import _describe_census, list_censuses

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
PATIENCE = 120_000
"""Milliseconds; a loaded machine is slow, and this is no benchmark."""

SCHEMA = """
columns:
  state: {type: categorical, values: [north, south], nullable: false}
  county: {type: categorical, values: [ash, birch, cedar], nullable: false}
  sex: {type: categorical, values: [f, m], nullable: false}
"""


def write_release(folder: Path, name: str = "released") -> None:
    people = folder / "persons.parquet"
    rng = np.random.default_rng(1)
    places = [
        ("north", "ash"),
        ("north", "birch"),
        ("south", "cedar"),
        ("south", "ash"),
    ]
    chosen = rng.choice(4, 3000, p=[0.6, 0.3, 0.09, 0.01])
    rows = [(*places[i], rng.choice(["f", "m"])) for i in chosen]
    import duckdb

    listed = ", ".join(str(tuple(map(str, row))) for row in rows)
    duckdb.sql(
        f"COPY (SELECT * FROM (VALUES {listed}) t(state, county, sex)) TO '{people}'"
    )
    tree = {"north": ["ash", "birch"], "south": ["cedar", "ash"]}
    design = {"hierarchy": {"columns": ["state", "county"], "tree": tree}}
    ledger = folder / "persons.ledger"
    release = us.census(people, Schema.parse(SCHEMA), design, rho=1, ledger=ledger)
    write_census(release, folder / name, rng)


@pytest.fixture(scope="module")
def census(place: Place) -> str:
    write_release(place.folder)
    return "released"


@pytest.fixture(params=["light", "dark"])
def page(request, browser: Browser, place: Place) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 1200, "height": 900}, color_scheme=request.param
    )
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


def test_the_tree_is_walked_from_the_nation_to_a_county(
    page: Page, place: Place, census: str
) -> None:
    page.goto(place.url)
    page.click(f"#censuses >> text={census}")
    expect(page.locator("#promise")).to_contain_text("Private with")
    # Nation, two states, four counties; the smallest may be drawn with its like.
    assert page.locator("#places rect").count() >= 4 + 6
    page.locator("#places a", has_text="north").first.click()
    expect(page.locator("#trail strong")).to_have_text("north")
    assert page.locator("#inside tbody tr").count() == 2
    page.click("#inside >> text=birch")
    expect(page.locator("#trail strong")).to_have_text("birch")
    page.click("#trail >> text=nation")
    expect(page.locator("#trail strong")).to_have_text("nation")
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide


def test_the_card_of_a_release_shows_the_same_tree(
    browser: Browser, place: Place, census: str
) -> None:
    page = browser.new_page()
    page.goto((place.folder / census / "card.html").as_uri())
    assert page.locator("svg rect").count() >= 4 + 6
    page.close()


def test_only_folders_with_a_card_are_censuses(tmp_path: Path):
    for name in ("empty", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "other" / "census.json").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    assert list_censuses(tmp_path) == ["other"]
    for name in ("empty", "link", "..", "../other"):
        with pytest.raises(Refused, match="no such census"):
            _describe_census(tmp_path, name, ())


@pytest.mark.parametrize(
    "card",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"tree": {"levels": ["n"], "places": []}}',
        '{"tree": {"levels": ["n"], "places": [[["a"], 1, 1]]}}',
        '{"tree": {"levels": ["n"], "places": [[[], "x", 1]]}}',
    ],
)
def test_a_damaged_card_is_refused_in_a_line(tmp_path: Path, card: str):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "census.json").write_text(card)
    with pytest.raises(Refused):
        _describe_census(tmp_path, "c", ())


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_of_other_people_run_nowhere(tmp_path: Path, label: str):
    (tmp_path / "c").mkdir()
    rows = [[[], 10, 1.0], [[label], 10, None]]
    card = {"guarantee": "g", "tree": {"levels": [label, "state"], "places": rows}}
    (tmp_path / "c" / "census.json").write_text(json.dumps(card))
    figure = str(_describe_census(tmp_path, "c", ())["figure"])
    ElementTree.fromstring(figure)
    assert label not in figure
